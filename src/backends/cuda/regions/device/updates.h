// SPDX-License-Identifier: Apache-2.0
// Sums over samples, and products over them, for the kernel that ends a region.
#pragma once
#include "backends/cuda/regions/device/cluster.h"

namespace pando::region {

// The sum of what each of the clusters has, in their order.
template <int clusters>
PANDO_DEVICE float sum_clusters(const float* partial, int stride) {
  float sum = 0;
#ifndef PANDO_EMULATED
#pragma unroll 16
#endif
  for (int cluster = 0; cluster < clusters; ++cluster) sum += partial[cluster * stride];
  return sum;
}

// A product over samples, result[row][column] = the sum of a[sample][row] * b[sample][column]. A block computes a few
// rows of it, from the part of `a` that they take and all of `b`, which are in its shared memory. A thread has `width`
// columns of `thread_rows` rows.
template <int samples_, int rows_, int columns_, int width_, int thread_rows_>
struct SampleProduct {
  static constexpr int samples = samples_, rows = rows_, columns = columns_, width = width_, thread_rows = thread_rows_;
  static constexpr int groups = columns / width, block_rows = threads / groups * thread_rows;
};

// Begins to copy a block's part of `a`.
template <class P>
PANDO_DEVICE void stage_rows(const Thread& t, const float* a, int block, int offset) {
  each_own<P::samples * P::block_rows>(t, [&](int i) {
    const int sample = i / P::block_rows, row = block * P::block_rows + i % P::block_rows;
    if (row < P::rows) stage_number(t, a + sample * P::rows + row, offset + i * static_cast<int>(sizeof(float)));
  });
}

// For each run of `width` elements that a thread has, from element i on: use(i, their products, begin(i)). What begin
// loads has come when the products are there.
template <class P, class Begin, class Use>
PANDO_DEVICE void multiply_samples(const Thread& t, int a, int b, int block, Begin begin, Use use) {
  const int column = t.index % P::groups * P::width, own = t.index / P::groups * P::thread_rows;
  const int row = block * P::block_rows + own;
  if (own >= P::block_rows || row >= P::rows) return;
  decltype(begin(0)) begun[P::thread_rows];
  Vector<P::width> sums[P::thread_rows] = {};
  PANDO_UNROLL
  for (int r = 0; r < P::thread_rows; ++r) begun[r] = begin((row + r) * P::columns + column);
#ifndef PANDO_EMULATED
#pragma unroll 8
#endif
  for (int sample = 0; sample < P::samples; ++sample) {
    const Vector<P::thread_rows> factors = load<P::thread_rows>(shared<float>(t, a) + sample * P::block_rows + own);
    const Vector<P::width> v = load<P::width>(shared<float>(t, b) + sample * P::columns + column);
    PANDO_UNROLL
    for (int r = 0; r < P::thread_rows; ++r) PANDO_UNROLL
    for (int i = 0; i < P::width; ++i) sums[r].at[i] += factors.at[r] * v.at[i];
  }
  PANDO_UNROLL
  for (int r = 0; r < P::thread_rows; ++r) use((row + r) * P::columns + column, sums[r], begun[r]);
}

// Parameters, and how they move along a gradient.
template <int width>
struct Moved {
  Vector<width> from;
  float rate;
  PANDO_DEVICE Vector<width> by(const Vector<width>& gradient) const {
    Vector<width> to;
    PANDO_UNROLL
    for (int i = 0; i < width; ++i) to.at[i] = from.at[i] - rate * gradient.at[i];
    return to;
  }
};

// The same of one row, from global memory.
template <int samples, int rows, int columns, int width>
PANDO_DEVICE Vector<width> multiply_samples_in_place(const float* a, const float* b, int row, int column) {
  Vector<width> sum = {};
#ifndef PANDO_EMULATED
#pragma unroll 8
#endif
  for (int sample = 0; sample < samples; ++sample) {
    const float factor = a[sample * rows + row];
    const Vector<width> v = load<width>(b + sample * columns + column);
    PANDO_UNROLL
    for (int i = 0; i < width; ++i) sum.at[i] += factor * v.at[i];
  }
  return sum;
}

}  // namespace pando::region
