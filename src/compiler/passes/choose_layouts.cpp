// SPDX-License-Identifier: Apache-2.0
// A transpose of the operands of an elementwise op is a transpose of its result. So transposes move towards the users,
// where two of them become one or none, and a matmul takes the last one as a flag.
#include "compiler/passes/pass.h"
#include "graph/op_definition.h"
#include "graph/rewrite.h"
#include "ops/op_list.h"

namespace pando {

namespace {

// An operand this many times smaller than the result is cheaper to transpose than the result.
constexpr std::int64_t small_operand = 8;

const Integers* permutation_of(const Graph& graph, ValueId id) {
  const Node& node = graph.node(id);
  return node.op->id == Op::transpose ? &node.attributes.integers("permutation") : nullptr;
}

Integers inverse(const Integers& permutation) {
  Integers result(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    result[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  return result;
}

bool is_identity(const Integers& permutation) {
  for (std::size_t i = 0; i < permutation.size(); ++i)
    if (permutation[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

ValueId transposed(Graph& graph, ValueId id, const Integers& permutation) {
  if (is_identity(permutation)) return id;
  return graph.add(definitions::transpose, {graph.value(id)}, {{"permutation", permutation}}).front().id();
}

// Two transposes in a row become one; a pair that cancels becomes none.
ValueId compose(Graph& graph, ValueId id, const Integers& outer) {
  const Integers* inner = permutation_of(graph, id);
  if (inner == nullptr) return transposed(graph, id, outer);
  Integers both;
  for (std::int64_t axis : outer) both.push_back((*inner)[static_cast<std::size_t>(axis)]);
  return transposed(graph, graph.node(id).inputs[0], both);
}

// An operand of an elementwise op, in the layout it needs if the op's result is transposed afterwards.
ValueId untransposed(Graph& graph, ValueId id, const Integers& permutation) {
  if (graph.type(id).shape.elements() == 1) return id;
  const Shape& shape = graph.type(id).shape;
  if (shape.rank() < static_cast<int>(permutation.size())) {
    Integers sizes(permutation.size() - static_cast<std::size_t>(shape.rank()), 1);
    sizes.insert(sizes.end(), shape.begin(), shape.end());
    id = graph.add(definitions::reshape, {graph.value(id)}, {{"shape", sizes}}).front().id();
  }
  return compose(graph, id, inverse(permutation));
}

// The permutation that all large operands of an elementwise node share; null if there is none.
const Integers* shared_permutation(const Graph& graph, const Node& node) {
  const Integers* shared = nullptr;
  for (ValueId input : node.inputs) {
    const Integers* permutation = permutation_of(graph, input);
    const bool large = graph.type(input).shape.elements() * small_operand > node.outputs[0].shape.elements();
    if (permutation != nullptr && graph.type(input).shape == node.outputs[0].shape) {
      if (shared != nullptr && *shared != *permutation) return nullptr;
      shared = permutation;
    } else if (large && graph.type(input).shape.elements() > 1) {
      return nullptr;
    }
  }
  return shared;
}

// f(transpose(x)) = transpose(f(x)): the transpose moves on until it meets its inverse.
bool sink_below_elementwise(Rewriter& rewriter, std::int32_t index, const Node& node) {
  if (!node.op->elementwise || node.outputs.size() != 1) return false;
  Graph& graph = rewriter.to();
  const Integers* shared = shared_permutation(graph, node);
  if (shared == nullptr) return false;
  const Integers permutation = *shared;
  std::vector<Value> operands;
  for (ValueId input : node.inputs) operands.push_back(graph.value(untransposed(graph, input, permutation)));
  const ValueId moved = graph.add(*node.op, operands, node.attributes).front().id();
  rewriter.replace({index, 0}, transposed(graph, moved, permutation));
  return true;
}

bool absorb_into_matmul(Rewriter& rewriter, std::int32_t index, Node node) {
  if (node.op->id != Op::matmul) return false;
  bool changed = false;
  for (std::size_t i : {0, 1}) {
    const Integers* permutation = permutation_of(rewriter.to(), node.inputs[i]);
    if (permutation == nullptr) continue;
    Integers swapped(permutation->size());
    for (std::size_t k = 0; k < swapped.size(); ++k) swapped[k] = static_cast<std::int64_t>(k);
    std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
    if (*permutation != swapped) continue;
    const std::string flag = i == 0 ? "transpose_a" : "transpose_b";
    node.attributes.set(flag, !node.attributes.flag(flag));
    node.inputs[i] = rewriter.to().node(node.inputs[i]).inputs[0];
    changed = true;
  }
  if (changed) rewriter.replace({index, 0}, {GraphEditor::append(rewriter.to(), std::move(node)), 0});
  return changed;
}

}  // namespace

Graph choose_layouts(const Graph& graph, const PassContext& context) {
  Rewriter rewriter(graph);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(graph.nodes().size()); ++i) {
    Node node = graph.nodes()[static_cast<std::size_t>(i)];
    for (ValueId& input : node.inputs) input = rewriter[input];
    const Graph::Scope scope(rewriter.to(), node);
    if (node.op->id == Op::transpose)
      rewriter.replace({i, 0}, compose(rewriter.to(), node.inputs[0], node.attributes.integers("permutation")));
    else if (!sink_below_elementwise(rewriter, i, node) && !absorb_into_matmul(rewriter, i, node)) rewriter.keep(i);
  }
  return remove_dead_nodes(rewriter.finish(), context);
}

}  // namespace pando
