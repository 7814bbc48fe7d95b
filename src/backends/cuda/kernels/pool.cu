// SPDX-License-Identifier: Apache-2.0
// Pooling and its gradients. A thread makes one element: of the result from its window, of a gradient from all windows
// that it lies in, so that windows may overlap and no two threads write to one place.
#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/windows.h"
#include "backends/cuda/launch.h"

namespace pando::cuda {

namespace {

template <class T, class P>
__global__ void pool_largest(const Pooling pooling, const T* x, T* values, P* positions) {
  for (std::int64_t i = first_element(); i < pooling.results(); i += element_stride()) {
    const PooledPlace place = pooling.result(static_cast<std::int32_t>(i));
    const WindowRange rows = pooling.window(0, place.row), columns = pooling.window(1, place.column);
    const T* const image = x + place.image * pooling.image_elements() + place.channel;
    T largest = T(0);
    std::int32_t position = -1;
    for (std::int32_t row = rows.first; row < rows.last; ++row)
      for (std::int32_t column = columns.first; column < columns.last; ++column) {
        const T candidate = image[(row * pooling.sizes[1] + column) * pooling.channels];
        // Not "greater": a NaN is neither, and must win.
        if (position >= 0 && (candidate <= largest || largest != largest)) continue;
        largest = candidate;
        position = (row - rows.start) * pooling.kernel[1] + (column - columns.start);
      }
    if (values != nullptr) values[i] = largest;
    if (positions != nullptr) positions[i] = static_cast<P>(position);
  }
}

template <class T, class P>
__global__ void spread_largest(const Pooling pooling, const T* dy, const P* positions, T* dx) {
  for (std::int64_t i = first_element(); i < pooling.elements(); i += element_stride()) {
    const PooledPlace place = pooling.element(static_cast<std::int32_t>(i));
    const WindowRange rows = pooling.windows_over(0, place.row), columns = pooling.windows_over(1, place.column);
    const std::int32_t first = place.image * pooling.result_elements() + place.channel;
    T sum = T(0);
    for (std::int32_t row = rows.first; row < rows.last; ++row)
      for (std::int32_t column = columns.first; column < columns.last; ++column) {
        const std::int32_t in_row = place.row - pooling.start(0, row),
                           in_column = place.column - pooling.start(1, column);
        const std::int32_t at = first + (row * pooling.pooled[1] + column) * pooling.channels;
        if (positions[at] == in_row * pooling.kernel[1] + in_column) sum += dy[at];
      }
    dx[i] = sum;
  }
}

template <class T>
__global__ void pool_mean(const Pooling pooling, const bool count_padding, const T* x, T* y) {
  for (std::int64_t i = first_element(); i < pooling.results(); i += element_stride()) {
    const PooledPlace place = pooling.result(static_cast<std::int32_t>(i));
    const WindowRange rows = pooling.window(0, place.row), columns = pooling.window(1, place.column);
    const T* const image = x + place.image * pooling.image_elements() + place.channel;
    T sum = T(0);
    for (std::int32_t row = rows.first; row < rows.last; ++row)
      for (std::int32_t column = columns.first; column < columns.last; ++column)
        sum += image[(row * pooling.sizes[1] + column) * pooling.channels];
    y[i] = sum / static_cast<T>(pooling.places(place.row, place.column, count_padding));
  }
}

template <class T>
__global__ void spread_mean(const Pooling pooling, const bool count_padding, const T* dy, T* dx) {
  for (std::int64_t i = first_element(); i < pooling.elements(); i += element_stride()) {
    const PooledPlace place = pooling.element(static_cast<std::int32_t>(i));
    const WindowRange rows = pooling.windows_over(0, place.row), columns = pooling.windows_over(1, place.column);
    const std::int32_t first = place.image * pooling.result_elements() + place.channel;
    T sum = T(0);
    for (std::int32_t row = rows.first; row < rows.last; ++row)
      for (std::int32_t column = columns.first; column < columns.last; ++column)
        sum += dy[first + (row * pooling.pooled[1] + column) * pooling.channels] /
               static_cast<T>(pooling.places(row, column, count_padding));
    dx[i] = sum;
  }
}

template <class T, class P>
std::unique_ptr<Kernel> make_max_pool(const KernelCall& call) {
  const Pooling pooling = pooling_geometry(call, call.inputs[0].type.shape, call.outputs[0].type.shape);
  return make_kernel([pooling](const Operands& operands, cudaStream_t stream) {
    pool_largest<T, P><<<blocks_for(pooling.results()), block_threads, 0, stream>>>(
        pooling, input<T>(operands, 0), output<T>(operands, 0), output<P>(operands, 1));
    check_launch("max_pool");
  });
}

template <class T, class P>
std::unique_ptr<Kernel> make_max_pool_gradient(const KernelCall& call) {
  const Pooling pooling = pooling_geometry(call, call.outputs[0].type.shape, call.inputs[0].type.shape);
  return make_kernel([pooling](const Operands& operands, cudaStream_t stream) {
    if (operands.outputs[0] == nullptr) return;
    spread_largest<T, P><<<blocks_for(pooling.elements()), block_threads, 0, stream>>>(
        pooling, input<T>(operands, 0), input<P>(operands, 1), output<T>(operands, 0));
    check_launch("max_pool_gradient");
  });
}

template <class T>
std::unique_ptr<Kernel> make_average_pool(const KernelCall& call) {
  const Pooling pooling = pooling_geometry(call, call.inputs[0].type.shape, call.outputs[0].type.shape);
  return make_kernel(
      [pooling, count_padding = call.attributes.flag("count_padding")](const Operands& operands, cudaStream_t stream) {
        if (operands.outputs[0] == nullptr) return;
        pool_mean<T><<<blocks_for(pooling.results()), block_threads, 0, stream>>>(
            pooling, count_padding, input<T>(operands, 0), output<T>(operands, 0));
        check_launch("average_pool");
      });
}

template <class T>
std::unique_ptr<Kernel> make_average_pool_gradient(const KernelCall& call) {
  const Pooling pooling = pooling_geometry(call, call.outputs[0].type.shape, call.inputs[0].type.shape);
  return make_kernel(
      [pooling, count_padding = call.attributes.flag("count_padding")](const Operands& operands, cudaStream_t stream) {
        if (operands.outputs[0] == nullptr) return;
        spread_mean<T><<<blocks_for(pooling.elements()), block_threads, 0, stream>>>(
            pooling, count_padding, input<T>(operands, 0), output<T>(operands, 0));
        check_launch("average_pool_gradient");
      });
}

bool pools_doubles(const KernelCall& call) { return call.inputs[0].type.dtype == DType::float64; }

}  // namespace

std::unique_ptr<Kernel> factories::max_pool(const KernelCall& call, const KernelContext&) {
  const bool wide = call.outputs[1].type.dtype == DType::int32;
  if (pools_doubles(call))
    return wide ? make_max_pool<double, std::int32_t>(call) : make_max_pool<double, std::uint8_t>(call);
  return wide ? make_max_pool<float, std::int32_t>(call) : make_max_pool<float, std::uint8_t>(call);
}

std::unique_ptr<Kernel> factories::max_pool_gradient(const KernelCall& call, const KernelContext&) {
  const bool wide = call.inputs[1].type.dtype == DType::int32;
  if (pools_doubles(call))
    return wide ? make_max_pool_gradient<double, std::int32_t>(call)
                : make_max_pool_gradient<double, std::uint8_t>(call);
  return wide ? make_max_pool_gradient<float, std::int32_t>(call) : make_max_pool_gradient<float, std::uint8_t>(call);
}

std::unique_ptr<Kernel> factories::average_pool(const KernelCall& call, const KernelContext&) {
  return pools_doubles(call) ? make_average_pool<double>(call) : make_average_pool<float>(call);
}

std::unique_ptr<Kernel> factories::average_pool_gradient(const KernelCall& call, const KernelContext&) {
  return pools_doubles(call) ? make_average_pool_gradient<double>(call) : make_average_pool_gradient<float>(call);
}

}  // namespace pando::cuda
