// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/tensor.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pando::test {

namespace {

// Far wider than the step of the finite differences.
constexpr double kink_distance = 0.01;

bool is_near_kink(const Domain& domain, double value) {
  return std::any_of(domain.kinks.begin(), domain.kinks.end(),
                     [&](double kink) { return std::abs(value - kink) < kink_distance; });
}

double draw_one(const Domain& domain, Generator& generator) {
  while (true) {
    const double value = domain.low + (domain.high - domain.low) * generator.uniform();
    if (!is_near_kink(domain, value)) return value;
  }
}

double draw_of_type(const Domain& domain, DType dtype, Generator& generator) {
  switch (dtype) {
    case DType::boolean: return static_cast<double>(generator.below(2));
    case DType::uint8: return static_cast<double>(generator.below(256));
    case DType::int32:
    case DType::int64: return std::round(domain.low + (domain.high - domain.low) * generator.uniform());
    default: return draw_one(domain, generator);
  }
}

std::vector<double> draw_distinct(const Domain& domain, std::int64_t count, Generator& generator) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = count - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(generator.below(i + 1))]);
  std::vector<double> values;
  for (std::int64_t place : order)
    values.push_back(domain.low +
                     (domain.high - domain.low) * (static_cast<double>(place) + 0.5) / static_cast<double>(count));
  return values;
}

}  // namespace

Tensor filled(DType dtype, const Shape& shape, double value) {
  return {dtype, shape, std::vector<double>(static_cast<std::size_t>(shape.elements()), value)};
}

Tensor to_tensor(const Array& array) {
  const Array wide = array.astype(DType::float64);
  const double* data = wide.data<double>();
  return {array.dtype(), array.shape(), std::vector<double>(data, data + array.elements())};
}

Array to_array(const Tensor& tensor) { return Array::of(tensor.values, tensor.shape).astype(tensor.dtype).clone(); }

Tensor rounded(const Tensor& tensor) { return to_tensor(to_array(tensor)); }

Index unravel(std::int64_t flat, const Shape& shape) {
  Index index = {};
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[static_cast<std::size_t>(axis)] = flat % shape[axis];
    flat /= shape[axis];
  }
  return index;
}

std::int64_t ravel(const Index& index, const Shape& shape) {
  std::int64_t flat = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) flat = flat * shape[axis] + index[static_cast<std::size_t>(axis)];
  return flat;
}

std::int64_t broadcast_place(const Shape& from, const Shape& to, std::int64_t flat) {
  const Index index = unravel(flat, to);
  std::int64_t place = 0;
  for (int axis = 0; axis < from.rank(); ++axis) {
    const auto in_to = static_cast<std::size_t>(axis + to.rank() - from.rank());
    place = place * from[axis] + (from[axis] == 1 ? 0 : index[in_to]);
  }
  return place;
}

Generator::Generator(std::string_view text, std::uint64_t number) : state_(number * 0x9E3779B97F4A7C15u) {
  for (char letter : text) state_ = (state_ ^ static_cast<unsigned char>(letter)) * 0x100000001B3u;
}

std::uint64_t Generator::next() {
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

Domain Domain::away_from(std::vector<double> places) const {
  Domain result = *this;
  result.kinks = std::move(places);
  return result;
}

Domain Domain::distinct() const {
  Domain result = *this;
  result.all_distinct = true;
  return result;
}

Tensor draw(const Domain& domain, DType dtype, const Shape& shape, Generator& generator) {
  Tensor tensor = filled(dtype, shape);
  if (!domain.listed.empty()) {
    for (std::size_t i = 0; i < tensor.values.size(); ++i) tensor.values[i] = domain.listed[i % domain.listed.size()];
  } else if (domain.all_distinct && is_floating(dtype)) {
    tensor.values = draw_distinct(domain, tensor.elements(), generator);
  } else {
    for (double& value : tensor.values) value = draw_of_type(domain, dtype, generator);
  }
  return rounded(tensor);
}

}  // namespace pando::test
