// SPDX-License-Identifier: Apache-2.0
// What a program tells about itself: its ports, kernels and memory.
#include <set>

#include "plan/cost.h"
#include "program/state.h"
#include "program/step_kernels.h"

namespace pando {

std::vector<PortInfo> Program::feeds() const {
  std::vector<PortInfo> feeds;
  for (const Field& field : state_->plan.host.list) feeds.push_back({field.name, field.type});
  return feeds;
}

std::vector<PortInfo> Program::outputs() const {
  std::vector<PortInfo> outputs;
  for (const Field& field : state_->plan.results.list) outputs.push_back({field.name, field.type});
  return outputs;
}

std::vector<VariableInfo> Program::variables() const { return state_->variables; }

std::vector<KernelInfo> Program::kernels() const { return kernels_of(state_->plan); }

namespace {

void add_variables(const StagePlan& stage, DeviceUse& use) {
  std::set<std::string> known;
  for (const Plan* plan : stage.all()) {
    if (plan == nullptr) continue;
    for (const VariablePort& variable : plan->variables) {
      if (!known.insert(variable.name).second) continue;
      if (variable.role == VariableRole::sum) use.sums += variable.type.bytes();
      else if (variable.role == VariableRole::slot) use.slots += variable.type.bytes();
      else if (variable.role == VariableRole::weight || variable.role == VariableRole::statistic)
        use.weights += variable.type.bytes();
    }
  }
}

}  // namespace

std::vector<DeviceUse> Program::device_use() const {
  const State& state = *state_;
  std::vector<DeviceUse> uses;
  for (std::size_t i = 0; i < state.plan.stages.size(); ++i) {
    const StagePlan& stage = state.plan.stages[i];
    const auto index = static_cast<int>(i);
    DeviceUse& use = uses.emplace_back();
    use.working = state.executor ? state.executor->working_bytes(index) : state.whole.working_bytes;
    use.tiles = state.executor ? state.executor->tiles(index) : state.whole.tiles;
    if (state.executor) use.stash = state.executor->stash_bytes(index);
    add_variables(stage, use);
    const int slots =
        state.executor ? std::max(default_feed_slots, state.executor->rows_in_flight()) : default_feed_slots;
    if (i == 0) use.feeds = state.plan.host.bytes * static_cast<std::size_t>(slots);
    for (const auto* plan : {&stage.forward, &stage.backward_next})
      if (*plan) use.megaflops += cost_of(**plan).flops / 1e6;
  }
  return uses;
}

std::size_t Program::arena_bytes() const {
  std::size_t bytes = 0;
  for (const StagePlan& stage : state_->plan.stages)
    for (const Plan* plan : stage.all())
      if (plan != nullptr) bytes += plan->arena_bytes;
  return bytes;
}

std::size_t Program::working_bytes() const {
  std::size_t bytes = 0;
  for (const DeviceUse& use : device_use()) bytes += use.working;
  return bytes;
}

std::string Program::plan_text() const { return to_string(state_->plan); }

}  // namespace pando
