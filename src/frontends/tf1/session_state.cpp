// SPDX-License-Identifier: Apache-2.0
#include "frontends/tf1/session_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "io/byte_store.h"
#include "model/checkpoint_files.h"

namespace pando::tf1 {

namespace {

constexpr const char* format = "Pando session 1";
constexpr const char *variable_prefix = "variables/", *slot_prefix = "optimizer/";

Json updates_json(const std::vector<std::vector<std::int64_t>>& updates) {
  Json::List computations;
  for (const std::vector<std::int64_t>& segments : updates) {
    Json::List list;
    for (const std::int64_t number : segments) list.emplace_back(number);
    computations.emplace_back(std::move(list));
  }
  return computations;
}

Json places_json(const std::vector<SessionState::Place>& places) {
  Json::List list;
  for (const SessionState::Place& place : places) {
    Json json = Json::Object{{"name", place.name}};
    if (place.position) json.set("position", to_json(*place.position));
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<std::vector<std::int64_t>> updates_of(const JsonFields& fields) {
  std::vector<std::vector<std::int64_t>> updates;
  for (const Json& computation : fields.list("updates")) {
    std::vector<std::int64_t>& segments = updates.emplace_back();
    for (const Json& number : computation.list("updates")) {
      segments.push_back(number.integer("updates"));
      if (segments.back() < 0) throw Error(fmt::format("updates has {} but must not be negative", segments.back()));
    }
  }
  return updates;
}

std::vector<SessionState::Place> places_of(const JsonFields& fields) {
  std::vector<SessionState::Place> places;
  for (const Json& json : fields.list("places")) {
    const JsonFields place(json, "places.");
    places.push_back({place.string("name"), {}});
    if (!place.has("position")) continue;
    places.back().position = data_position_of(place.object("position"));
    if (!places.back().position->pass) throw Error("there is no 'places.position.pass'");
  }
  return places;
}

void add_arrays(SessionState& state, const std::vector<data::NamedArray>& tensors) {
  for (const auto& [name, array] : tensors)
    if (name.starts_with(variable_prefix))
      state.variables.push_back({name.substr(std::strlen(variable_prefix)), array});
    else if (name.starts_with(slot_prefix)) state.slots.push_back({name.substr(std::strlen(slot_prefix)), array});
    else throw Error(fmt::format("the array '{}' is not one of a checkpoint", name));
  for (auto* arrays : {&state.variables, &state.slots})
    std::sort(arrays->begin(), arrays->end(), [](const auto& a, const auto& b) { return a.name < b.name; });
}

std::string place_names(const SessionState& state) {
  std::vector<std::string> names;
  for (const SessionState::Place& place : state.places) names.push_back(place.name);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

data::Safetensors to_safetensors(const SessionState& state) {
  data::Safetensors contents;
  const Json run = Json::Object{{"updates", updates_json(state.updates)}, {"places", places_json(state.places)}};
  contents.metadata = data::checkpoint_metadata(format, run);
  for (const auto& [name, array] : state.variables) contents.tensors.push_back({variable_prefix + name, array});
  for (const auto& [name, array] : state.slots) contents.tensors.push_back({slot_prefix + name, array});
  return contents;
}

SessionState session_state_of(const data::Safetensors& contents, const std::string& name) {
  const Json run = data::checkpoint_run(contents, format, name);
  try {
    const JsonFields fields(run);
    SessionState state{.variables = {}, .slots = {}, .updates = updates_of(fields), .places = places_of(fields)};
    add_arrays(state, contents.tensors);
    return state;
  } catch (const Error& error) {
    throw_file_error(name, fmt::format("is not a checkpoint: {}", error.what()), "use another one");
  }
}

std::vector<std::string> differences(const SessionState& there, const SessionState& here) {
  std::vector<std::string> found;
  const auto check = [&](const std::string& what, const auto& a, const auto& b) {
    if (a != b) found.push_back(fmt::format("{} {} there but {} here", what, a, b));
  };
  const auto check_arrays = [&](const char* what, const auto& a, const auto& b) {
    if (const std::string difference = data::array_difference(what, a, b); !difference.empty())
      found.push_back(difference);
  };
  check_arrays("variables", there.variables, here.variables);
  check("the number of compiled computations is", there.updates.size(), here.updates.size());
  for (std::size_t i = 0; i < std::min(there.updates.size(), here.updates.size()); ++i)
    check(fmt::format("the number of segments of computation {} is", i), there.updates[i].size(),
          here.updates[i].size());
  if (found.empty()) check_arrays("states of optimizers", there.slots, here.slots);
  check("the iterators and infeed queues are", place_names(there), place_names(here));
  return found;
}

}  // namespace pando::tf1
