// SPDX-License-Identifier: Apache-2.0
// Gradients of a convolution before a max pooling: whether to visit the largest elements alone. Passes and backends ask
// the same rule.
#pragma once
#include <pando/base/shape.h>

namespace pando {

// `places`: the elements of the dense gradient for each pooled one. `gain`: the speed of its products, relative to
// those of a kernel that visits.
bool visits_for_filter(const Shape& filter, double places, double gain);
bool visits_for_images(const Shape& filter, double places, double gain);

// The pixels of images of the shape `dense`, [batch, height, width, ...], for each pixel of images of the shape
// `pooled`.
double places_of(const Shape& dense, const Shape& pooled);

}  // namespace pando
