// SPDX-License-Identifier: Apache-2.0
// The kernels of totals that run along an axis. Where there are many lines, a thread computes each; otherwise a block
// does, each of its threads some neighbours at a time. The order depends on shapes alone. Sums and products of floats
// are held as float64, as on the CPU. The host compiles them too, for tests.
#pragma once
#include <type_traits>

#include "backends/cuda/launch.h"
#include "ops/cumulative.h"

namespace pando::cuda {

// Where the elements of a line are: element i, in the order of the totals, is at first + i * step.
struct RunningLine {
  std::int64_t first, step;

  __device__ RunningLine(const RunningAxis& axis, std::int64_t line)
      : first((line / axis.inner * axis.size + (axis.reverse ? axis.size - 1 : 0)) * axis.inner + line % axis.inner),
        step(axis.reverse ? -axis.inner : axis.inner) {}
};

template <class T, class Held, class Combine>
__global__ void run_in_threads(const T* x, T* out, const RunningAxis axis) {
  const Combine combine(nullptr);
  const std::int64_t lines = axis.outer * axis.inner;
  for (std::int64_t i = first_element(); i < lines; i += element_stride()) {
    const RunningLine line(axis, i);
    Held total = Held(x[line.first]);
    out[line.first] = x[line.first];
    for (std::int64_t k = 1; k < axis.size; ++k) {
      const std::int64_t place = line.first + k * line.step;
      total = combine(total, Held(x[place]));
      out[place] = static_cast<T>(total);
    }
  }
}

// The neighbours that a thread takes at a time.
inline constexpr int running_neighbours = 4;

// Each thread combines its neighbours, then the totals of the threads are combined by steps of 1, 2, 4 and so on, and
// with what came before. Elements behind the last one are left out of each.
template <class T, class Held, class Combine>
__global__ void __launch_bounds__(block_threads) run_in_blocks(const T* x, T* out, const RunningAxis axis) {
  __shared__ Held totals[block_threads];
  const Combine combine(nullptr);
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const std::int64_t lines = axis.outer * axis.inner;
  for (std::int64_t i = blockIdx.x; i < lines; i += gridDim.x) {
    const RunningLine line(axis, i);
    Held before = Held(0);
    for (std::int64_t begin = 0; begin < axis.size; begin += threads * running_neighbours) {
      const std::int64_t first = begin + thread * running_neighbours;
      const std::int64_t left = axis.size - first;
      const int count = static_cast<int>(left < 0 ? 0 : left < running_neighbours ? left : running_neighbours);
      Held own[running_neighbours] = {};
      for (int k = 0; k < count; ++k) {
        const Held value = Held(x[line.first + (first + k) * line.step]);
        own[k] = k == 0 ? value : combine(own[k - 1], value);
      }
      const std::int64_t full = (axis.size - begin + running_neighbours - 1) / running_neighbours;
      const int filled = static_cast<int>(full < threads ? full : threads);
      if (count > 0) totals[thread] = own[count - 1];
      for (int step = 1; step < filled; step *= 2) {
        __syncthreads();
        const bool joins = thread >= step && thread < filled;
        const Held joined = joins ? combine(totals[thread - step], totals[thread]) : Held(0);
        __syncthreads();
        if (joins) totals[thread] = joined;
      }
      __syncthreads();
      for (int k = 0; k < count; ++k) {
        Held total = thread > 0 ? combine(totals[thread - 1], own[k]) : own[k];
        if (begin > 0) total = combine(before, total);
        out[line.first + (first + k) * line.step] = static_cast<T>(total);
      }
      before = begin > 0 ? combine(before, totals[filled - 1]) : totals[filled - 1];
      __syncthreads();
    }
  }
}

}  // namespace pando::cuda
