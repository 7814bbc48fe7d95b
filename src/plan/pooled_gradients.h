// SPDX-License-Identifier: Apache-2.0
// Gradients of a convolution before a max pooling: whether to visit the largest elements alone. Passes and backends ask
// the same rule.
#pragma once
#include <pando/base/shape.h>

namespace pando {

// `places` is how many elements the dense gradient has for each pooled one, `gain` how many times as fast its products
// are as those of a kernel that visits.
bool visits_for_filter(const Shape& filter, double places, double gain);
bool visits_for_images(const Shape& filter, double places, double gain);

// How many pixels images of the shape `dense`, [batch, height, width, ...], have for each pixel of `pooled` ones.
double places_of(const Shape& dense, const Shape& pooled);

}  // namespace pando
