// SPDX-License-Identifier: Apache-2.0
#include "report/explain/measurements.h"

#include <pando/base/error.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/environment.h"
#include "base/paths.h"
#include "io/file_writer.h"
#include "io/json.h"

namespace pando {

namespace {

// A member that must be there, and is positive if it is a speed or a time.
const Json& needed(const Json& object, std::string_view name) {
  const Json* found = object.find(name);
  if (found == nullptr) throw Error(fmt::format("it has no '{}'", name));
  return *found;
}

double positive(const Json& object, std::string_view name) {
  const double value = needed(object, name).number(name);
  if (!(value > 0)) throw Error(fmt::format("'{}' is {} but must be above 0", name, value));
  return value;
}

MeasuredNetwork network_from(const Json& json) {
  return {.workers = static_cast<int>(needed(json, "workers").integer("workers")),
          .hosts = static_cast<int>(needed(json, "hosts").integer("hosts")),
          .latency = positive(json, "latency"),
          .per_message = needed(json, "per_message").number("per_message"),
          .bandwidth = positive(json, "bandwidth"),
          .copies = positive(json, "copies"),
          .date = needed(json, "date").string("date")};
}

MeasuredStep step_from(const Json& json) {
  return {.model = needed(json, "model").string("model"),
          .batch_size = needed(json, "batch_size").integer("batch_size"),
          .backend = needed(json, "backend").string("backend"),
          .tiles = static_cast<int>(needed(json, "tiles").integer("tiles")),
          .megaflops = positive(json, "megaflops"),
          .weights = static_cast<std::size_t>(needed(json, "weights").integer("weights")),
          .seconds = positive(json, "seconds"),
          .date = needed(json, "date").string("date")};
}

Json json_of(const MeasuredNetwork& network) {
  Json json;
  json.set("workers", network.workers);
  json.set("hosts", network.hosts);
  json.set("latency", network.latency);
  json.set("per_message", network.per_message);
  json.set("bandwidth", network.bandwidth);
  json.set("copies", network.copies);
  json.set("date", network.date);
  return json;
}

Json json_of(const MeasuredStep& step) {
  Json json;
  json.set("model", step.model);
  json.set("batch_size", step.batch_size);
  json.set("backend", step.backend);
  json.set("tiles", step.tiles);
  json.set("megaflops", step.megaflops);
  json.set("weights", static_cast<std::int64_t>(step.weights));
  json.set("seconds", step.seconds);
  json.set("date", step.date);
  return json;
}

}  // namespace

void Measurements::add(MeasuredStep step) {
  std::erase_if(steps, [&](const MeasuredStep& other) {
    return other.model == step.model && other.batch_size == step.batch_size && other.backend == step.backend &&
           other.tiles == step.tiles;
  });
  steps.push_back(std::move(step));
}

std::string measurements_path() {
  if (const std::string named = environment("PANDO_MEASUREMENTS"); !named.empty()) return named;
  const std::string cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
  if (!cache.empty()) return cache + "/pando/measurements.json";
  return home.empty() ? "" : home + "/.cache/pando/measurements.json";
}

Measurements read_measurements() {
  const std::string path = measurements_path();
  Measurements measurements;
  if (path.empty() || !is_file(path)) return measurements;
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    const Json json = Json::parse(text, "the text");
    if (const Json* network = json.find("network")) measurements.network = network_from(*network);
    if (const Json* network = json.find("gpu_network")) measurements.gpu_network = network_from(*network);
    if (const Json* steps = json.find("steps"))
      for (const Json& step : steps->list("steps")) measurements.steps.push_back(step_from(step));
  } catch (const Error& error) {
    throw Error(fmt::format("{}: not what 'pando bench' writes: {}; remove it and measure again", path, error.what()));
  }
  return measurements;
}

std::string write_measurements(const Measurements& measurements) {
  const std::string path = measurements_path();
  if (path.empty())
    throw Error(
        "measurements cannot be kept, as neither PANDO_MEASUREMENTS nor XDG_CACHE_HOME nor HOME is set; name "
        "a file in PANDO_MEASUREMENTS");
  Json json, steps = Json::List();
  if (measurements.network) json.set("network", json_of(*measurements.network));
  if (measurements.gpu_network) json.set("gpu_network", json_of(*measurements.gpu_network));
  for (const MeasuredStep& step : measurements.steps) steps.append(json_of(step));
  json.set("steps", steps);
  std::error_code ignored;
  // If the folder cannot be made, the file cannot be written, which says why.
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  write_file(path, json.text(2) + "\n");
  return path;
}

std::string measurement_date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  return fmt::format("{:%Y-%m-%d}", *localtime_r(&now, &parts));
}

}  // namespace pando
