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

// The sum over samples of a[sample][row] * b[sample][column, and those after it].
template <int samples, int rows, int columns, int width>
PANDO_DEVICE Vector<width> multiply_samples(const float* a, const float* b, int row, int column) {
  Vector<width> sum = {};
#ifndef PANDO_EMULATED
#pragma unroll 32
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
