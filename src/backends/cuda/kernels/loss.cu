// SPDX-License-Identifier: Apache-2.0
// Softmax and the losses based on it: a warp has a row. A lane writes only elements that no other lane reads, and reads
// them before, so that results may go where the logits are.
#include <limits>

#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/warp.cuh"
#include "backends/cuda/launch.h"
#include "ops/scalar.h"

namespace pando::cuda {

namespace {

namespace math = scalar::math;

struct Rows {
  std::int64_t count, columns;
};

Rows rows_of(const Shape& shape) {
  const int last = shape.rank() - 1;
  return {shape.part(0, last).elements(), shape[last]};
}

template <class T>
__device__ T largest_logit(const T* x, std::int64_t columns) {
  T largest = T(-__builtin_inf());
  for (std::int64_t i = lane(); i < columns; i += warp_lanes) largest = larger_of(largest, x[i]);
  return warp_largest(largest);
}

template <class T>
__device__ T sum_of_exp(const T* x, std::int64_t columns, T largest) {
  return static_cast<T>(warp_sum_of(columns, [=](std::int64_t i) { return math::exp(x[i] - largest); }));
}

// Calls f(row) for the rows of this warp.
template <class F>
__device__ void for_rows(const Rows& rows, F f) {
  const std::int64_t stride = element_stride() / warp_lanes;
  for (std::int64_t row = first_element() / warp_lanes; row < rows.count; row += stride) f(row);
}

template <class T>
__global__ void softmax_rows(const Rows rows, const T* x, T* y) {
  for_rows(rows, [=](std::int64_t row) {
    const T* const from = x + row * rows.columns;
    const T largest = largest_logit(from, rows.columns);
    const T factor = T(1) / sum_of_exp(from, rows.columns, largest);
    for (std::int64_t i = lane(); i < rows.columns; i += warp_lanes)
      y[row * rows.columns + i] = math::exp(from[i] - largest) * factor;
  });
}

template <class T>
__global__ void softmax_gradient_rows(const Rows rows, const T* dy, const T* y, T* dx) {
  for_rows(rows, [=](std::int64_t row) {
    const T *const g = dy + row * rows.columns, *const probabilities = y + row * rows.columns;
    const T sum = static_cast<T>(warp_sum_of(rows.columns, [=](std::int64_t i) { return g[i] * probabilities[i]; }));
    for (std::int64_t i = lane(); i < rows.columns; i += warp_lanes)
      dx[row * rows.columns + i] = probabilities[i] * (g[i] - sum);
  });
}

template <class T>
__global__ void log_softmax_rows(const Rows rows, const T* x, T* y) {
  for_rows(rows, [=](std::int64_t row) {
    const T* const from = x + row * rows.columns;
    const T largest = largest_logit(from, rows.columns);
    const T log_sum = math::log(sum_of_exp(from, rows.columns, largest));
    for (std::int64_t i = lane(); i < rows.columns; i += warp_lanes)
      y[row * rows.columns + i] = (from[i] - largest) - log_sum;
  });
}

template <class T>
__global__ void cross_entropy_rows(const Rows rows, const T* logits, const T* targets, T* loss, T* delta) {
  for_rows(rows, [=](std::int64_t row) {
    const T *const x = logits + row * rows.columns, *const target = targets + row * rows.columns;
    const T largest = largest_logit(x, rows.columns);
    const T mass = static_cast<T>(warp_sum_of(rows.columns, [=](std::int64_t i) { return target[i]; }));
    const T chosen =
        static_cast<T>(warp_sum_of(rows.columns, [=](std::int64_t i) { return target[i] * (x[i] - largest); }));
    const T sum = sum_of_exp(x, rows.columns, largest);
    if (loss != nullptr && lane() == 0) loss[row] = math::log(sum) * mass - chosen;
    if (delta == nullptr) return;
    const T factor = mass / sum;
    for (std::int64_t i = lane(); i < rows.columns; i += warp_lanes)
      delta[row * rows.columns + i] = math::exp(x[i] - largest) * factor - target[i];
  });
}

template <class T>
__global__ void sparse_cross_entropy_rows(const Rows rows, const std::int64_t ignored, const T* logits,
                                          const std::int32_t* labels, T* loss, T* delta) {
  for_rows(rows, [=](std::int64_t row) {
    const T* const x = logits + row * rows.columns;
    const std::int32_t label = labels[row];
    const bool counts = label != ignored, valid = label >= 0 && label < rows.columns;
    const T nan = T(__builtin_nan(""));
    const T largest = largest_logit(x, rows.columns);
    const T chosen = valid ? x[label] - largest : nan;
    const T sum = sum_of_exp(x, rows.columns, largest);
    if (loss != nullptr && lane() == 0) loss[row] = counts ? math::log(sum) - chosen : T(0);
    if (delta == nullptr) return;
    // All lanes have read x[label] before one of them writes there.
    __syncwarp();
    const T factor = valid ? T(1) / sum : nan;
    for (std::int64_t i = lane(); i < rows.columns; i += warp_lanes) {
      const T probability = math::exp(x[i] - largest) * factor;
      const T difference = i == label ? probability - T(1) : probability;
      delta[row * rows.columns + i] = counts ? difference : T(0);
    }
  });
}

unsigned warps_for(const Rows& rows) { return blocks_for(rows.count * warp_lanes); }

template <class T>
std::unique_ptr<Kernel> make_softmax(const KernelCall& call, void (*kernel)(Rows, const T*, T*), const char* op) {
  const Rows rows = rows_of(call.inputs[0].type.shape);
  return make_kernel([=](const Operands& operands, cudaStream_t stream) {
    if (operands.outputs[0] == nullptr) return;
    kernel<<<warps_for(rows), block_threads, 0, stream>>>(rows, input<T>(operands, 0), output<T>(operands, 0));
    check_launch(op);
  });
}

template <class T>
std::unique_ptr<Kernel> make_softmax_gradient(const KernelCall& call) {
  const Rows rows = rows_of(call.inputs[0].type.shape);
  return make_kernel([rows](const Operands& operands, cudaStream_t stream) {
    if (operands.outputs[0] == nullptr) return;
    softmax_gradient_rows<T><<<warps_for(rows), block_threads, 0, stream>>>(
        rows, input<T>(operands, 0), input<T>(operands, 1), output<T>(operands, 0));
    check_launch("softmax_gradient");
  });
}

template <class T>
std::unique_ptr<Kernel> make_cross_entropy(const KernelCall& call) {
  const Rows rows = rows_of(call.inputs[0].type.shape);
  return make_kernel([rows](const Operands& operands, cudaStream_t stream) {
    cross_entropy_rows<T><<<warps_for(rows), block_threads, 0, stream>>>(
        rows, input<T>(operands, 0), input<T>(operands, 1), output<T>(operands, 0), output<T>(operands, 1));
    check_launch("softmax_cross_entropy");
  });
}

template <class T>
std::unique_ptr<Kernel> make_sparse_cross_entropy(const KernelCall& call) {
  const Rows rows = rows_of(call.inputs[0].type.shape);
  const Integers& labels = call.attributes.integers("ignored");
  // Labels are int32, so none is this large.
  const std::int64_t ignored = labels.empty() ? std::numeric_limits<std::int64_t>::max() : labels[0];
  return make_kernel([rows, ignored](const Operands& operands, cudaStream_t stream) {
    sparse_cross_entropy_rows<T><<<warps_for(rows), block_threads, 0, stream>>>(
        rows, ignored, input<T>(operands, 0), input<std::int32_t>(operands, 1), output<T>(operands, 0),
        output<T>(operands, 1));
    check_launch("sparse_softmax_cross_entropy");
  });
}

bool has_double_logits(const KernelCall& call) { return call.inputs[0].type.dtype == DType::float64; }

}  // namespace

std::unique_ptr<Kernel> factories::softmax(const KernelCall& call, const KernelContext&) {
  return has_double_logits(call) ? make_softmax<double>(call, softmax_rows<double>, "softmax")
                                 : make_softmax<float>(call, softmax_rows<float>, "softmax");
}

std::unique_ptr<Kernel> factories::softmax_gradient(const KernelCall& call, const KernelContext&) {
  return has_double_logits(call) ? make_softmax_gradient<double>(call) : make_softmax_gradient<float>(call);
}

std::unique_ptr<Kernel> factories::log_softmax(const KernelCall& call, const KernelContext&) {
  return has_double_logits(call) ? make_softmax<double>(call, log_softmax_rows<double>, "log_softmax")
                                 : make_softmax<float>(call, log_softmax_rows<float>, "log_softmax");
}

std::unique_ptr<Kernel> factories::softmax_cross_entropy(const KernelCall& call, const KernelContext&) {
  return has_double_logits(call) ? make_cross_entropy<double>(call) : make_cross_entropy<float>(call);
}

std::unique_ptr<Kernel> factories::sparse_softmax_cross_entropy(const KernelCall& call, const KernelContext&) {
  return has_double_logits(call) ? make_sparse_cross_entropy<double>(call) : make_sparse_cross_entropy<float>(call);
}

}  // namespace pando::cuda
