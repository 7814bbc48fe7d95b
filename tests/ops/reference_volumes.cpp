// SPDX-License-Identifier: Apache-2.0
// Convolution and pooling of volumes: one loop over the places of all windows.
#include <cmath>

#include "tests/ops/reference.h"

namespace pando::test {

namespace {

Shape output_shape(const Shape& x, const VolumeGeometry& g, std::int64_t channels) {
  return {x[0], g.output_size(0, x[1]), g.output_size(1, x[2]), g.output_size(2, x[3]), channels};
}

// Calls visit with the indices of a window's place in its result, of the place within the window, and of the element
// of x that lies there; its first axes are outside x in the padding.
void for_places(const Shape& y, const VolumeGeometry& g,
                const std::function<void(const Index& at, const Index& place, const Index& from)>& visit) {
  const Shape window = {g.kernel[0], g.kernel[1], g.kernel[2]};
  for (std::int64_t i = 0, count = y.elements(); i < count; ++i)
    for (std::int64_t k = 0; k < window.elements(); ++k) {
      const Index at = unravel(i, y), place = unravel(k, window);
      Index from = at;
      for (std::size_t axis : {0, 1, 2})
        from[axis + 1] = at[axis + 1] * g.strides[axis] + place[axis] * g.dilations[axis] - g.padding[2 * axis];
      visit(at, place, from);
    }
}

bool is_inside(const Index& from, const Shape& x) {
  for (std::size_t axis : {1, 2, 3})
    if (from[axis] < 0 || from[axis] >= x[static_cast<int>(axis)]) return false;
  return true;
}

}  // namespace

std::int64_t VolumeGeometry::output_size(std::size_t axis, std::int64_t size) const {
  return Geometry{.kernel = {kernel[axis], 1},
                  .strides = {strides[axis], 1},
                  .dilations = {dilations[axis], 1},
                  .padding = {padding[2 * axis], padding[2 * axis + 1], 0, 0}}
      .output_size(0, size);
}

namespace {

// Calls visit for every product of an element of x and one of the filter, and the place it is added to.
void for_volume_products(const Shape& x, const Shape& filter, const Shape& y, const VolumeGeometry& g,
                         const std::function<void(std::int64_t x, std::int64_t filter, std::int64_t y)>& visit) {
  const std::int64_t channels = filter[3], filters_per_group = filter[4] / g.groups;
  for_places(y, g, [&](const Index& at, const Index& place, Index from) {
    if (!is_inside(from, x)) return;
    for (std::int64_t c = 0; c < channels; ++c) {
      from[4] = at[4] / filters_per_group * channels + c;
      visit(ravel(from, x), ravel({place[0], place[1], place[2], c, at[4]}, filter), ravel(at, y));
    }
  });
}

}  // namespace

Tensor conv3d(const Tensor& x, const Tensor& filter, const VolumeGeometry& geometry) {
  Tensor y = filled(x.dtype, output_shape(x.shape, geometry, filter.shape[4]));
  for_volume_products(x.shape, filter.shape, y.shape, geometry,
                      [&](std::int64_t in, std::int64_t by, std::int64_t out) { y[out] += x[in] * filter[by]; });
  return y;
}

Tensor conv3d_transpose(const Tensor& dy, const Tensor& filter, const VolumeGeometry& geometry, const Shape& x) {
  Tensor dx = filled(dy.dtype, x);
  for_volume_products(x, filter.shape, dy.shape, geometry,
                      [&](std::int64_t in, std::int64_t by, std::int64_t out) { dx[in] += dy[out] * filter[by]; });
  return dx;
}

Tensor max_pool3d(const Tensor& x, const VolumeGeometry& geometry) {
  Tensor y = filled(x.dtype, output_shape(x.shape, geometry, x.shape[4]), -INFINITY);
  for_places(y.shape, geometry, [&](const Index& at, const Index&, const Index& from) {
    if (!is_inside(from, x.shape)) return;
    const double value = x[ravel(from, x.shape)];
    double& largest = y[ravel(at, y.shape)];
    if (value > largest || std::isnan(value)) largest = value;
  });
  return y;
}

Tensor average_pool3d(const Tensor& x, const VolumeGeometry& geometry, bool count_padding) {
  Tensor y = filled(x.dtype, output_shape(x.shape, geometry, x.shape[4])), counts = y;
  for_places(y.shape, geometry, [&](const Index& at, const Index&, const Index& from) {
    const bool inside = is_inside(from, x.shape);
    if (inside) y[ravel(at, y.shape)] += x[ravel(from, x.shape)];
    if (inside || count_padding) counts[ravel(at, y.shape)] += 1;
  });
  for (std::int64_t i = 0; i < y.elements(); ++i) y[i] /= counts[i];
  return y;
}

}  // namespace pando::test
