// SPDX-License-Identifier: Apache-2.0
#include "model/objective.h"

#include <pando/autodiff/gradients.h>

#include <algorithm>

namespace pando {

namespace {

// For a mean: 1 / samples of the update. For a sum: how many micro-batches of the update had samples.
Value factor_of(const Objective& objective) {
  const Value count = objective.count;
  const Graph::StageScope stage(count.graph(), any_stage);
  if (objective.reduction == Reduction::mean) {
    const Value samples = ops::update_sum(count);
    return 1.0 / ops::maximum(samples, ops::scalar(samples, 1.0));
  }
  return ops::update_sum(ops::cast(ops::greater(count, ops::scalar(count, 0.0)), count.dtype()));
}

}  // namespace

// When the first stage ends an update, the other stages have finished using the variable in it, and in the next update
// they wait for the first stage. So the first stage may change it.
std::int32_t updating_stage(const Graph& graph, ValueId variable) {
  if (graph.stages() == 1) return any_stage;
  // The variable, and what every stage computes of it for itself.
  std::vector<bool> is_made_of_it(graph.nodes().size(), false);
  is_made_of_it[static_cast<std::size_t>(variable.node)] = true;
  std::int32_t first = any_stage;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const bool uses_it = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return is_made_of_it[static_cast<std::size_t>(input.node)];
    });
    if (!uses_it) continue;
    if (node.stage == any_stage) is_made_of_it[i] = true;
    else if (first == any_stage || node.stage < first) first = node.stage;
  }
  return first;
}

namespace {

std::vector<Value> values_of(Trace& trace, const std::vector<Parameter>& parameters) {
  std::vector<Value> values;
  for (const Parameter& parameter : parameters) values.push_back(trace.value_of(parameter));
  return values;
}

}  // namespace

std::vector<Value> update_gradients(Trace& trace, const Objective& objective,
                                    const std::vector<Parameter>& parameters) {
  return update_gradients(trace, objective, parameters, gradients(objective.loss, values_of(trace, parameters)));
}

std::vector<Value> update_gradients(Trace& trace, const Objective& objective, const std::vector<Parameter>& parameters,
                                    const std::vector<Value>& slopes) {
  const std::vector<Value> values = values_of(trace, parameters);
  const bool is_mean = objective.reduction == Reduction::mean;
  const bool needs_factor = objective.spans && (is_mean || !objective.penalties.empty());
  const Value factor = needs_factor ? factor_of(objective) : Value();
  std::vector<Value> results;
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    const Graph::StageScope stage(trace.graph(), trace.stage_of(parameters[i]));
    Value slope = ops::update_sum(slopes[i]);
    if (objective.spans && is_mean) slope = slope * factor;
    if (!objective.penalties.empty() && objective.penalties[i]) {
      const Value penalty = gradients(objective.penalties[i], {values[i]})[0];
      slope = slope + (objective.spans && !is_mean ? penalty * factor : penalty);
    }
    results.push_back(slope);
  }
  return results;
}

}  // namespace pando
