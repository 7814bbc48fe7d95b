// SPDX-License-Identifier: Apache-2.0
// Rows of a table by their index, and one-hot rows: for elements of any type, by their size. In the gradient one block
// owns each row of the table that is named, and adds to it in the order of the indices, so that sums have one order.
#include <cstring>

#include "backends/cuda/kernels/element.h"
#include "backends/cuda/launch.h"
#include "base/bfloat16.h"

namespace pando::cuda {

namespace {

// The bits of `value` in the low bytes.
template <class T>
std::uint64_t bits_as(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

std::uint64_t bits_of(DType dtype, double value) {
  switch (dtype) {
    case DType::float32: return bits_as(static_cast<float>(value));
    case DType::float64: return bits_as(value);
    case DType::bfloat16: return bits_as(to_bfloat16(static_cast<float>(value)));
    case DType::int32: return bits_as(static_cast<std::int32_t>(value));
    case DType::int64: return bits_as(static_cast<std::int64_t>(value));
    case DType::uint8: return bits_as(static_cast<std::uint8_t>(value));
    case DType::boolean: return bits_as(value != 0);
  }
  return 0;
}

// An index out of range gives zeros; the executor finds it, and ends the run with an error.
template <class E>
__global__ void gather_rows(const E* table, const std::int32_t* indices, E* out, const std::int64_t rows,
                            const std::int64_t columns, const std::int64_t elements) {
  for (std::int64_t i = first_element(); i < elements; i += element_stride()) {
    const std::int64_t row = indices[i / columns];
    out[i] = row >= 0 && row < rows ? table[row * columns + i % columns] : E(0);
  }
}

template <class E>
__global__ void write_one_hot(const std::int32_t* indices, E* out, const std::int64_t depth,
                              const std::int64_t elements, const E one) {
  for (std::int64_t i = first_element(); i < elements; i += element_stride())
    out[i] = indices[i / depth] == i % depth ? one : E(0);
}

// Whether one of indices [first, last) is `row`; the same answer in all threads of the block.
__device__ bool is_named(const std::int32_t* indices, std::int64_t first, std::int64_t last, std::int32_t row) {
  for (std::int64_t begin = first; begin < last; begin += blockDim.x) {
    const std::int64_t i = begin + threadIdx.x;
    if (__syncthreads_or(i < last && indices[i] == row)) return true;
  }
  return false;
}

// Adds all gradients of one row, in order. `found` has a bit for each thread of the block.
template <class T>
__device__ void add_gradients(const T* gradients, const std::int32_t* indices, std::int64_t first, std::int64_t count,
                              std::int64_t columns, std::int32_t row, T* out, unsigned* found) {
  for (std::int64_t begin = first; begin < count; begin += blockDim.x) {
    const std::int64_t i = begin + threadIdx.x;
    const unsigned matches = __ballot_sync(0xffffffffu, i < count && indices[i] == row);
    if (threadIdx.x % 32 == 0) found[threadIdx.x / 32] = matches;
    __syncthreads();
    for (unsigned word = 0; word < blockDim.x / 32; ++word)
      for (unsigned bits = found[word]; bits != 0; bits &= bits - 1) {
        const T* const from =
            gradients + (begin + word * 32 + static_cast<unsigned>(__ffs(static_cast<int>(bits)) - 1)) * columns;
        for (std::int64_t column = threadIdx.x; column < columns; column += blockDim.x)
          out[row * columns + column] += from[column];
      }
    __syncthreads();
  }
}

// `out` is zero. The block that meets the first index of a row adds all that have it.
template <class T>
__global__ void add_rows(const T* gradients, const std::int32_t* indices, T* out, const std::int64_t rows,
                         const std::int64_t columns, const std::int64_t count) {
  __shared__ unsigned found[block_threads / 32];
  for (std::int64_t first = blockIdx.x; first < count; first += gridDim.x) {
    const std::int32_t row = indices[first];
    if (row < 0 || row >= rows || is_named(indices, 0, first, row)) continue;
    add_gradients(gradients, indices, first, count, columns, row, out, found);
  }
}

template <class T>
std::unique_ptr<Kernel> make_gather_gradient(const KernelCall& call) {
  const Shape& out = call.outputs[0].type.shape;
  const std::int64_t rows = out[0], columns = out.stride(0), count = call.inputs[1].type.shape.elements();
  return make_kernel([=](const Operands& operands, cudaStream_t stream) {
    if (operands.outputs[0] == nullptr || rows * columns == 0) return;
    check(cudaMemsetAsync(operands.outputs[0], 0, static_cast<std::size_t>(rows * columns) * sizeof(T), stream),
          "gather_gradient");
    if (count == 0) return;
    add_rows<T><<<blocks_for(count, 1), block_threads, 0, stream>>>(
        input<T>(operands, 0), input<std::int32_t>(operands, 1), output<T>(operands, 0), rows, columns, count);
    check_launch("gather_gradient");
  });
}

}  // namespace

std::unique_ptr<Kernel> factories::gather(const KernelCall& call, const KernelContext&) {
  const Shape& table = call.inputs[0].type.shape;
  const DType dtype = call.outputs[0].type.dtype;
  const std::int64_t rows = table[0], columns = table.stride(0), elements = call.outputs[0].type.shape.elements();
  return with_element(size_of(dtype), [=]<class E>(E) {
    return make_kernel([=](const Operands& operands, cudaStream_t stream) {
      if (operands.outputs[0] == nullptr || elements == 0) return;
      gather_rows<E><<<blocks_for(elements), block_threads, 0, stream>>>(
          input<E>(operands, 0), input<std::int32_t>(operands, 1), output<E>(operands, 0), rows, columns, elements);
      check_launch("gather");
    });
  });
}

std::unique_ptr<Kernel> factories::gather_gradient(const KernelCall& call, const KernelContext&) {
  return call.outputs[0].type.dtype == DType::float64 ? make_gather_gradient<double>(call)
                                                      : make_gather_gradient<float>(call);
}

std::unique_ptr<Kernel> factories::one_hot(const KernelCall& call, const KernelContext&) {
  const DType dtype = call.outputs[0].type.dtype;
  const std::int64_t depth = call.attributes.integer("depth"), elements = call.outputs[0].type.shape.elements();
  return with_element(size_of(dtype), [=]<class E>(E) {
    return make_kernel([=, one = static_cast<E>(bits_of(dtype, 1.0))](const Operands& operands, cudaStream_t stream) {
      if (operands.outputs[0] == nullptr || elements == 0) return;
      write_one_hot<E><<<blocks_for(elements), block_threads, 0, stream>>>(
          input<std::int32_t>(operands, 0), output<E>(operands, 0), depth, elements, one);
      check_launch("one_hot");
    });
  });
}

}  // namespace pando::cuda
