// SPDX-License-Identifier: Apache-2.0
// New arrays and other shapes of old ones.
#include <pando/base/array_functions.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/element_types.h"

namespace pando {

DType promote(DType a, DType b) {
  if (a == b || b == DType::boolean) return a;
  if (a == DType::boolean) return b;
  if (a == DType::float64 || b == DType::float64) return DType::float64;
  if (!is_integer(a) || !is_integer(b)) return DType::float32;
  return size_of(a) > size_of(b) ? a : b;
}

std::string type_text(const Array& a) { return fmt::format("{}{}", name(a.dtype()), to_string(a.shape())); }

Array zeros(const Shape& shape, DType dtype) { return Array(dtype, shape); }

Array ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }

Array full(const Shape& shape, double value, DType dtype) {
  Array result = Array::uninitialised(dtype, shape);
  with_type(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    T element;
    // Converts through int64, because converting a double outside T's range is undefined.
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      element = static_cast<T>(static_cast<std::int64_t>(value));
    else element = convert<T>(value);
    T* out = result.mutable_data<T>();
    for (std::int64_t i = 0; i < result.elements(); ++i) out[i] = element;
  });
  return result;
}

Array arange(std::int64_t count, DType dtype) {
  if (count < 0) throw Error(fmt::format("arange: the count is {}; it must not be negative", count));
  Array result = Array::uninitialised(DType::int64, {count});
  std::iota(result.mutable_data<std::int64_t>(), result.mutable_data<std::int64_t>() + count, 0);
  return result.astype(dtype);
}

Array arange(double first, double last, double step, std::optional<DType> dtype) {
  const double count = std::ceil((last - first) / step);
  if (step == 0 || !(count < 0x1p62))
    throw Error(fmt::format("arange: from {} to {} in steps of {} has no end; give a finite step towards the end",
                            first, last, step));
  const auto is_whole = [](double value) { return value == std::floor(value) && std::abs(value) < 0x1p53; };
  const bool whole = is_whole(first) && is_whole(last) && is_whole(step);
  Array result = Array::uninitialised(DType::float64, {count > 0 ? static_cast<std::int64_t>(count) : 0});
  double* out = result.mutable_data<double>();
  for (std::int64_t i = 0; i < result.elements(); ++i) out[i] = first + static_cast<double>(i) * step;
  return result.astype(dtype.value_or(whole ? DType::int64 : DType::float64));
}

Array eye(std::int64_t size, DType dtype) {
  if (size < 0) throw Error(fmt::format("eye: the size is {}; it must not be negative", size));
  Array result(DType::uint8, {size, size});
  for (std::int64_t i = 0; i < size; ++i) result.mutable_data<std::uint8_t>()[i * (size + 1)] = 1;
  return result.astype(dtype);
}

Array expand_dims(const Array& a, std::int64_t axis) {
  const int rank = a.shape().rank(), at = normalise_axis(axis, rank + 1, "expand_dims");
  Shape shape = a.shape().part(0, at);
  shape.append(1);
  for (std::int64_t size : a.shape().part(at, rank)) shape.append(size);
  return a.reshape(shape);
}

Array squeeze(const Array& a, std::optional<std::int64_t> axis) {
  const int rank = a.shape().rank(), only = axis ? normalise_axis(*axis, rank, "squeeze") : -1;
  if (only >= 0 && a.shape()[only] != 1)
    throw Error(fmt::format("squeeze: axis {} of {} has the size {}; only axes of size 1 can be removed", *axis,
                            type_text(a), a.shape()[only]));
  Shape shape;
  for (int i = 0; i < rank; ++i)
    if (only >= 0 ? i != only : a.shape()[i] != 1) shape.append(a.shape()[i]);
  return a.reshape(shape);
}

namespace {

// Whether all sizes but that of `axis` are equal.
bool fits(const Shape& a, const Shape& b, int axis) {
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i)
    if (i != axis && a[i] != b[i]) return false;
  return true;
}

}  // namespace

Array concatenate(const Arrays& arrays, std::int64_t axis) {
  if (arrays.empty()) throw Error("concatenate: there are no arrays; give at least one");
  Shape shape = arrays[0].shape();
  if (shape.rank() == 0) throw Error("concatenate: array 0 is a scalar; stack makes an axis for scalars");
  const int at = normalise_axis(axis, shape.rank(), "concatenate");
  DType dtype = arrays[0].dtype();
  for (std::size_t i = 1; i < arrays.size(); ++i) {
    if (!fits(arrays[i].shape(), arrays[0].shape(), at))
      throw Error(
          fmt::format("concatenate: array {} is {} but array 0 is {}; all sizes but that of axis {} must be equal", i,
                      type_text(arrays[i]), type_text(arrays[0]), at));
    shape[at] += arrays[i].shape()[at];
    dtype = promote(dtype, arrays[i].dtype());
  }
  Array result = Array::uninitialised(dtype, shape);
  const std::int64_t outer = shape.part(0, at).elements();
  const std::size_t row = static_cast<std::size_t>(shape[at] * shape.stride(at)) * size_of(dtype);
  std::byte* out = result.mutable_raw();
  for (const Array& array : arrays) {
    const Array part = array.astype(dtype);
    const std::size_t bytes = outer == 0 ? 0 : part.bytes() / static_cast<std::size_t>(outer);
    for (std::size_t i = 0; bytes > 0 && i < static_cast<std::size_t>(outer); ++i)
      std::memcpy(out + i * row, part.raw() + i * bytes, bytes);
    out += bytes;
  }
  return result;
}

