// SPDX-License-Identifier: Apache-2.0
// Batch and layer normalisation and their gradients. A null output is not wanted.
#pragma once
#include <cstdint>

namespace pando::cpu {

// Channels [first, last) of x[samples, places, channels]; pointers are to the whole tensors. Both ends are multiples of
// 16 or the number of channels.
struct ChannelBlock {
  std::int64_t samples, places, channels, first, last;
  // Room for 4 doubles per channel, and for 16 more channels.
  double* scratch;
};

// Statistics over samples and places, each sample counting with its weight; null weights are 1.
template <class T>
struct BatchNormArguments {
  const T *x, *scale, *offset, *weights;
  T *y, *mean, *variance, *inverse_deviation;
  double epsilon;
};

template <class T>
struct BatchNormGradientArguments {
  const T *dy, *x, *scale, *mean, *inverse_deviation, *weights;
  T *dx, *dscale, *doffset;
};

template <class T>
struct LayerNormArguments {
  const T *x, *scale, *offset;
  T *y, *mean, *inverse_deviation;
  double epsilon;
};

template <class T>
struct LayerNormGradientArguments {
  const T *dy, *x, *scale, *mean, *inverse_deviation;
  T *dx, *dscale, *doffset;
};

// Matrices are [rows, columns]; rows [first, last) are computed.
template <class T>
struct NormRoutinesOf {
  void (*batch_norm)(const BatchNormArguments<T>& arguments, const ChannelBlock& block);
  void (*batch_norm_gradient)(const BatchNormGradientArguments<T>& arguments, const ChannelBlock& block);
  void (*layer_norm)(const LayerNormArguments<T>& arguments, std::int64_t columns, std::int64_t first,
                     std::int64_t last);
  // dx of rows [first, last).
  void (*layer_norm_gradient_rows)(const LayerNormGradientArguments<T>& arguments, std::int64_t columns,
                                   std::int64_t first, std::int64_t last);
  // dscale and doffset of columns [first, last), multiples of 16 or the end.
  void (*layer_norm_gradient_columns)(const LayerNormGradientArguments<T>& arguments, std::int64_t rows,
                                      std::int64_t columns, std::int64_t first, std::int64_t last);
};

struct NormRoutines {
  NormRoutinesOf<float> float32;
  NormRoutinesOf<double> float64;
};

}  // namespace pando::cpu
