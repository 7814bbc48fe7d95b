// SPDX-License-Identifier: Apache-2.0
// Convolution and pooling: one loop over all that touches, and what is added where.
#include <cmath>

#include "tests/ops/reference.h"

namespace pando::test {

namespace {

struct Places {
  std::int64_t x, filter, y;
};

// Calls visit for every product of an element of x and one of the filter, and the place it is added to.
void for_products(const Shape& x, const Shape& filter, const Shape& y, const Geometry& g,
                  const std::function<void(const Places&)>& visit) {
  const std::int64_t channels = filter[2], filters_per_group = filter[3] / g.groups;
  for (std::int64_t i = 0, count = y.elements(); i < count; ++i) {
    const Index at = unravel(i, y);
    const std::int64_t group = at[3] / filters_per_group;
    for (std::int64_t kh = 0; kh < filter[0]; ++kh) {
      const std::int64_t row = at[1] * g.strides[0] + kh * g.dilations[0] - g.padding[0];
      for (std::int64_t kw = 0; kw < filter[1]; ++kw) {
        const std::int64_t column = at[2] * g.strides[1] + kw * g.dilations[1] - g.padding[2];
        if (row < 0 || row >= x[1] || column < 0 || column >= x[2]) continue;
        for (std::int64_t c = 0; c < channels; ++c)
          visit({ravel({at[0], row, column, group * channels + c}, x), ravel({kh, kw, c, at[3]}, filter), i});
      }
    }
  }
}

struct WindowPlace {
  // -1 in the padding.
  std::int64_t x;
  std::int64_t position;
  std::int64_t y;
};

void for_windows(const Shape& x, const Shape& y, const Geometry& g,
                 const std::function<void(const WindowPlace&)>& visit) {
  for (std::int64_t i = 0, count = y.elements(); i < count; ++i) {
    const Index at = unravel(i, y);
    for (std::int64_t position = 0; position < g.kernel[0] * g.kernel[1]; ++position) {
      const std::int64_t row = at[1] * g.strides[0] + position / g.kernel[1] - g.padding[0];
      const std::int64_t column = at[2] * g.strides[1] + position % g.kernel[1] - g.padding[2];
      const bool inside = row >= 0 && row < x[1] && column >= 0 && column < x[2];
      visit({inside ? ravel({at[0], row, column, at[3]}, x) : -1, position, i});
    }
  }
}

Shape output_shape(const Shape& x, const Geometry& g, std::int64_t channels) {
  return {x[0], g.output_size(0, x[1]), g.output_size(1, x[2]), channels};
}

// What each window is divided by.
Tensor divisors(const Shape& x, const Shape& y, const Geometry& g, bool count_padding) {
  Tensor result = filled(DType::float64, y);
  for_windows(x, y, g, [&](const WindowPlace& place) { result[place.y] += place.x >= 0 || count_padding ? 1 : 0; });
  return result;
}

}  // namespace

std::int64_t Geometry::output_size(std::size_t axis, std::int64_t size) const {
  std::int64_t count = 0;
  const std::int64_t reach = (kernel[axis] - 1) * dilations[axis] + 1;
  for (std::int64_t at = 0; at + reach <= size + padding[2 * axis] + padding[2 * axis + 1]; at += strides[axis])
    ++count;
  return count;
}

Geometry Geometry::same(std::int64_t height, std::int64_t width) const {
  Geometry result = *this;
  const std::array<std::int64_t, 2> sizes = {height, width};
  for (std::size_t axis : {0, 1}) {
    const auto places =
        static_cast<std::int64_t>(std::ceil(static_cast<double>(sizes[axis]) / static_cast<double>(strides[axis])));
    std::int64_t& before = result.padding[2 * axis];
    std::int64_t& after = result.padding[2 * axis + 1];
    while (result.output_size(axis, sizes[axis]) < places) ++(after > before ? before : after);
  }
  return result;
}

Tensor conv2d(const Tensor& x, const Tensor& filter, const Geometry& geometry) {
  Tensor y = filled(x.dtype, output_shape(x.shape, geometry, filter.shape[3]));
  for_products(x.shape, filter.shape, y.shape, geometry,
               [&](const Places& at) { y[at.y] += x[at.x] * filter[at.filter]; });
  return y;
}

Tensor conv2d_input_gradient(const Tensor& dy, const Tensor& filter, const Geometry& geometry, const Shape& x) {
  Tensor dx = filled(dy.dtype, x);
  for_products(x, filter.shape, dy.shape, geometry,
               [&](const Places& at) { dx[at.x] += dy[at.y] * filter[at.filter]; });
  return dx;
}

Tensor conv2d_weight_gradient(const Tensor& x, const Tensor& dy, const Geometry& geometry, const Shape& filter) {
  Tensor result = filled(x.dtype, filter);
  for_products(x.shape, filter, dy.shape, geometry, [&](const Places& at) { result[at.filter] += x[at.x] * dy[at.y]; });
  return result;
}

Tensors max_pool(const Tensor& x, const Geometry& geometry) {
  Tensor y = filled(x.dtype, output_shape(x.shape, geometry, x.shape[3]), -INFINITY);
  const std::int64_t area = geometry.kernel[0] * geometry.kernel[1];
  Tensor positions = filled(area <= 255 ? DType::uint8 : DType::int32, y.shape);
  for_windows(x.shape, y.shape, geometry, [&](const WindowPlace& place) {
    if (place.x < 0 || !(x[place.x] > y[place.y])) return;
    y[place.y] = x[place.x];
    positions[place.y] = static_cast<double>(place.position);
  });
  return {y, positions};
}

Tensor max_pool_gradient(const Tensor& dy, const Tensor& positions, const Geometry& geometry, const Shape& x) {
  Tensor dx = filled(dy.dtype, x);
  for_windows(x, dy.shape, geometry, [&](const WindowPlace& place) {
    if (place.x >= 0 && positions[place.y] == static_cast<double>(place.position)) dx[place.x] += dy[place.y];
  });
  return dx;
}

Tensor average_pool(const Tensor& x, const Geometry& geometry, bool count_padding) {
  Tensor y = filled(x.dtype, output_shape(x.shape, geometry, x.shape[3]));
  const Tensor counts = divisors(x.shape, y.shape, geometry, count_padding);
  for_windows(x.shape, y.shape, geometry, [&](const WindowPlace& place) {
    if (place.x >= 0) y[place.y] += x[place.x] / counts[place.y];
  });
  return y;
}

Tensor average_pool_gradient(const Tensor& dy, const Geometry& geometry, bool count_padding, const Shape& x) {
  Tensor dx = filled(dy.dtype, x);
  const Tensor counts = divisors(x, dy.shape, geometry, count_padding);
  for_windows(x, dy.shape, geometry, [&](const WindowPlace& place) {
    if (place.x >= 0) dx[place.x] += dy[place.y] / counts[place.y];
  });
  return dx;
}

}  // namespace pando::test
