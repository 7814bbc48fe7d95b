// SPDX-License-Identifier: Apache-2.0
// Elements chosen along an axis by indices, read and written.
#include "backends/cuda/kernels/element.h"
#include "backends/cuda/kernels/indexed.cuh"
#include "ops/scalar.h"

namespace pando::cuda {

namespace {

IndexedAxis indexed_axis(const KernelCall& call) {
  return {call.inputs[0].type.shape, call.inputs[1].type.shape, static_cast<int>(call.attributes.integer("axis"))};
}

// Copies x, sorts the indices and calls apply(sorted, grid, operands, stream).
template <class Apply>
std::unique_ptr<Kernel> scattering(const KernelCall& call, Apply apply) {
  const IndexedAxis axis = indexed_axis(call);
  const IndexRows rows(axis);
  const RowSort<std::uint32_t> sort{rows.outer * rows.inner, axis.count};
  const std::size_t bytes = call.outputs[0].type.bytes();
  const std::int64_t elements = call.inputs[2].type.shape.elements();
  return make_kernel(
      [=](const Operands& operands, cudaStream_t stream) {
        std::byte* const out = operands.outputs[0];
        if (out == nullptr || bytes == 0) return;
        if (out != operands.inputs[0])
          check(cudaMemcpyAsync(out, operands.inputs[0], bytes, cudaMemcpyDeviceToDevice, stream), "scatter");
        if (elements == 0) return;
        const auto* sorted =
            sort.launch(ReadIndices{input<std::int32_t>(operands, 1), axis, rows}, operands.scratch, stream);
        apply(sorted, operands, axis, rows, elements, stream);
        check_launch("scatter");
      },
      elements == 0 ? 0 : sort.scratch_bytes());
}

std::unique_ptr<Kernel> setting(const KernelCall& call) {
  return with_element(size_of(call.outputs[0].type.dtype), [&]<class E>(E) {
    return scattering(call, [](const Placed<std::uint32_t>* sorted, const Operands& operands, const IndexedAxis& axis,
                               const IndexRows& rows, std::int64_t elements, cudaStream_t stream) {
      set_updates<E><<<blocks_for(elements), block_threads, 0, stream>>>(sorted, input<E>(operands, 2),
                                                                         output<E>(operands, 0), axis, rows, elements);
    });
  });
}

template <class T, class Combine>
std::unique_ptr<Kernel> combining_of(const KernelCall& call) {
  return scattering(call, [](const Placed<std::uint32_t>* sorted, const Operands& operands, const IndexedAxis& axis,
                             const IndexRows& rows, std::int64_t elements, cudaStream_t stream) {
    apply_updates<T, Combine><<<blocks_for(elements), block_threads, 0, stream>>>(
        sorted, input<T>(operands, 2), output<T>(operands, 0), axis, rows, elements);
  });
}

template <template <class> class Combine>
std::unique_ptr<Kernel> combining(const KernelCall& call) {
  switch (const DType dtype = call.outputs[0].type.dtype) {
    case DType::float32: return combining_of<float, Combine<float>>(call);
    case DType::float64: return combining_of<double, Combine<double>>(call);
    case DType::int32: return combining_of<std::int32_t, Combine<std::int32_t>>(call);
    case DType::int64: return combining_of<std::int64_t, Combine<std::int64_t>>(call);
    default: throw InternalError("the GPU combines no elements of " + std::string(name(dtype)));
  }
}

}  // namespace

std::unique_ptr<Kernel> factories::take_along(const KernelCall& call, const KernelContext&) {
  const IndexedAxis axis = indexed_axis(call);
  const std::int64_t elements = call.outputs[0].type.shape.elements();
  return with_element(size_of(call.outputs[0].type.dtype), [=]<class E>(E) {
    return make_kernel([=](const Operands& operands, cudaStream_t stream) {
      if (operands.outputs[0] == nullptr || elements == 0) return;
      take_elements<E><<<blocks_for(elements), block_threads, 0, stream>>>(
          input<E>(operands, 0), input<std::int32_t>(operands, 1), output<E>(operands, 0), axis, elements);
      check_launch("take_along");
    });
  });
}

std::unique_ptr<Kernel> factories::scatter(const KernelCall& call, const KernelContext&) {
  switch (scatter_mode_named(call.attributes.text("mode"))) {
    case ops::ScatterMode::set: return setting(call);
    case ops::ScatterMode::add: return combining<scalar::add>(call);
    case ops::ScatterMode::multiply: return combining<scalar::multiply>(call);
    case ops::ScatterMode::maximum: return combining<scalar::maximum>(call);
    case ops::ScatterMode::minimum: return combining<scalar::minimum>(call);
  }
  throw InternalError("scatter has another mode");
}

}  // namespace pando::cuda
