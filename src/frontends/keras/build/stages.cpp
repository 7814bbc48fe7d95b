// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/build/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace pando::keras {

namespace {

bool is_input(const Network& network, const Recording& call) {
  return std::any_of(network.inputs.begin(), network.inputs.end(),
                     [&](const Tensor& input) { return input.state().recording.get() == &call; });
}

const Recording* maker(const Tensor& tensor) { return tensor.state().recording.get(); }

// The stages as users gave them, -1 where they gave none.
std::vector<int> given_stages(const Network& network, const std::vector<int>& assigned) {
  std::vector<int> stages;
  std::size_t next = 0;
  for (const auto& call : network.calls) {
    if (is_input(network, *call)) stages.push_back(-1);
    else if (!assigned.empty()) stages.push_back(assigned[next++]);
    else stages.push_back(call->stage.value_or(-1));
  }
  return stages;
}

void check_calls(const Network& network, const std::vector<int>& stages) {
  std::map<const Recording*, int> stage_of;
  for (std::size_t i = 0; i < network.calls.size(); ++i) {
    const Recording& call = *network.calls[i];
    if (is_input(network, call)) continue;
    if (stages[i] < 0)
      throw Error(fmt::format(
          "the layer '{}' belongs to no pipeline stage; call it in a PipelineStage scope, as the others", call.name));
    stage_of[&call] = stages[i];
    for (const Tensor& input : call.inputs) {
      const auto before = stage_of.find(maker(input));
      if (before != stage_of.end() && before->second > stages[i])
        throw Error(
            fmt::format("the layer '{}' in pipeline stage {} needs '{}' of the later stage {}; stages must follow "
                        "the order of the layers",
                        call.name, stages[i], maker(input)->name, before->second));
    }
  }
}

}  // namespace

StageAssignment assign_stages(const Network& network, const std::vector<int>& assigned) {
  StageAssignment assignment{given_stages(network, assigned), 1};
  std::vector<int>& stages = assignment.of_call;
  const int last = *std::max_element(stages.begin(), stages.end());
  if (last < 0) {
    std::fill(stages.begin(), stages.end(), 0);
    return assignment;
  }
  check_calls(network, stages);
  for (int stage = 0; stage <= last; ++stage)
    if (std::find(stages.begin(), stages.end(), stage) == stages.end())
      throw Error(
          fmt::format("there is a pipeline stage {} but no stage {}; number the stages 0, 1, 2 ...", last, stage));
  assignment.stages = last + 1;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i] >= 0) continue;
    stages[i] = last;
    for (std::size_t j = 0; j < stages.size(); ++j)
      for (const Tensor& input : network.calls[j]->inputs)
        if (maker(input) == network.calls[i].get() && stages[j] >= 0) stages[i] = std::min(stages[i], stages[j]);
  }
  return assignment;
}

}  // namespace pando::keras
