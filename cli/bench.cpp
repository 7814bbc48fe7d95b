// SPDX-License-Identifier: Apache-2.0
#include <pando/comm/workers.h>
#include <pando/program/program.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/machine/cores.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/virtual_ipus.h"
#include "report/explain/measurements.h"
#include "report/explain/peak.h"

namespace pando::cli {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Measured {
  std::string model;
  double microseconds = 0;
  double images_per_second = 0;
  double megaflops = 0;
  // The seconds of each execution, in their order.
  std::vector<double> executions = {};
  // What explain says of it.
  Json explained = {};

  double fraction(double peak) const { return megaflops / microseconds / peak * 1e3; }
};

// Made-up images, with labels of all classes.
datasets::Split made_up(const SampleKind& kind, std::int64_t count) {
  Shape shape = {count};
  for (const std::int64_t size : kind.shape) shape.append(size);
  datasets::Split split = {Array(DType::uint8, shape), Array(DType::int32, {count})};
  std::uint32_t state = 1;
  for (std::uint8_t *p = split.x.mutable_data<std::uint8_t>(), *end = p + split.x.elements(); p != end; ++p)
    *p = static_cast<std::uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
  if (kind.is_table()) split.x = split.x.astype(DType::float32);
  for (std::int64_t i = 0; i < count; ++i)
    split.y.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i % kind.classes());
  return split;
}

// The times of epochs of one execution each, after the first, for about a second.
std::vector<double> epoch_seconds(OpenedModel& opened, const datasets::Split& split, std::int64_t batch_size) {
  constexpr std::size_t fewest = 5;
  std::vector<double> times;
  Clock::time_point begin, epoch_begin;
  const auto on_epoch_begin = [&](std::int64_t epoch) {
    epoch_begin = Clock::now();
    if (epoch == 1) begin = epoch_begin;
  };
  const auto on_epoch_end = [&](std::int64_t epoch, const keras::Logs&) {
    if (epoch == 0) return;
    times.push_back(seconds_since(epoch_begin));
    if (times.size() >= fewest && seconds_since(begin) > 1.0) opened.model.stop_training();
  };
  constexpr std::int64_t most_epochs = 100'000;
  opened.model.fit(as_input(opened, split.x), split.y,
                   {.batch_size = batch_size,
                    .epochs = most_epochs,
                    .shuffle = false,
                    .verbose = 0,
                    .callbacks = {keras::callbacks::LambdaCallback(
                        {.on_epoch_begin = on_epoch_begin, .on_epoch_end = on_epoch_end})}});
  return times;
}

Measured measure(const std::string& word, OpenedModel& opened, const SampleKind& kind, const TrainingRecipe& recipe) {
  const datasets::Split split = made_up(kind, recipe.batch_size * recipe.steps_per_execution);
  const std::vector<double> executions = epoch_seconds(opened, split, recipe.batch_size);
  std::vector<double> times = executions;
  std::sort(times.begin(), times.end());
  const double step = times[times.size() / 2] / static_cast<double>(recipe.steps_per_execution);
  Json explained = Json::parse(
      opened.model.explain_json({.samples = split.x.shape()[0], .batch_size = recipe.batch_size}), "explain");
  return {word,
          step * 1e6,
          static_cast<double>(recipe.batch_size) / step,
          explained.find("megaflops")->number("megaflops"),
          executions,
          explained};
}

// The multiply-add peak of all cores, unless steps run elsewhere.
std::optional<double> peak_of(const std::string& backend) {
  const Device device({.tiles = 1, .backend = backend});
  if (device.backend() != "cpu") return std::nullopt;
  return measure_multiply_add_peak(usable_cores(), device.instruction_set());
}

Json json_of(const std::vector<Measured>& all, std::optional<double> peak) {
  Json json, list = Json::List();
  for (const Measured& one : all) {
    Json model;
    model.set("model", one.model);
    model.set("microseconds_per_step", one.microseconds);
    model.set("images_per_second", one.images_per_second);
    model.set("megaflops_per_step", one.megaflops);
    if (peak) model.set("fraction_of_peak", one.fraction(*peak));
    Json executions = Json::List();
    for (const double seconds : one.executions) executions.append(seconds * 1e6);
    model.set("microseconds_of_executions", executions);
    list.append(model);
  }
  if (peak) json.set("peak_gflops", *peak);
  json.set("models", list);
  return json;
}

// For explain, which predicts from it.
void keep(const std::vector<Measured>& all, std::int64_t batch_size) {
  Measurements measurements = read_measurements();
  for (const Measured& one : all) {
    const Json& stage = one.explained.find("stages")->list("stages").front();
    measurements.add({.model = one.model,
                      .batch_size = batch_size,
                      .backend = one.explained.find("backend")->string("backend"),
                      .tiles = static_cast<int>(one.explained.find("tiles_per_ipu")->integer("tiles_per_ipu")),
                      .megaflops = one.megaflops,
                      .weights = static_cast<std::size_t>(stage.find("memory")->find("weights")->integer("weights")),
                      .seconds = one.microseconds / 1e6,
                      .date = measurement_date()});
  }
  tell(fmt::format("kept for 'pando explain' in {}", write_measurements(measurements)));
}

}  // namespace

int bench(const Arguments& arguments) {
  if (arguments.words() == std::vector<std::string>{"network"}) return bench_network(arguments);
  const bool shared = joins_workers(arguments);
  const bool is_shown = !shared || mpi_workers()->rank() == 0;
  const Division division = division_of(arguments);
  const TrainingRecipe recipe = {.batch_size = arguments.whole("batch-size"),
                                 .steps_per_execution = arguments.whole("steps-per-execution")};
  const SampleKind kind = describe_samples(sample_choice(arguments));
  const VirtualIpus ipus(division.ipus, division.tiles, division.backend, shared);
  const std::vector<std::string> words = arguments.words().empty() ? built_in_names() : arguments.words();
  // All models are made first, so that a wrong name costs no time.
  std::vector<OpenedModel> opened;
  for (const std::string& word : words) {
    opened.push_back(open_model(word, kind));
    prepare_training(opened.back(), division, recipe);
  }
  const std::optional<double> peak = peak_of(division.backend);
  std::vector<Measured> all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_shown) tell(fmt::format("measuring {} ...", words[i]));
    all.push_back(measure(words[i], opened[i], kind, recipe));
  }
  if (!is_shown) return 0;
  if (!shared && division.ipus == 1 && division.gradient_accumulation == 1) keep(all, recipe.batch_size);
  if (arguments.flag("json")) {
    print_json(json_of(all, peak));
    return 0;
  }
  std::vector<std::string> titles = {"model", "us/step", "images/s", "MFLOP/step"};
  if (peak) titles.push_back("of peak");
  Table table(titles);
  for (const Measured& one : all) {
    std::vector<std::string> row = {one.model, fmt::format("{:.1f}", one.microseconds),
                                    thousands(static_cast<std::int64_t>(one.images_per_second)),
                                    fmt::format("{:.0f}", one.megaflops)};
    if (peak) row.push_back(percent(one.fraction(*peak)));
    table.add(row);
  }
  print(table.text());
  if (peak) print(fmt::format("\nThe multiply-add peak of all cores is {:.0f} GFLOP/s.\n", *peak));
  return 0;
}

}  // namespace pando::cli
