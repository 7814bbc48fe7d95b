// SPDX-License-Identifier: Apache-2.0
#include "model/sample_rows.h"

#include <pando/ops/ops.h>

#include <algorithm>

#include "graph/op_definition.h"
#include "ops/op_list.h"

namespace pando {

namespace {

using Dependence = SampleRows::Dependence;

bool contains_zero(const Integers& axes) { return std::find(axes.begin(), axes.end(), 0) != axes.end(); }

}  // namespace

SampleRows::SampleRows(const Graph& graph, Value mask, const std::vector<Value>& promised)
    : graph_(graph), samples_(mask.shape()[0]), mask_(mask.id()), dependences_(graph.nodes().size()) {
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    std::vector<Dependence>& outputs = dependences_[i];
    if (is_role(node, Role::span)) {
      outputs = {of_value(node.inputs[0])};
      continue;
    }
    if (is_source(node)) {
      outputs = {static_cast<std::int32_t>(i) == mask_.node ? Dependence::masked_rows : of_source(node)};
      continue;
    }
    Dependence strongest = Dependence::none;
    for (ValueId input : node.inputs) strongest = std::max(strongest, of_value(input));
    const bool depends = strongest == Dependence::rows || strongest == Dependence::masked_rows;
    outputs = depends ? of_outputs(node) : std::vector(node.outputs.size(), strongest);
    for (const Value& value : promised)
      if (value.id().node == static_cast<std::int32_t>(i))
        outputs[static_cast<std::size_t>(value.id().output)] = Dependence::rows;
  }
}

Dependence SampleRows::of_source(const Node& node) const {
  if (!is_role(node, Role::input)) return Dependence::none;
  const Shape& shape = node.outputs[0].shape;
  return shape.rank() > 0 && shape[0] == samples_ ? Dependence::rows : Dependence::mixed;
}

bool SampleRows::rows_are_aligned(const Node& node) const {
  const Shape& output = node.outputs[0].shape;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    const Shape& shape = graph_.type(input).shape;
    return of_value(input) == Dependence::none || (shape.rank() == output.rank() && shape[0] == output[0]);
  });
}

std::vector<Dependence> SampleRows::of_outputs(const Node& node) const {
  const Shape &input = graph_.type(node.inputs[0]).shape, &output = node.outputs[0].shape;
  const Dependence first = of_value(node.inputs[0]);
  const auto only_first_depends = [&] {
    return std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                       [&](ValueId id) { return of_value(id) == Dependence::none; });
  };
  const auto when = [&](bool apart, Dependence dependence) {
    return std::vector(node.outputs.size(), apart ? dependence : Dependence::mixed);
  };
  if (node.op->elementwise) {
    const bool is_product = node.op->id == Op::multiply || node.op->id == Op::cast || node.op->id == Op::negate;
    const bool is_masked = is_product && std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
                             return of_value(id) == Dependence::masked_rows;
                           });
    return when(rows_are_aligned(node), is_masked ? Dependence::masked_rows : Dependence::rows);
  }
  switch (node.op->id) {
    case Op::reduce_sum:
      if (contains_zero(node.attributes.integers("axes")))
        return when(first == Dependence::masked_rows, Dependence::none);
      return when(true, first);
    case Op::reduce_mean:
    case Op::reduce_max: return when(!contains_zero(node.attributes.integers("axes")), first);
    case Op::argmax: return when(node.attributes.integer("axis") != 0, Dependence::rows);
    // Rows stay together in memory.
    case Op::reshape: return when(output.rank() > 0 && output[0] % samples_ == 0, first);
    case Op::transpose: return when(node.attributes.integers("permutation")[0] == 0, first);
    case Op::slice:
      return when(node.attributes.integers("starts")[0] == 0 && node.attributes.integers("sizes")[0] == input[0],
                  first);
    case Op::pad:
      return when(node.attributes.integers("before")[0] == 0 && node.attributes.integers("after")[0] == 0,
                  Dependence::rows);
    case Op::broadcast: return when(rows_are_aligned(node), first);
    case Op::concat: return when(node.attributes.integer("axis") != 0 && rows_are_aligned(node), Dependence::rows);
    case Op::matmul:
      // One matrix has rows of samples if it is not transposed; of several, each belongs to a sample.
      return when(rows_are_aligned(node) &&
                      (input.rank() > 2 || (only_first_depends() && !node.attributes.flag("transpose_a"))),
                  Dependence::rows);
    case Op::conv2d:
    case Op::conv2d_input_gradient:
    case Op::max_pool:
    case Op::average_pool:
    case Op::one_hot:
    case Op::dropout: return when(only_first_depends(), Dependence::rows);
    case Op::softmax:
    case Op::log_softmax:
    case Op::layer_norm: return when(only_first_depends() && input.rank() > 1, Dependence::rows);
    case Op::softmax_cross_entropy:
    case Op::sparse_softmax_cross_entropy: return when(input.rank() > 1, Dependence::rows);
    case Op::gather: return when(first == Dependence::none, Dependence::rows);
    case Op::batch_norm: {
      const bool is_masked = node.inputs.size() > 3 && of_value(node.inputs[3]) == Dependence::masked_rows;
      std::vector<Dependence> outputs = when(is_masked, Dependence::none);
      if (is_masked) outputs[0] = Dependence::rows;
      return outputs;
    }
    default: return when(false, Dependence::mixed);
  }
}

std::optional<std::string> SampleRows::first_mixture() const {
  for (std::size_t i = 0; i < dependences_.size(); ++i)
    if (dependences_[i][0] == Dependence::mixed) {
      const Node& node = graph_.nodes()[i];
      return node.name.empty() ? std::string(node.op->name) : node.name;
    }
  return std::nullopt;
}

Value mask_of_rows(Value mask, std::int64_t rows) {
  const std::int64_t samples = mask.shape()[0];
  if (rows == samples) return mask;
  return ops::reshape(ops::broadcast(ops::reshape(mask, {samples, 1}), {samples, rows / samples}), {rows});
}

}  // namespace pando
