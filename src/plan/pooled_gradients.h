// SPDX-License-Identifier: Apache-2.0
// The gradients of a convolution before a max pooling. They read the gradient of the pooling either with its zeros, or
// as values and positions, so that they visit only the largest elements. The compiler asks the backend which is faster.
#pragma once
#include <pando/base/shape.h>

namespace pando {

// What the choice depends on.
struct PooledGradientChoice {
  // Whether it is the gradient of the filter, or that of the images.
  bool of_filter = false;
  // Of the convolution's filter, and of the gradient after the pooling.
  Shape filter = {}, pooled = {};
  // A gradient that reads the zeros adds products of the whole filter for each of these pixels. They are the images, or
  // for the gradient of the filter the result of the convolution.
  Shape pixels = {};
  // Whether products may round their factors to bfloat16.
  bool mixed_bfloat16 = false;
  // Whether something else reads the gradient with its zeros, which is then made in either case.
  bool keeps_zeros = false;
};

// Whether to visit only the largest elements is faster than to multiply the zeros too, by products that are `gain`
// times as fast.
bool visits_maxima(const PooledGradientChoice& choice, double gain);
// The answer of a backend whose products are equally fast in both cases.
bool prefers_fewer_products(const PooledGradientChoice& choice);

}  // namespace pando
