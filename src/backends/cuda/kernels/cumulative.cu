// SPDX-License-Identifier: Apache-2.0
// Totals that run along an axis.
#include "backends/cuda/kernels/cumulative.cuh"

#include "backends/cuda/kernel.h"
#include "ops/scalar.h"

namespace pando::cuda {

namespace {

// With so many lines, or lines as short as this, each has a thread.
constexpr std::int64_t enough_lines = 1 << 14, short_line = 64;

template <class T, class Held, class Combine>
std::unique_ptr<Kernel> running_of(const KernelCall& call) {
  const RunningAxis axis(call.inputs[0].type.shape, call.attributes);
  return make_kernel([axis](const Operands& operands, cudaStream_t stream) {
    const std::int64_t lines = axis.lines();
    if (operands.outputs[0] == nullptr || lines * axis.size == 0) return;
    if (lines >= enough_lines || axis.size <= short_line)
      run_in_threads<T, Held, Combine>
          <<<blocks_for(lines), block_threads, 0, stream>>>(input<T>(operands, 0), output<T>(operands, 0), axis);
    else
      run_in_blocks<T, Held, Combine>
          <<<blocks_for(lines, 1), block_threads, 0, stream>>>(input<T>(operands, 0), output<T>(operands, 0), axis);
    check_launch("cumulative");
  });
}

template <template <class> class Combine, bool is_wide>
std::unique_ptr<Kernel> running(const KernelCall& call) {
  using FloatTotal = std::conditional_t<is_wide, double, float>;
  switch (const DType dtype = call.inputs[0].type.dtype) {
    case DType::float32: return running_of<float, FloatTotal, Combine<FloatTotal>>(call);
    case DType::float64: return running_of<double, double, Combine<double>>(call);
    case DType::int32: return running_of<std::int32_t, std::int32_t, Combine<std::int32_t>>(call);
    case DType::int64: return running_of<std::int64_t, std::int64_t, Combine<std::int64_t>>(call);
    default: throw InternalError("the GPU has no running totals of " + std::string(name(dtype)));
  }
}

}  // namespace

std::unique_ptr<Kernel> factories::cumulative(const KernelCall& call, const KernelContext&) {
  switch (cumulative_mode_named(call.attributes.text("mode"))) {
    case ops::CumulativeMode::add: return running<scalar::add, true>(call);
    case ops::CumulativeMode::multiply: return running<scalar::multiply, true>(call);
    case ops::CumulativeMode::maximum: return running<scalar::maximum, false>(call);
    case ops::CumulativeMode::minimum: return running<scalar::minimum, false>(call);
  }
  throw InternalError("cumulative has another mode");
}

}  // namespace pando::cuda
