// SPDX-License-Identifier: Apache-2.0
// Sums over samples, and products over them, for the kernel that ends a region.
#pragma once
#include "backends/cuda/regions/device/cluster.h"

namespace pando::region {

// The sum of what each of the clusters has, in their order.
template <int clusters>
PANDO_DEVICE float sum_clusters(const float* partial, int stride) {
  float sum = 0;
#ifndef PANDO_EMULATION
#pragma unroll 16
#endif
  for (int cluster = 0; cluster < clusters; ++cluster) sum += partial[cluster * stride];
  return sum;
}

// What a product over samples takes of its first factor, a[sample][row]: a place to read it from, or the numbers.
template <int rows>
struct SampleColumn {
  static constexpr int at_once = 32;
  const float* from;
  PANDO_DEVICE float at(int sample) const { return from[sample * rows]; }
};
template <int samples>
struct LoadedColumn {
  static constexpr int at_once = samples;
  float numbers[samples];
  PANDO_DEVICE float at(int sample) const { return numbers[sample]; }
};
template <int samples, int rows>
PANDO_DEVICE LoadedColumn<samples> load_column(const float* a, int row) {
  LoadedColumn<samples> column;
  PANDO_UNROLL
  for (int sample = 0; sample < samples; ++sample) column.numbers[sample] = a[sample * rows + row];
  return column;
}

// The sum over samples of a[sample] * b[sample][column, and those after it].
template <int samples, int columns, int width, class A>
PANDO_DEVICE Vector<width> multiply_samples(const A& a, const float* b, int column) {
  Vector<width> sum = {};
#ifndef PANDO_EMULATION
#pragma unroll(A::at_once)
#endif
  for (int sample = 0; sample < samples; ++sample) {
    const float factor = a.at(sample);
    const Vector<width> v = load<width>(b + sample * columns + column);
    PANDO_UNROLL
    for (int i = 0; i < width; ++i) sum.at[i] += factor * v.at[i];
  }
  return sum;
}

}  // namespace pando::region
