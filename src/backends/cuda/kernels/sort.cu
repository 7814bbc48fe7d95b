// SPDX-License-Identifier: Apache-2.0
// Rows in order.
#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/sorting.cuh"

namespace pando::cuda {

namespace {

template <class T>
struct ReadKeys {
  const T* x;
  std::int64_t length;
  bool descending;

  __device__ typename SortKey<T>::Bits operator()(std::int64_t row, std::int64_t index) const {
    return SortKey<T>::of(x[row * length + index], descending);
  }
};

// What the sorted items stand for; each output may be null.
template <class T, class Bits>
__global__ void write_sorted(const Placed<Bits>* sorted, const T* x, T* values, std::int32_t* indices,
                             const std::int64_t elements, const std::int64_t length) {
  for (std::int64_t i = first_element(); i < elements; i += element_stride()) {
    const std::uint32_t place = sorted[i].place;
    if (values != nullptr) values[i] = x[i / length * length + place];
    if (indices != nullptr) indices[i] = static_cast<std::int32_t>(place);
  }
}

template <class T>
std::unique_ptr<Kernel> sort_of(const KernelCall& call) {
  using Bits = typename SortKey<T>::Bits;
  const Shape& shape = call.inputs[0].type.shape;
  const RowSort<Bits> sort{shape.part(0, shape.rank() - 1).elements(), shape[shape.rank() - 1]};
  const bool descending = call.attributes.flag("descending");
  return make_kernel(
      [=, elements = shape.elements()](const Operands& operands, cudaStream_t stream) {
        T* const values = output<T>(operands, 0);
        auto* const indices = output<std::int32_t>(operands, 1);
        if (elements == 0 || (values == nullptr && indices == nullptr)) return;
        const T* const x = input<T>(operands, 0);
        const auto* sorted = sort.launch(ReadKeys<T>{x, sort.length, descending}, operands.scratch, stream);
        write_sorted<<<blocks_for(elements), block_threads, 0, stream>>>(sorted, x, values, indices, elements,
                                                                         sort.length);
        check_launch("sort");
      },
      sort.scratch_bytes());
}

}  // namespace

std::unique_ptr<Kernel> factories::sort(const KernelCall& call, const KernelContext&) {
  switch (const DType dtype = call.inputs[0].type.dtype) {
    case DType::float32: return sort_of<float>(call);
    case DType::float64: return sort_of<double>(call);
    case DType::int32: return sort_of<std::int32_t>(call);
    case DType::int64: return sort_of<std::int64_t>(call);
    case DType::uint8:
    case DType::boolean: return sort_of<std::uint8_t>(call);
    default: throw InternalError("the GPU does not sort " + std::string(name(dtype)));
  }
}

}  // namespace pando::cuda
