// SPDX-License-Identifier: Apache-2.0
// Softmax and the losses based on it, row by row.
#include <limits>

#include "backends/cpu/kernels.h"

namespace pando::cpu {

namespace {

struct Rows {
  std::int64_t count, columns;
};

Rows rows_of(const Shape& shape) {
  const int last = shape.rank() - 1;
  return {shape.part(0, last).elements(), shape[last]};
}

template <class T>
T* pointer_or_null(const Tile& tile, const Operand& operand) {
  return operand.buffer < 0 ? nullptr : pointer<T>(tile, operand);
}

// All operands have one shape.
template <class T, class Routine, class... More>
std::unique_ptr<Kernel> rowwise(Routine routine, const Operand& y, const Operand& x, const More&... more) {
  const Rows rows = rows_of(x.type.shape);
  return make_kernel([=](const Tile& tile) {
    const Range range = share(tile, rows.count);
    if (y.buffer < 0) return;
    routine(pointer<T>(tile, y), pointer<const T>(tile, x), pointer<const T>(tile, more)..., rows.columns, range.begin,
            range.end);
  });
}

// Target is int32 for labels; `ignored` is the label that does not count, where there are labels.
template <class T, class Target, class Routine, class... Ignored>
std::unique_ptr<Kernel> cross_entropy(const KernelCall& call, Routine routine, Ignored... ignored) {
  const Operand logits = call.inputs[0], targets = call.inputs[1], loss = call.outputs[0], delta = call.outputs[1];
  const Rows rows = rows_of(logits.type.shape);
  return make_kernel([=](const Tile& tile) {
    const Range range = share(tile, rows.count);
    if (loss.buffer < 0 && delta.buffer < 0) return;
    routine(pointer_or_null<T>(tile, loss), pointer_or_null<T>(tile, delta), pointer<const T>(tile, logits),
            pointer<const Target>(tile, targets), ignored..., rows.columns, range.begin, range.end);
  });
}

}  // namespace

namespace factories {

std::unique_ptr<Kernel> softmax(const KernelCall& call, const Routines& routines) {
  return for_dtype(call.inputs[0].type.dtype, routines.loss, [&]<class T>(const LossRoutinesOf<T>& of) {
    return rowwise<T>(of.softmax, call.outputs[0], call.inputs[0]);
  });
}

std::unique_ptr<Kernel> softmax_gradient(const KernelCall& call, const Routines& routines) {
  return for_dtype(call.inputs[0].type.dtype, routines.loss, [&]<class T>(const LossRoutinesOf<T>& of) {
    return rowwise<T>(of.softmax_gradient, call.outputs[0], call.inputs[0], call.inputs[1]);
  });
}

std::unique_ptr<Kernel> log_softmax(const KernelCall& call, const Routines& routines) {
  return for_dtype(call.inputs[0].type.dtype, routines.loss, [&]<class T>(const LossRoutinesOf<T>& of) {
    return rowwise<T>(of.log_softmax, call.outputs[0], call.inputs[0]);
  });
}

std::unique_ptr<Kernel> softmax_cross_entropy(const KernelCall& call, const Routines& routines) {
  return for_dtype(call.inputs[0].type.dtype, routines.loss,
                   [&]<class T>(const LossRoutinesOf<T>& of) { return cross_entropy<T, T>(call, of.cross_entropy); });
}

std::unique_ptr<Kernel> sparse_softmax_cross_entropy(const KernelCall& call, const Routines& routines) {
  return for_dtype(call.inputs[0].type.dtype, routines.loss, [&]<class T>(const LossRoutinesOf<T>& of) {
    const Integers& ignored = call.attributes.integers("ignored");
    // Labels are int32, so none is this large.
    const std::int64_t label = ignored.empty() ? std::numeric_limits<std::int64_t>::max() : ignored[0];
    return cross_entropy<T, std::int32_t>(call, of.sparse_cross_entropy, label);
  });
}

}  // namespace factories

}  // namespace pando::cpu
