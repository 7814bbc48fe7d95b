// SPDX-License-Identifier: Apache-2.0
#include <pando/autodiff/gradients.h>
#include <pando/ops/ops.h>

#include <fmt/format.h>

#include <algorithm>

#include "graph/op_definition.h"

namespace pando {

namespace {

using PerValue = std::vector<std::vector<Value>>;

// Marks the nodes that depend on one of `values`: only they can carry a gradient to it.
std::vector<bool> find_dependents(const Graph& graph, const std::vector<Value>& values) {
  std::vector<bool> depends(graph.nodes().size(), false);
  for (const Value& value : values) depends[static_cast<std::size_t>(value.id().node)] = true;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i)
    for (ValueId input : graph.nodes()[i].inputs)
      if (depends[static_cast<std::size_t>(input.node)]) depends[i] = true;
  return depends;
}

std::int32_t stage_of(Value value) { return value.graph().node(value.id()).stage; }

// The stage of a sum of two gradients is the smaller one, so that only one gradient passes to the stages before. A
// constant has no stage and takes that of the other.
std::int32_t stage_of_sum(Value a, Value b) {
  if (stage_of(a) == any_stage || stage_of(b) == any_stage) return std::max(stage_of(a), stage_of(b));
  return std::min(stage_of(a), stage_of(b));
}

void accumulate(PerValue& gradients, ValueId id, Value gradient) {
  Value& total = gradients[static_cast<std::size_t>(id.node)][static_cast<std::size_t>(id.output)];
  if (!total) {
    total = gradient;
    return;
  }
  const Graph::StageScope stage(gradient.graph(), stage_of_sum(total, gradient));
  total = ops::add(total, gradient);
}

// A gradient has the stage of the node that it belongs to. A node that every stage computes for itself has none: its
// gradient is computed in the first of the stages that the gradients of its outputs come from.
std::int32_t stage_of_gradient(const GradientCall& call) {
  if (call.node.stage != any_stage) return call.node.stage;
  std::int32_t first = any_stage;
  for (const Value& gradient : call.gradients)
    if (gradient && (first == any_stage || (stage_of(gradient) != any_stage && stage_of(gradient) < first)))
      first = stage_of(gradient);
  return first;
}

void propagate(Graph& graph, std::size_t index, const std::vector<bool>& depends, PerValue& gradients) {
  GradientCall call{graph, graph.nodes()[index], {}, {}, gradients[index], {}};
  bool any_needed = false;
  for (ValueId input : call.node.inputs) {
    call.inputs.push_back(graph.value(input));
    call.needed.push_back(depends[static_cast<std::size_t>(input.node)] && is_floating(graph.type(input).dtype));
    any_needed = any_needed || call.needed.back();
  }
  if (!any_needed) return;
  if (call.node.op->gradient == nullptr)
    throw Error(fmt::format("gradients: {}{}{} has no gradient; take the gradient with respect to values after it",
                            call.node.op->name, call.node.name.empty() ? "" : " ", call.node.name));
  for (std::size_t i = 0; i < call.node.outputs.size(); ++i)
    call.outputs.push_back(graph.value({static_cast<std::int32_t>(index), static_cast<std::int32_t>(i)}));

  const Graph::StageScope stage(graph, stage_of_gradient(call));
  const Graph::Scope scope(graph, call.node, "gradient");
  const std::vector<Value> results = call.node.op->gradient(call);
  for (std::size_t i = 0; i < call.needed.size(); ++i) {
    if (!call.needed[i] || i >= results.size() || !results[i]) continue;
    if (results[i].type() != call.inputs[i].type())
      throw InternalError(fmt::format("the gradient of {} has the type {} for an input {}", call.node.op->name,
                                      to_string(results[i].type()), to_string(call.inputs[i].type())));
    accumulate(gradients, call.node.inputs[i], results[i]);
  }
}

}  // namespace

std::vector<Value> gradients(Value loss, const std::vector<Value>& values) {
  if (!is_floating(loss.dtype()) || loss.shape().rank() != 0)
    throw Error(fmt::format("gradients: the loss is {} but must be a float scalar; reduce it with a mean or a sum",
                            to_string(loss.type())));
  return gradients(std::vector{loss}, {ops::scalar(loss, 1.0)}, values);
}

std::vector<Value> gradients(const std::vector<Value>& outputs, const std::vector<Value>& output_gradients,
                             const std::vector<Value>& values) {
  if (outputs.empty() || outputs.size() != output_gradients.size())
    throw Error(fmt::format("gradients: {} outputs have {} gradients; give one for each", outputs.size(),
                            output_gradients.size()));
  Graph& graph = outputs.front().graph();
  const Graph::StageScope stage(graph, any_stage);
  const std::vector<bool> depends = find_dependents(graph, values);

  PerValue found;
  for (const Node& node : graph.nodes()) found.emplace_back(node.outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].type() != output_gradients[i].type())
      throw Error(fmt::format("gradients: output {} is {} but its gradient is {}; they must be of one type", i,
                              to_string(outputs[i].type()), to_string(output_gradients[i].type())));
    accumulate(found, outputs[i].id(), output_gradients[i]);
  }
  for (std::size_t i = found.size(); i-- > 0;) {
    bool reached = false;
    for (const Value& gradient : found[i]) reached = reached || gradient;
    if (reached && depends[i]) propagate(graph, i, depends, found);
  }

  std::vector<Value> results;
  for (const Value& value : values) {
    const Value gradient =
        found[static_cast<std::size_t>(value.id().node)][static_cast<std::size_t>(value.id().output)];
    results.push_back(gradient ? gradient : ops::broadcast(ops::scalar(value, 0), value.shape()));
  }
  return results;
}

}  // namespace pando
