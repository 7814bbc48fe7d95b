// SPDX-License-Identifier: Apache-2.0
// Tensor: what references compute with, and the deterministic values that tests feed.
#pragma once
#include <pando/base/array.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace pando::test {

// Elements of any type as doubles; int64 values of tests stay far below 2^53.
struct Tensor {
  DType dtype = DType::float64;
  Shape shape;
  std::vector<double> values;

  double& operator[](std::int64_t i) { return values[static_cast<std::size_t>(i)]; }
  double operator[](std::int64_t i) const { return values[static_cast<std::size_t>(i)]; }
  std::int64_t elements() const { return static_cast<std::int64_t>(values.size()); }
};

Tensor filled(DType dtype, const Shape& shape, double value = 0);
Tensor to_tensor(const Array& array);
// Rounds to the tensor's type.
Array to_array(const Tensor& tensor);
// The values as the tensor's type can hold them.
Tensor rounded(const Tensor& tensor);

using Index = std::array<std::int64_t, Shape::max_rank>;
Index unravel(std::int64_t flat, const Shape& shape);
std::int64_t ravel(const Index& index, const Shape& shape);
// The place in `from` that broadcasting to `to` puts at the place `flat`.
std::int64_t broadcast_place(const Shape& from, const Shape& to, std::int64_t flat);

// SplitMix64: small, and the same on every machine.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed) {}
  Generator(std::string_view text, std::uint64_t number);

  std::uint64_t next();
  // In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(limit));
  }

 private:
  std::uint64_t state_;
};

// Where the values of an input come from.
struct Domain {
  double low = -2, high = 2;
  // Finite differences across a kink are wrong: values keep away from these.
  std::vector<double> kinks = {};
  // All values differ, by as much as possible: no ties for what looks for the largest.
  bool all_distinct = false;
  // Taken in turn instead, if not empty.
  std::vector<double> listed = {};

  Domain away_from(std::vector<double> places) const;
  Domain distinct() const;
};
inline Domain domain(double low, double high) { return {low, high}; }
inline Domain listed(std::vector<double> values) { return {.listed = std::move(values)}; }

// Integers for integer types, 0 and 1 for bool, and what the type can hold for the rest.
Tensor draw(const Domain& domain, DType dtype, const Shape& shape, Generator& generator);

}  // namespace pando::test