Array stack(const Arrays& arrays, std::int64_t axis) {
  if (arrays.empty()) throw Error("stack: there are no arrays; give at least one");
  const int at = normalise_axis(axis, arrays[0].shape().rank() + 1, "stack");
  Arrays expanded;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].shape() != arrays[0].shape())
      throw Error(fmt::format("stack: array {} is {} but array 0 is {}; all shapes must be equal", i,
                              type_text(arrays[i]), type_text(arrays[0])));
    expanded.push_back(expand_dims(arrays[i], at));
  }
  return concatenate(expanded, at);
}

namespace {

template <class Bits>
void transpose_elements(const Array& a, const std::vector<int>& order, Array& result) {
  const int rank = a.shape().rank();
  const std::int64_t length = result.shape()[rank - 1], step = a.shape().stride(order.back());
  const Bits* in = reinterpret_cast<const Bits*>(a.raw());
  Bits* out = reinterpret_cast<Bits*>(result.mutable_raw());
  for (std::int64_t run = 0; run < result.elements() / length; ++run) {
    std::int64_t from = 0, rest = run;
    for (int axis = rank - 2; axis >= 0; rest /= result.shape()[axis--])
      from += rest % result.shape()[axis] * a.shape().stride(order[static_cast<std::size_t>(axis)]);
    for (std::int64_t i = 0; i < length; ++i) *out++ = in[from + i * step];
  }
}

}  // namespace

Array transpose(const Array& a) {
  std::vector<std::int64_t> permutation(static_cast<std::size_t>(a.shape().rank()));
  std::iota(permutation.rbegin(), permutation.rend(), 0);
  return transpose(a, permutation);
}

Array transpose(const Array& a, const std::vector<std::int64_t>& permutation) {
  const int rank = a.shape().rank();
  std::vector<int> order;
  std::vector<bool> seen(static_cast<std::size_t>(rank));
  Shape shape;
  for (std::int64_t axis : permutation) {
    order.push_back(normalise_axis(axis, rank, "transpose"));
    shape.append(a.shape()[order.back()]);
    seen[static_cast<std::size_t>(order.back())] = true;
  }
  if (shape.rank() != rank || std::find(seen.begin(), seen.end(), false) != seen.end())
    throw Error(fmt::format("transpose: [{}] is not a permutation of the {} axes of {}; name each axis once",
                            fmt::join(permutation, ", "), rank, type_text(a)));
  if (a.elements() <= 1) return a.reshape(shape);
  Array result = Array::uninitialised(a.dtype(), shape);
  switch (size_of(a.dtype())) {
    case 1: transpose_elements<std::uint8_t>(a, order, result); break;
    case 2: transpose_elements<std::uint16_t>(a, order, result); break;
    case 4: transpose_elements<std::uint32_t>(a, order, result); break;
    default: transpose_elements<std::uint64_t>(a, order, result);
  }
  return result;
}

Array take(const Array& a, const Array& indices) {
  if (a.shape().rank() == 0) throw Error("take: a scalar has no rows; expand_dims makes it an array of one");
  if (!is_integer(indices.dtype()))
    throw Error(
        fmt::format("take: the indices are {}; they must be integers: cast them with astype", type_text(indices)));
  Shape shape = indices.shape();
  for (std::int64_t size : a.shape().part(1, a.shape().rank())) shape.append(size);
  Array result = Array::uninitialised(a.dtype(), shape);
  const Array wide = indices.astype(DType::int64);
  const std::int64_t rows = a.shape()[0];
  const std::size_t bytes = static_cast<std::size_t>(a.shape().stride(0)) * size_of(a.dtype());
  std::byte* out = result.mutable_raw();
  for (std::int64_t i = 0; i < wide.elements(); ++i, out += bytes) {
    const std::int64_t index = wide.data<std::int64_t>()[i];
    if (index < -rows || index >= rows)
      throw Error(fmt::format("take: index {} is {}, outside the {} rows of {}; it must be in [{}, {}]", i, index, rows,
                              type_text(a), -rows, rows - 1));
    std::memcpy(out, a.raw() + static_cast<std::size_t>(index < 0 ? index + rows : index) * bytes, bytes);
  }
  return result;
}

Array take(const Array& a, const std::vector<std::int64_t>& indices) {
  return take(a, Array::of(indices, {static_cast<std::int64_t>(indices.size())}));
}

}  // namespace pando
