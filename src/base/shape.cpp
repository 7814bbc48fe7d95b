// SPDX-License-Identifier: Apache-2.0
#include <pando/base/shape.h>
#include <pando/base/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace pando {

Shape::Shape(std::span<const std::int64_t> sizes) {
  for (std::int64_t size : sizes) append(size);
}

void Shape::append(std::int64_t size) {
  if (rank_ == max_rank) throw Error(fmt::format("a shape has at most {} axes; reshape to fewer", max_rank));
  sizes_[static_cast<std::size_t>(rank_++)] = size;
}

std::int64_t Shape::elements() const {
  // A zero makes the product zero whatever the other sizes are, so it is looked for before overflow.
  const bool empty = std::find(begin(), end(), 0) != end();
  std::int64_t product = 1;
  for (std::int64_t size : *this) {
    if (size < 0) throw Error(fmt::format("the shape {} has a negative size", to_string(*this)));
    if (!empty && __builtin_mul_overflow(product, size, &product))
      throw Error(fmt::format("the shape {} has more elements than fit in 64 bits", to_string(*this)));
  }
  return empty ? 0 : product;
}

// Kernels call this often.
std::int64_t Shape::stride(int axis) const {
  std::int64_t product = 1;
  for (const std::int64_t* size = begin() + axis + 1; size != end(); ++size)
    if (__builtin_mul_overflow(product, *size, &product)) return part(axis + 1, rank_).elements();
  return product;
}

Shape Shape::part(int first, int last) const {
  return Shape(std::span(begin() + first, static_cast<std::size_t>(last - first)));
}

bool operator==(const Shape& a, const Shape& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

Shape joined(const Shape& outer, const Shape& inner) {
  Shape result = outer;
  for (std::int64_t size : inner) result.append(size);
  return result;
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", ")); }

int normalise_axis(std::int64_t axis, int rank, std::string_view what) {
  if (axis < -rank || axis >= rank)
    throw Error(fmt::format("{}: axis {} is out of range for {} {}; it must be in [{}, {}]", what, axis, rank,
                            rank == 1 ? "axis" : "axes", -rank, rank - 1));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape result;
  for (int axis = 0; axis < rank; ++axis) {
    const int in_a = axis - (rank - a.rank()), in_b = axis - (rank - b.rank());
    const std::int64_t size_a = in_a < 0 ? 1 : a[in_a], size_b = in_b < 0 ? 1 : b[in_b];
    if (size_a != size_b && size_a != 1 && size_b != 1)
      throw Error(fmt::format("the shapes {} and {} do not broadcast: sizes {} and {} differ and neither is 1",
                              to_string(a), to_string(b), size_a, size_b));
    result.append(size_a == 1 ? size_b : size_a);
  }
  return result;
}

}  // namespace pando
