// SPDX-License-Identifier: Apache-2.0
// Slices, transposes and most reshapes choose elements of a value at regular steps. A matmul that would read a copy of
// them reads the value itself, as a view with these steps, if no other kind of op needs the copy.
#include <algorithm>

#include "compiler/passes/pass.h"
#include "graph/op_definition.h"
#include "graph/rewrite.h"
#include "ops/op_list.h"

namespace pando {

namespace {

struct View {
  ValueId of;
  std::int64_t offset = 0;
  Shape shape = {};
  Integers strides = {};
};

View whole(const Graph& graph, ValueId id) {
  View view{id, 0, graph.type(id).shape};
  for (int axis = 0; axis < view.shape.rank(); ++axis) view.strides.push_back(view.shape.stride(axis));
  return view;
}

View transposed(const View& view, const Integers& permutation) {
  View result{view.of, view.offset, {}};
  for (std::int64_t axis : permutation) {
    result.shape.append(view.shape[static_cast<int>(axis)]);
    result.strides.push_back(view.strides[static_cast<std::size_t>(axis)]);
  }
  return result;
}

View sliced(View view, const Integers& starts, const Integers& sizes) {
  for (std::size_t i = 0; i < starts.size(); ++i) view.offset += starts[i] * view.strides[i];
  view.shape = Shape();
  for (std::int64_t size : sizes) view.shape.append(size);
  return view;
}

// Sets the strides of a view under another shape; false if its elements do not lie at regular steps then. Walks both
// shapes from the end: axes that become one axis, or several, must have one step between their elements.
bool reshape(View& view, const Shape& shape) {
  if (shape.elements() == 0) return false;
  Integers strides(static_cast<std::size_t>(shape.rank()), 1);
  int from = view.shape.rank() - 1, to = shape.rank() - 1;
  while (to >= 0) {
    while (from >= 0 && view.shape[from] == 1) --from;
    if (shape[to] == 1 || from < 0) {
      --to;
      continue;
    }
    // As many axes of both as have the same number of elements.
    std::int64_t step = view.strides[static_cast<std::size_t>(from)], before = view.shape[from], after = 1;
    const int last = to;
    for (; after < before || last == to; --to) {
      if (to < 0) return false;
      strides[static_cast<std::size_t>(to)] = step * after;
      after *= shape[to];
      while (after > before) {
        if (--from < 0) return false;
        if (view.shape[from] != 1 && view.strides[static_cast<std::size_t>(from)] != step * before) return false;
        before *= view.shape[from];
      }
    }
    if (after != before) return false;
    --from;
  }
  view.shape = shape;
  view.strides = std::move(strides);
  return true;
}

bool is_contiguous(const View& view) {
  for (int axis = 0; axis < view.shape.rank(); ++axis)
    if (view.shape[axis] != 1 && view.strides[static_cast<std::size_t>(axis)] != view.shape.stride(axis)) return false;
  return true;
}

// What a value is a view of: itself, if nothing else.
View view_of(const Graph& graph, ValueId id) {
  const Node& node = graph.node(id);
  switch (node.op->id) {
    case Op::transpose: return transposed(view_of(graph, node.inputs[0]), node.attributes.integers("permutation"));
    case Op::slice:
      return sliced(view_of(graph, node.inputs[0]), node.attributes.integers("starts"),
                    node.attributes.integers("sizes"));
    case Op::reshape: {
      View view = view_of(graph, node.inputs[0]);
      return reshape(view, graph.type(id).shape) ? view : whole(graph, id);
    }
    default: return whole(graph, id);
  }
}

// Whether the kernels read such matrices: rows of neighbours, which may lie apart. What is all of a value needs no
// view.
bool is_readable(const Graph& graph, const View& view) {
  if (view.shape.elements() == graph.type(view.of).shape.elements() && is_contiguous(view)) return false;
  const int rank = view.shape.rank();
  const auto element = static_cast<std::int64_t>(size_of(graph.type(view.of).dtype));
  return rank >= 2 && view.shape.elements() > 0 && view.strides.back() == 1 &&
         view.shape[rank - 1] * element >= least_row_bytes;
}

// By node: whether all users of its value can read a view.
std::vector<bool> find_factors(const Graph& graph, const Capabilities& capabilities) {
  std::vector<bool> is_factor(graph.nodes().size(), true);
  const auto forbid = [&](ValueId id) { is_factor[static_cast<std::size_t>(id.node)] = false; };
  for (const Node& node : graph.nodes()) {
    const bool is_single = node.op->strided_inputs > 0 && node.outputs[0].shape.rank() == 2;
    const int most = is_single && !capabilities.single_products_in_place ? 0 : node.op->strided_inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (static_cast<int>(i) >= most) forbid(node.inputs[i]);
  }
  for (const Output& output : graph.outputs()) forbid(output.value);
  for (const Assignment& assignment : graph.assignments()) forbid(assignment.value);
  return is_factor;
}

}  // namespace

Graph read_factors_in_place(const Graph& graph, const PassContext& context) {
  const std::vector<bool> is_factor = find_factors(graph, context.capabilities);
  Rewriter rewriter(graph);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(graph.nodes().size()); ++i) {
    const Node& node = graph.nodes()[static_cast<std::size_t>(i)];
    const bool moves = node.op->id == Op::transpose || node.op->id == Op::slice || node.op->id == Op::reshape;
    const View view = moves && is_factor[static_cast<std::size_t>(i)] ? view_of(graph, {i, 0}) : View{{i, 0}};
    if (view.of == ValueId{i, 0} || !is_readable(graph, view)) {
      rewriter.keep(i);
      continue;
    }
    const Graph::Scope scope(rewriter.to(), node);
    const Integers sizes(view.shape.begin(), view.shape.end());
    rewriter.replace({i, 0}, rewriter.to()
                                 .add(definitions::view, {rewriter.to().value(rewriter[view.of])},
                                      {{"shape", sizes}, {"strides", view.strides}, {"offset", view.offset}})
                                 .front()
                                 .id());
  }
  return remove_dead_nodes(rewriter.finish(), context);
}

}  // namespace pando
