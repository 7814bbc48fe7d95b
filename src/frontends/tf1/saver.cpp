// SPDX-License-Identifier: Apache-2.0
#include <pando/frontends/tf1/saver.h>

#include <fmt/format.h>

#include <algorithm>

#include "data/pipeline/recipe.h"
#include "frontends/tf1/computation.h"
#include "frontends/tf1/session_state.h"
#include "model/checkpoint_files.h"

namespace pando::tf1::train {

namespace {

// What the graph keeps now.
SessionState state_now() {
  const DefaultGraph& graph = DefaultGraph::current();
  SessionState state;
  for (const auto& [name, parameter] : graph.parameters()) state.variables.push_back({name, parameter.value()});
  const auto computations = graph.computations();
  for (std::size_t i = 0; i < computations.size(); ++i) {
    state.updates.push_back(computations[i]->updates());
    for (const std::string& slot : computations[i]->slots())
      state.slots.push_back({fmt::format("{}/{}", i, slot), computations[i]->variables().get(slot)});
  }
  std::sort(state.slots.begin(), state.slots.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (const auto& [name, source] : graph.sources()) state.places.push_back({name, source->position()});
  return state;
}

// Opens the pass of every source at its position. If one throws, the data sets are as they were.
std::vector<std::optional<DatasetPass>> open_passes(const SessionState& state) {
  const auto sources = DefaultGraph::current().sources();
  std::vector<Json> before;
  for (const auto& [name, source] : sources) before.push_back(data::DatasetState::of(source->dataset));
  std::vector<std::optional<DatasetPass>> passes(sources.size());
  const auto for_each_position = [&](const auto& action) {
    for (std::size_t i = 0; i < sources.size(); ++i) try {
        if (const auto& position = state.places[i].position) action(i, *position);
      } catch (const Error& error) {
        throw Error(fmt::format("{}: {}", state.places[i].name, error.what()));
      }
  };
  try {
    for_each_position([&](std::size_t i, const DataPosition& position) {
      passes[i] = open_pass(sources[i].second->dataset, position);
    });
    // Sources may share a data set, so this comes when all passes are open.
    for_each_position([&](std::size_t i, const DataPosition& position) {
      data::DatasetState::restore(sources[i].second->dataset, position.now);
    });
  } catch (...) {
    for (std::size_t i = 0; i < sources.size(); ++i) data::DatasetState::restore(sources[i].second->dataset, before[i]);
    throw;
  }
  return passes;
}

void restore_now(const SessionState& state, std::vector<std::optional<DatasetPass>> passes) {
  const DefaultGraph& graph = DefaultGraph::current();
  const auto parameters = graph.parameters();
  for (const auto& [name, array] : state.variables) Parameter(parameters.at(name)).set_value(array);
  const auto computations = graph.computations();
  for (std::size_t i = 0; i < computations.size(); ++i) computations[i]->set_updates(state.updates[i]);
  for (const auto& [name, array] : state.slots) {
    const std::size_t slash = name.find('/');
    computations[std::stoul(name.substr(0, slash))]->variables().set(name.substr(slash + 1), array);
  }
  const auto sources = graph.sources();
  for (std::size_t i = 0; i < sources.size(); ++i) sources[i].second->go_on_with(std::move(passes[i]));
}

}  // namespace

void Saver::save(Session& session, const std::string& path) const {
  session.run(Fetch([&](Evaluation& evaluation) {
    evaluation.session().check_all_initialised();
    data::write_checkpoint(path, to_safetensors(state_now()));
    return Arrays();
  }));
}

void Saver::restore(Session& session, const std::string& path) const {
  const SessionState state = session_state_of(data::read_checkpoint(path), path);
  session.run(Fetch([&](Evaluation& evaluation) {
    std::vector<std::string> found = differences(state, state_now());
    std::vector<std::optional<DatasetPass>> passes;
    if (found.empty()) {
      try {
        passes = open_passes(state);
      } catch (const Error& error) {
        found.emplace_back(error.what());
      }
    }
    if (!found.empty())
      throw Error(fmt::format(
          "restore: {} does not fit: {}. Build the graph and the data sets that were saved, or give another "
          "file",
          path, fmt::join(found, "; ")));
    restore_now(state, std::move(passes));
    evaluation.session().set_initialised(DefaultGraph::current().end());
    return Arrays();
  }));
}

}  // namespace pando::tf1::train
