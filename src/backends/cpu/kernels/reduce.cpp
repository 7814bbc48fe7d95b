// SPDX-License-Identifier: Apache-2.0
// Reductions: the outputs in blocks along one kept axis, each block a loop over matrices of the input.
#include <algorithm>

#include "backends/cpu/kernels.h"
#include "backends/cpu/kernels/axes.h"

namespace pando::cpu {

namespace {

// Tiles are given blocks of this many outputs; a tile takes up to `widest` at once.
constexpr std::int64_t outputs_per_block = 16, widest = 256;

struct Reduction {
  ReduceRoutine routine = {};
  // The axis along which outputs are computed together (output stride 1), and the innermost reduced one: they make the
  // matrices. One of them is contiguous in the input unless both are of size 1.
  Axis kept = {1, {0, 1}}, reduced = {1, {0, 0}};
  bool by_rows = false;
  // The others.
  Axes outer_kept = {}, outer_reduced = {};
  double divisor = 1;
  std::int64_t element_bytes = 4;
};

// Walk 0 is over the input, walk 1 over the output, where reduced axes have the stride 0.
Axes reduction_axes(const KernelCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  const Integers& reduced = call.attributes.integers("axes");
  Axes axes;
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const bool kept = std::find(reduced.begin(), reduced.end(), axis) == reduced.end();
    axes.insert(axes.begin(), {shape[axis], {shape.stride(axis), kept ? stride : 0}});
    if (kept) stride *= shape[axis];
  }
  return collapse(axes);
}

Reduction arrange(const KernelCall& call, const ReduceRoutine& routine, bool is_mean) {
  Reduction result = {.routine = routine};
  const Axes axes = reduction_axes(call);
  for (const Axis& axis : axes) (axis.strides[1] == 0 ? result.outer_reduced : result.outer_kept).push_back(axis);
  result.by_rows = !axes.empty() && axes.back().strides[1] == 0;
  if (is_mean) result.divisor = static_cast<double>(count_positions(result.outer_reduced));
  const auto take_last = [](Axes& from, Axis& to) {
    if (from.empty()) return;
    to = from.back();
    from.pop_back();
  };
  take_last(result.outer_kept, result.kept);
  take_last(result.outer_reduced, result.reduced);
  result.element_bytes = static_cast<std::int64_t>(size_of(call.inputs[0].type.dtype));
  return result;
}

// Outputs [first, first + count) along the kept axis; `in` and `out` point to the first of them.
void reduce_block(const Reduction& r, std::byte* out, const std::byte* in, std::int64_t count) {
  alignas(64) std::byte totals[widest * total_bytes];
  r.routine.clear(totals, count);
  const std::int64_t repeats = count_positions(r.outer_reduced);
  Walk walk(r.outer_reduced, 0);
  for (std::int64_t i = 0; i < repeats; ++i, walk.next()) {
    const std::byte* matrix = in + walk.offset(0) * r.element_bytes;
    if (r.by_rows) r.routine.rows(totals, matrix, count, r.reduced.size, r.kept.strides[0]);
    else r.routine.columns(totals, matrix, r.reduced.size, count, r.reduced.strides[0]);
  }
  r.routine.store(out, totals, count, r.divisor);
}

void reduce(const Reduction& r, const Tile& tile, std::byte* out, const std::byte* in) {
  const std::int64_t blocks = (r.kept.size + outputs_per_block - 1) / outputs_per_block;
  const Range range = share(tile, count_positions(r.outer_kept) * blocks);
  for (std::int64_t unit = range.begin; unit < range.end;) {
    const Walk walk(r.outer_kept, unit / blocks);
    const std::int64_t first = unit % blocks;
    const std::int64_t last = std::min({first + widest / outputs_per_block, blocks, first + range.end - unit});
    const std::int64_t begin = first * outputs_per_block, end = std::min(last * outputs_per_block, r.kept.size);
    reduce_block(r, out + (walk.offset(1) + begin) * r.element_bytes,
                 in + (walk.offset(0) + begin * r.kept.strides[0]) * r.element_bytes, end - begin);
    unit += last - first;
  }
}

template <class Routine>
const Routine& of_dtype(const NumericRoutines<Routine>& routines, DType dtype) {
  switch (dtype) {
    case DType::float32: return routines.float32;
    case DType::float64: return routines.float64;
    case DType::int32: return routines.int32;
    default: throw InternalError("the CPU has no reduction of " + std::string(name(dtype)));
  }
}

std::unique_ptr<Kernel> reduction(const KernelCall& call, const NumericRoutines<ReduceRoutine>& routines,
                                  bool is_mean) {
  const Operand in = call.inputs[0], out = call.outputs[0];
  return make_kernel([in, out, r = arrange(call, of_dtype(routines, in.type.dtype), is_mean)](const Tile& tile) {
    if (out.buffer >= 0) reduce(r, tile, pointer<std::byte>(tile, out), pointer<std::byte>(tile, in));
  });
}

}  // namespace

namespace factories {

std::unique_ptr<Kernel> reduce_sum(const KernelCall& call, const Routines& routines) {
  return reduction(call, routines.reduce.sum, false);
}
std::unique_ptr<Kernel> reduce_mean(const KernelCall& call, const Routines& routines) {
  return reduction(call, routines.reduce.sum, true);
}
std::unique_ptr<Kernel> reduce_max(const KernelCall& call, const Routines& routines) {
  return reduction(call, routines.reduce.max, false);
}

std::unique_ptr<Kernel> argmax(const KernelCall& call, const Routines& routines) {
  const Operand in = call.inputs[0], out = call.outputs[0];
  const Shape& shape = in.type.shape;
  const auto axis = static_cast<int>(call.attributes.integer("axis"));
  const std::int64_t size = shape[axis], inner = shape.stride(axis), outputs = out.type.shape.elements();
  const auto bytes = static_cast<std::int64_t>(size_of(in.type.dtype));
  const ArgmaxRoutine routine = of_dtype(routines.reduce.argmax, in.type.dtype);
  return make_kernel([=](const Tile& tile) {
    if (out.buffer < 0 || size == 0) return;
    const Range range = share(tile, outputs);
    std::int32_t* to = pointer<std::int32_t>(tile, out);
    const std::byte* from = pointer<std::byte>(tile, in);
    if (inner == 1) {
      routine(to + range.begin, from + range.begin * size * bytes, range.end - range.begin, size, size, 1);
      return;
    }
    for (std::int64_t i = range.begin; i < range.end;) {
      const std::int64_t outer = i / inner, place = i % inner, count = std::min(inner - place, range.end - i);
      routine(to + i, from + (outer * size * inner + place) * bytes, count, 1, size, inner);
      i += count;
    }
  });
}

}  // namespace factories

}  // namespace pando::cpu
