// SPDX-License-Identifier: Apache-2.0
// One walk in order in which each node first skips producers that it does not need, a reshape, a broadcast or zeros,
// and is then replaced by its input if it hands that on unchanged.
#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/passes/pass.h"
#include "graph/op_definition.h"
#include "graph/rewrite.h"
#include "ops/op_list.h"

namespace pando {

namespace {

bool is_scalar(const Graph& graph, ValueId id, double value) {
  const Node& node = graph.node(id);
  if (!is_role(node, Role::constant) || node.outputs[0].shape.elements() != 1) return false;
  const double held = node.attributes.array("value").item<double>();
  return held == value;
}

// The input that the node passes on unchanged, if there is one.
const ValueId* find_identity(const Graph& graph, const Node& node) {
  const auto same_type = [&](std::size_t i) { return graph.type(node.inputs[i]) == node.outputs[0]; };
  const auto keeps = [&](std::size_t kept, std::size_t other, double neutral) {
    return same_type(kept) && is_scalar(graph, node.inputs[other], neutral) ? &node.inputs[kept] : nullptr;
  };
  const ValueId* found = nullptr;
  switch (node.op->id) {
    case Op::multiply: found = keeps(0, 1, 1); return found != nullptr ? found : keeps(1, 0, 1);
    case Op::add: found = keeps(0, 1, 0); return found != nullptr ? found : keeps(1, 0, 0);
    case Op::subtract: return keeps(0, 1, 0);
    case Op::divide: return keeps(0, 1, 1);
    case Op::reshape:
    case Op::broadcast:
    case Op::cast:
    case Op::slice:
    case Op::pad: return same_type(0) ? &node.inputs[0] : nullptr;
    case Op::concat: return node.inputs.size() == 1 ? &node.inputs[0] : nullptr;
    default: return nullptr;
  }
}

// An elementwise op broadcasts by itself: it may take an operand from before a broadcast if the other operands make
// that broadcast superfluous.
void absorb_broadcasts(const Graph& graph, Node& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Node& producer = graph.node(node.inputs[i]);
    if (producer.op->id != Op::broadcast) continue;
    Shape rest = graph.type(producer.inputs[0]).shape;
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (k != i) rest = broadcast_shapes(rest, graph.type(node.inputs[k]).shape);
    if (rest == node.outputs[0].shape) node.inputs[i] = producer.inputs[0];
  }
}

void absorb_reshape(const Graph& graph, Node& node) {
  const Node& producer = graph.node(node.inputs[0]);
  if (producer.op->id == Op::reshape) node.inputs[0] = producer.inputs[0];
}

// A value with zeros before and after it along one axis.
struct Padded {
  ValueId value;
  int axis = 0;
  std::int64_t before = 0, after = 0;
};

std::optional<Padded> padded_by_zeros(const Graph& graph, ValueId id) {
  const Node& node = graph.node(id);
  if (node.op->id != Op::pad || node.attributes.number("value") != 0) return std::nullopt;
  const Integers before = node.attributes.integers("before"), after = node.attributes.integers("after");
  std::optional<Padded> found;
  for (std::size_t axis = 0; axis < before.size(); ++axis) {
    if (before[axis] == 0 && after[axis] == 0) continue;
    if (found || before[axis] < 0 || after[axis] < 0) return std::nullopt;
    found = {node.inputs[0], static_cast<int>(axis), before[axis], after[axis]};
  }
  return found;
}

// The parts that a value has been joined from along the axis: itself, or the inputs of a concat.
void append_parts(const Graph& graph, ValueId id, int axis, std::vector<ValueId>& parts) {
  const Node& node = graph.node(id);
  if (node.op->id != Op::concat || node.attributes.integer("axis") != axis) return parts.push_back(id);
  parts.insert(parts.end(), node.inputs.begin(), node.inputs.end());
}

// The terms of a sum and of sums in it; empty if one of them is not padded, or if there are very many.
std::vector<Padded> padded_terms(const Graph& graph, const Node& sum) {
  constexpr std::size_t most_terms = 256;
  std::vector<Padded> terms;
  std::vector<ValueId> rest = sum.inputs;
  while (!rest.empty()) {
    const ValueId id = rest.back();
    rest.pop_back();
    const Node& node = graph.node(id);
    if (graph.type(id) != sum.outputs[0] || node.stage != sum.stage) return {};
    if (node.op->id == Op::add) {
      rest.insert(rest.end(), node.inputs.begin(), node.inputs.end());
    } else if (const std::optional<Padded> term = padded_by_zeros(graph, id)) {
      terms.push_back(*term);
    } else {
      return {};
    }
    if (rest.size() + terms.size() > most_terms) return {};
  }
  return terms;
}

// A sum of values that zeros place side by side, in any order, as gradients of slices are: the values joined, with the
// zeros that are left around them.
bool join_padded(Graph& graph, Node& node) {
  if (node.op->id != Op::add) return false;
  std::vector<Padded> terms = padded_terms(graph, node);
  if (terms.empty()) return false;
  std::ranges::sort(terms, {}, &Padded::before);
  const Padded &first = terms.front(), &last = terms.back();
  const int axis = first.axis;
  const Shape& whole = node.outputs[0].shape;
  const auto are_apart = [&](const Padded& one, const Padded& next) {
    return one.axis != next.axis || whole[axis] - one.after != next.before;
  };
  if (std::ranges::adjacent_find(terms, are_apart) != terms.end()) return false;
  Node joined = node;
  joined.op = &definitions::concat;
  joined.inputs.clear();
  for (const Padded& term : terms) append_parts(graph, term.value, axis, joined.inputs);
  joined.attributes = {{"axis", static_cast<std::int64_t>(axis)}};
  joined.outputs[0].shape[axis] = whole[axis] - first.before - last.after;
  if (joined.outputs[0].shape == whole) {
    node = std::move(joined);
    return true;
  }
  Integers before(static_cast<std::size_t>(whole.rank())), after = before;
  before[static_cast<std::size_t>(axis)] = first.before;
  after[static_cast<std::size_t>(axis)] = last.after;
  node.op = &definitions::pad;
  node.inputs = {{GraphEditor::append(graph, std::move(joined)), 0}};
  node.attributes = {{"before", before}, {"after", after}, {"value", 0.0}};
  return true;
}

}  // namespace

Graph simplify(const Graph& graph, const PassContext&) {
  Rewriter rewriter(graph);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    Node node = graph.nodes()[i];
    for (ValueId& input : node.inputs) input = rewriter[input];
    if (node.op->id == Op::reshape) absorb_reshape(rewriter.to(), node);
    if (node.op->elementwise && !join_padded(rewriter.to(), node)) absorb_broadcasts(rewriter.to(), node);
    if (const ValueId* same = find_identity(rewriter.to(), node)) {
      rewriter.replace({index, 0}, *same);
      continue;
    }
    const auto outputs = static_cast<std::int32_t>(node.outputs.size());
    const std::int32_t added = GraphEditor::append(rewriter.to(), std::move(node));
    for (std::int32_t k = 0; k < outputs; ++k) rewriter.replace({index, k}, {added, k});
  }
  return rewriter.finish();
}

}  // namespace pando
