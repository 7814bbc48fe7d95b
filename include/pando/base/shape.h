// SPDX-License-Identifier: Apache-2.0
// The sizes of an Array or a Value, outermost first.
#pragma once
#include <pando/base/export.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace pando {

// At most max_rank sizes, held inline. Throws Error when given more.
class PANDO_API Shape {
 public:
  static constexpr int max_rank = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const std::int64_t> sizes);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return sizes_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return sizes_[static_cast<std::size_t>(axis)]; }
  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + rank_; }
  void append(std::int64_t size);

  // The product of the sizes. Throws Error if a size is negative or the product overflows.
  std::int64_t elements() const;
  // Elements of one step along `axis`: the product of the sizes after it.
  std::int64_t stride(int axis) const;
  // The sizes [first, last).
  Shape part(int first, int last) const;

  friend PANDO_API bool operator==(const Shape& a, const Shape& b);

 private:
  std::array<std::int64_t, max_rank> sizes_ = {};
  int rank_ = 0;
};

// The sizes of both, those of `outer` first.
PANDO_API Shape joined(const Shape& outer, const Shape& inner);
// "[2, 3]".
PANDO_API std::string to_string(const Shape& shape);
// `axis` counted from the front; negative ones count from the end. Throws Error naming `what` if out of range.
PANDO_API int normalise_axis(std::int64_t axis, int rank, std::string_view what);
// The NumPy broadcast of both; throws Error naming both shapes.
PANDO_API Shape broadcast_shapes(const Shape& a, const Shape& b);

}  // namespace pando
