// SPDX-License-Identifier: Apache-2.0
// Rows in order: one tile sorts a row.
#include <algorithm>
#include <array>
#include <utility>

#include "backends/cpu/kernels.h"
#include "ops/sort_key.h"

namespace pando::cpu {

namespace {

// Longer rows are sorted digit by digit.
constexpr std::int64_t most_compared = 256;

// Moves the items to `to` in the order of a digit of 8 bits, those with the same digit as they come. Returns false and
// moves nothing if all have the same digit.
template <class Bits>
bool sort_by_digit(const Placed<Bits>* from, Placed<Bits>* to, std::int64_t count, int digit) {
  const auto digit_of = [&](const Placed<Bits>& item) {
    return static_cast<std::size_t>(item.key >> (8 * digit) & 0xff);
  };
  std::array<std::int64_t, 256> next = {};
  for (std::int64_t i = 0; i < count; ++i) ++next[digit_of(from[i])];
  if (next[digit_of(from[0])] == count) return false;
  std::int64_t sum = 0;
  for (std::int64_t& first : next) sum += std::exchange(first, sum);
  for (std::int64_t i = 0; i < count; ++i) to[next[digit_of(from[i])]++] = from[i];
  return true;
}

// The items in order: where they are, or in `other`.
template <class Bits>
const Placed<Bits>* sorted(Placed<Bits>* items, Placed<Bits>* other, std::int64_t count) {
  if (count <= most_compared) {
    std::sort(items, items + count, [](const auto& a, const auto& b) { return a.is_before(b); });
    return items;
  }
  for (int digit = 0; digit < static_cast<int>(sizeof(Bits)); ++digit)
    if (sort_by_digit(items, other, count, digit)) std::swap(items, other);
  return items;
}

template <class T>
std::unique_ptr<Kernel> sort_of(const KernelCall& call) {
  using Item = Placed<typename SortKey<T>::Bits>;
  const Operand x = call.inputs[0], values = call.outputs[0], indices = call.outputs[1];
  const Shape& shape = x.type.shape;
  const std::int64_t length = shape[shape.rank() - 1], rows = shape.part(0, shape.rank() - 1).elements();
  const bool descending = call.attributes.flag("descending");
  const auto run = [=](const Tile& tile) {
    const Range own = share(tile, length == 0 ? 0 : rows);
    auto* const items = reinterpret_cast<Item*>(tile.scratch);
    for (std::int64_t row = own.begin; row < own.end; ++row) {
      const T* const from = pointer<const T>(tile, x) + row * length;
      for (std::int64_t i = 0; i < length; ++i)
        items[i] = {SortKey<T>::of(from[i], descending), static_cast<std::uint32_t>(i)};
      const Item* const found = sorted(items, items + length, length);
      if (values.buffer >= 0)
        for (std::int64_t i = 0; i < length; ++i) pointer<T>(tile, values)[row * length + i] = from[found[i].place];
      if (indices.buffer >= 0)
        for (std::int64_t i = 0; i < length; ++i)
          pointer<std::int32_t>(tile, indices)[row * length + i] = static_cast<std::int32_t>(found[i].place);
    }
  };
  return make_kernel(run, static_cast<std::size_t>(2 * length) * sizeof(Item));
}

}  // namespace

namespace factories {

std::unique_ptr<Kernel> sort(const KernelCall& call, const Routines&) {
  switch (const DType dtype = call.inputs[0].type.dtype) {
    case DType::float32: return sort_of<float>(call);
    case DType::float64: return sort_of<double>(call);
    case DType::int32: return sort_of<std::int32_t>(call);
    case DType::int64: return sort_of<std::int64_t>(call);
    case DType::uint8:
    case DType::boolean: return sort_of<std::uint8_t>(call);
    default: throw InternalError("the CPU does not sort " + std::string(name(dtype)));
  }
}

}  // namespace factories

}  // namespace pando::cpu
