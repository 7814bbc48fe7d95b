// SPDX-License-Identifier: Apache-2.0
// Rows of keys, sorted with their places: a block sorts one run of items or several short rows, and longer rows are
// merged from such runs by passes over scratch memory. The host compiles the kernels too, for tests.
#pragma once
#include <cstddef>
#include <utility>

#include "backends/cuda/kernels/sorting.h"
#include "backends/cuda/launch.h"

namespace pando::cuda {

// Sorts runs of `run` items. `read(row, index)` is the key of an item. Items that complete the last run of a row come
// after all others.
template <class Bits, class Read>
__global__ void __launch_bounds__(block_threads)
    sort_runs(const Read read, Placed<Bits>* out, const std::int64_t rows, const std::int64_t length, const int run) {
  __shared__ Bits keys[items_per_block];
  __shared__ std::uint32_t places[items_per_block];
  const std::int64_t runs_of_row = (length + run - 1) / run;
  const std::int64_t runs = rows * runs_of_row, runs_of_block = items_per_block / run;
  for (std::int64_t first = blockIdx.x * runs_of_block; first < runs; first += gridDim.x * runs_of_block) {
    const auto row_of = [&](int item) { return (first + item / run) / runs_of_row; };
    const auto index_of = [&](int item) { return (first + item / run) % runs_of_row * run + item % run; };
    for (int item = static_cast<int>(threadIdx.x); item < items_per_block; item += static_cast<int>(blockDim.x)) {
      const std::int64_t row = row_of(item), index = index_of(item);
      const bool is_there = row < rows && index < length;
      keys[item] = is_there ? read(row, index) : ~Bits(0);
      places[item] = is_there ? static_cast<std::uint32_t>(index) : ~0U;
    }
    for (int sequence = 2; sequence <= run; sequence *= 2)
      for (int distance = sequence / 2; distance > 0; distance /= 2) {
        __syncthreads();
        for (int number = static_cast<int>(threadIdx.x); number < items_per_block / 2;
             number += static_cast<int>(blockDim.x)) {
          const Exchange exchange = exchange_of(number, distance, sequence, run);
          const Placed<Bits> a{keys[exchange.first], places[exchange.first]};
          const Placed<Bits> b{keys[exchange.second], places[exchange.second]};
          if (b.is_before(a) != exchange.ascends) continue;
          keys[exchange.first] = b.key;
          places[exchange.first] = b.place;
          keys[exchange.second] = a.key;
          places[exchange.second] = a.place;
        }
      }
    __syncthreads();
    for (int item = static_cast<int>(threadIdx.x); item < items_per_block; item += static_cast<int>(blockDim.x)) {
      const std::int64_t row = row_of(item), index = index_of(item);
      if (row < rows && index < length) out[row * length + index] = {keys[item], places[item]};
    }
    __syncthreads();
  }
}

template <class Bits>
__global__ void merge_runs(const Placed<Bits>* from, Placed<Bits>* to, const std::int64_t rows,
                           const std::int64_t length, const std::int64_t run) {
  for (std::int64_t i = first_element(); i < rows * length; i += element_stride()) {
    const std::int64_t begin = i / length * length;
    to[begin + merged_place(from + begin, length, run, i - begin)] = from[i];
  }
}

// The sort of some rows, which uses scratch memory.
template <class Bits>
struct RowSort {
  std::int64_t rows = 0, length = 0;

  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(rows * length) * sizeof(Placed<Bits>) * (length > items_per_block ? 2 : 1);
  }

#ifdef __CUDACC__
  // The sorted items, row by row, in the scratch memory. There is at least one.
  template <class Read>
  const Placed<Bits>* launch(const Read& read, std::byte* scratch, cudaStream_t stream) const {
    auto* sorted = reinterpret_cast<Placed<Bits>*>(scratch);
    auto* other = sorted + rows * length;
    const int run = run_length(length);
    const std::int64_t runs = rows * ((length + run - 1) / run);
    sort_runs<<<blocks_for(runs, items_per_block / run), block_threads, 0, stream>>>(read, sorted, rows, length, run);
    check_launch("to sort");
    for (std::int64_t merged = run; merged < length; merged *= 2) {
      merge_runs<<<blocks_for(rows * length), block_threads, 0, stream>>>(sorted, other, rows, length, merged);
      check_launch("to merge what is sorted");
      std::swap(sorted, other);
    }
    return sorted;
  }
#endif
};

}  // namespace pando::cuda
