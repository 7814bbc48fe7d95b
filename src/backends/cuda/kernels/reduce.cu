// SPDX-License-Identifier: Apache-2.0
// Reductions. A block takes some outputs with some threads for each; what those found is combined as a tree in shared
// memory. Where there are few outputs, several blocks share one, and a second kernel combines their parts in order: the
// order depends on shapes alone, so results are the same from run to run. float32 is summed in float64, as on the CPU.
#include <algorithm>

#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/strides.h"
#include "backends/cuda/launch.h"

namespace pando::cuda {

namespace {

constexpr int warp_threads = 32;

// Sums of integers are those of unsigned ones, which wrap.
template <class T>
struct HeldSum {
  using type = double;
};
template <>
struct HeldSum<std::int32_t> {
  using type = std::uint32_t;
};
template <>
struct HeldSum<std::int64_t> {
  using type = unsigned long long;
};

template <class T>
struct Sum {
  using Held = typename HeldSum<T>::type;
  static __device__ Held none() { return Held(0); }
  static __device__ Held of(T value) { return static_cast<Held>(value); }
  static __device__ Held join(Held a, Held b) { return a + b; }
  // The mean of no numbers is NaN; integers have no mean.
  static __device__ T result(Held total, [[maybe_unused]] double divisor) {
    if constexpr (std::is_same_v<Held, double>) return static_cast<T>(total / divisor);
    else return static_cast<T>(total);
  }
};

template <class T>
struct Max {
  using Held = T;
  static __device__ Held none() {
    if constexpr (std::is_same_v<T, std::int32_t>) return -0x7fffffff - 1;
    else if constexpr (std::is_same_v<T, std::int64_t>) return -0x7fffffffffffffff - 1;
    else return static_cast<T>(-__builtin_huge_val());
  }
  static __device__ Held of(T value) { return value; }
  // NaN wins.
  static __device__ Held join(Held a, Held b) { return (a < b) | (b != b) ? b : a; }
  static __device__ T result(Held total, double) { return total; }
};

struct Reduction {
  // Where each output begins in the input, and the distances of what is reduced for it.
  TwoWalks kept, reduced;
  std::int64_t outputs = 0, terms = 0;
  double divisor = 1;
  // Threads of a block for one output, and blocks that share an output.
  int lanes = 1;
  std::int64_t parts = 1, terms_per_part = 0;
  // Neighbouring threads take neighbouring terms, otherwise neighbouring outputs.
  bool by_rows = false;
};

template <class T, class Of>
__global__ void __launch_bounds__(block_threads)
    reduce(T* out, typename Of::Held* parts, const T* in, const __grid_constant__ Reduction r) {
  using Held = typename Of::Held;
  __shared__ Held found[block_threads];
  const int thread = static_cast<int>(threadIdx.x), outputs_per_block = block_threads / r.lanes;
  const int lane = r.by_rows ? thread % r.lanes : thread / outputs_per_block;
  const int own = r.by_rows ? thread / r.lanes : thread % outputs_per_block;
  const std::int64_t output = static_cast<std::int64_t>(blockIdx.x) * outputs_per_block + own;
  Held total = Of::none();
  if (output < r.outputs) {
    const T* from = in + r.kept.at(output).first;
    const std::int64_t begin = blockIdx.y * r.terms_per_part;
    const std::int64_t end = min(begin + r.terms_per_part, r.terms);
#pragma unroll 4
    for (std::int64_t term = begin + lane; term < end; term += r.lanes)
      total = Of::join(total, Of::of(from[r.reduced.at(term).first]));
  }
  // In shared memory the lanes of an output are neighbours.
  const int place = own * r.lanes + lane;
  found[place] = total;
  __syncthreads();
  for (int half = r.lanes / 2; half > 0; half /= 2) {
    if (lane < half) found[place] = Of::join(found[place], found[place + half]);
    __syncthreads();
  }
  if (lane != 0 || output >= r.outputs) return;
  if (r.parts == 1) out[output] = Of::result(found[place], r.divisor);
  else parts[blockIdx.y * r.outputs + output] = found[place];
}

// A warp for each output.
template <class T, class Of>
__global__ void __launch_bounds__(block_threads)
    combine(T* out, const typename Of::Held* parts, const __grid_constant__ Reduction r) {
  const std::int64_t output = first_element() / warp_threads;
  const int lane = static_cast<int>(threadIdx.x) % warp_threads;
  if (output >= r.outputs) return;
  typename Of::Held total = Of::none();
  for (std::int64_t part = lane; part < r.parts; part += warp_threads)
    total = Of::join(total, parts[part * r.outputs + output]);
  for (int half = warp_threads / 2; half > 0; half /= 2)
    total = Of::join(total, __shfl_down_sync(~0U, total, static_cast<unsigned>(half)));
  if (lane == 0) out[output] = Of::result(total, r.divisor);
}

int power_of_two_up_to(std::int64_t most) {
  int value = 1;
  while (value * 2 <= most) value *= 2;
  return value;
}

// The work of `r` divided over the threads of a GPU.
void divide(Reduction& r, int multiprocessors) {
  r.lanes = r.by_rows ? power_of_two_up_to(std::clamp<std::int64_t>(r.terms, 1, block_threads)) : 8;
  if (!r.by_rows && r.outputs < 32) r.lanes = block_threads / power_of_two_up_to(std::max<std::int64_t>(r.outputs, 1));
  const std::int64_t outputs_per_block = block_threads / r.lanes;
  const std::int64_t blocks = (r.outputs + outputs_per_block - 1) / outputs_per_block;
  // Each part has at least 16 terms a lane.
  const std::int64_t wanted = std::max<std::int64_t>(1, 2 * multiprocessors / std::max<std::int64_t>(blocks, 1));
  const std::int64_t most = std::max<std::int64_t>(1, r.terms / (16 * r.lanes));
  r.parts = std::min({wanted, most, std::int64_t{256}});
  r.terms_per_part = (r.terms + r.parts - 1) / r.parts;
}

Reduction arrange(const KernelCall& call, bool is_mean, const KernelContext& context) {
  const Shape& shape = call.inputs[0].type.shape;
  const Integers& reduced = call.attributes.integers("axes");
  Axes kept_axes, reduced_axes;
  bool by_rows = false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool is_kept = std::find(reduced.begin(), reduced.end(), axis) == reduced.end();
    (is_kept ? kept_axes : reduced_axes).push_back({shape[axis], {shape.stride(axis)}});
    if (shape[axis] != 1) by_rows = !is_kept;
  }
  Reduction r{.kept = TwoWalks(collapse(kept_axes)),
              .reduced = TwoWalks(collapse(reduced_axes)),
              .outputs = count_positions(kept_axes),
              .terms = count_positions(reduced_axes),
              .by_rows = by_rows};
  if (is_mean) r.divisor = static_cast<double>(r.terms);
  divide(r, context.multiprocessors);
  return r;
}

template <class T, class Of>
std::unique_ptr<Kernel> reduction_of(const Reduction& r) {
  using Held = typename Of::Held;
  const std::size_t scratch = r.parts == 1 ? 0 : sizeof(Held) * static_cast<std::size_t>(r.parts * r.outputs);
  return make_kernel(
      [r](const Operands& operands, cudaStream_t stream) {
        T* const out = output<T>(operands, 0);
        if (out == nullptr || r.outputs == 0) return;
        auto* const parts = reinterpret_cast<Held*>(operands.scratch);
        const std::int64_t outputs_per_block = block_threads / r.lanes;
        const dim3 grid(static_cast<unsigned>((r.outputs + outputs_per_block - 1) / outputs_per_block),
                        static_cast<unsigned>(r.parts));
        reduce<T, Of><<<grid, block_threads, 0, stream>>>(out, parts, input<T>(operands, 0), r);
        const auto warps = static_cast<unsigned>((r.outputs * warp_threads + block_threads - 1) / block_threads);
        if (r.parts > 1) combine<T, Of><<<warps, block_threads, 0, stream>>>(out, parts, r);
        check_launch("to launch a reduction");
      },
      scratch);
}

template <template <class> class Of>
std::unique_ptr<Kernel> reduction(const KernelCall& call, bool is_mean, const KernelContext& context) {
  const Reduction r = arrange(call, is_mean, context);
  switch (const DType dtype = call.inputs[0].type.dtype) {
    case DType::float32: return reduction_of<float, Of<float>>(r);
    case DType::float64: return reduction_of<double, Of<double>>(r);
    case DType::int32: return reduction_of<std::int32_t, Of<std::int32_t>>(r);
    case DType::int64: return reduction_of<std::int64_t, Of<std::int64_t>>(r);
    default: throw InternalError("the GPU has no reduction of " + std::string(name(dtype)));
  }
}

// The index of the first largest of `size` values `inner` apart; NaN is largest, and once it is found nothing is
// larger.
template <class T>
__global__ void find_largest(std::int32_t* out, const T* in, std::int64_t outputs, std::int64_t size,
                             std::int64_t inner) {
  for (std::int64_t i = first_element(); i < outputs; i += element_stride()) {
    const T* from = in + i / inner * size * inner + i % inner;
    T best = from[0];
    std::int64_t place = 0;
    for (std::int64_t k = 1; k < size && best == best; ++k) {
      const T value = from[k * inner];
      if (!(value > best) && value == value) continue;
      best = value;
      place = k;
    }
    out[i] = static_cast<std::int32_t>(place);
  }
}

template <class T>
std::unique_ptr<Kernel> argmax_of(const KernelCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  const auto axis = static_cast<int>(call.attributes.integer("axis"));
  const std::int64_t size = shape[axis], inner = shape.stride(axis);
  return make_kernel(
      [=, outputs = call.outputs[0].type.shape.elements()](const Operands& operands, cudaStream_t stream) {
        if (operands.outputs[0] == nullptr || size == 0 || outputs == 0) return;
        find_largest<<<blocks_for(outputs), block_threads, 0, stream>>>(output<std::int32_t>(operands, 0),
                                                                        input<T>(operands, 0), outputs, size, inner);
        check_launch("to launch argmax");
      });
}

}  // namespace

namespace factories {

std::unique_ptr<Kernel> reduce_sum(const KernelCall& call, const KernelContext& context) {
  return reduction<Sum>(call, false, context);
}
std::unique_ptr<Kernel> reduce_mean(const KernelCall& call, const KernelContext& context) {
  return reduction<Sum>(call, true, context);
}
std::unique_ptr<Kernel> reduce_max(const KernelCall& call, const KernelContext& context) {
  return reduction<Max>(call, false, context);
}

std::unique_ptr<Kernel> argmax(const KernelCall& call, const KernelContext&) {
  switch (const DType dtype = call.inputs[0].type.dtype) {
    case DType::float32: return argmax_of<float>(call);
    case DType::float64: return argmax_of<double>(call);
    case DType::int32: return argmax_of<std::int32_t>(call);
    case DType::int64: return argmax_of<std::int64_t>(call);
    default: throw InternalError("the GPU has no argmax of " + std::string(name(dtype)));
  }
}

}  // namespace factories

}  // namespace pando::cuda
