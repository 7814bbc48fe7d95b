// SPDX-License-Identifier: Apache-2.0
// Reductions of Arrays over all elements or one axis.
#include <pando/base/array_functions.h>

#include <fmt/format.h>

#include "base/element_types.h"

namespace pando {

namespace {

// The array as [outer, count, inner]; the middle axis is reduced.
struct Extent {
  std::int64_t outer = 1, count = 1, inner = 1;
  Shape result;
};

Extent extent_of(std::string_view what, const Array& a, std::optional<std::int64_t> axis, bool keep_dims) {
  const Shape& shape = a.shape();
  const int reduced = axis ? normalise_axis(*axis, shape.rank(), what) : -1;
  Extent extent;
  for (int i = 0; i < shape.rank(); ++i) {
    const bool goes = !axis || i == reduced;
    if (goes) extent.count *= shape[i];
    else (i < reduced ? extent.outer : extent.inner) *= shape[i];
    if (!goes || keep_dims) extent.result.append(goes ? 1 : shape[i]);
  }
  return extent;
}

// Several partial sums, because a single one would wait for each addition before the next.
template <class Sum, class T, class Map>
Sum sum_of_run(const T* in, std::int64_t count, Map map) {
  constexpr std::int64_t lanes = 8;
  Sum parts[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (std::int64_t lane = 0; lane < lanes; ++lane) parts[lane] += map(in[i + lane]);
  for (; i < count; ++i) parts[0] += map(in[i]);
  return ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
}

// The sums of map(element, place in the result), in an array of the type Sum.
template <class Sum, class T, class Map>
Array sum_elements(const T* in, const Extent& extent, Map map) {
  Array result(dtype_of<Sum>, extent.result);
  Sum* out = result.mutable_data<Sum>();
  for (std::int64_t o = 0; o < extent.outer; ++o, out += extent.inner) {
    const std::int64_t first = o * extent.inner;
    if (extent.inner == 1) {
      *out = sum_of_run<Sum>(in, extent.count, [&](T value) { return map(value, first); });
      in += extent.count;
      continue;
    }
    for (std::int64_t n = 0; n < extent.count; ++n, in += extent.inner)
      for (std::int64_t i = 0; i < extent.inner; ++i) out[i] += map(in[i], first + i);
  }
  return result;
}

bool is_exact(DType dtype) { return is_integer(dtype) || dtype == DType::boolean; }

// Computed in int64 or float64.
Array exact_sum(const Array& a, const Extent& extent) {
  Array result;
  with_type(a.dtype(), [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    using Sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
    result =
        sum_elements<Sum>(a.data<T>(), extent, [](T value, std::int64_t) { return static_cast<Sum>(widen(value)); });
  });
  return result;
}

Array exact_mean(const Array& a, const Extent& extent) {
  return exact_sum(a, extent).astype(DType::float64) / static_cast<double>(extent.count);
}

DType mean_type(DType dtype) {
  if (is_exact(dtype)) return DType::float64;
  return dtype == DType::bfloat16 ? DType::float32 : dtype;
}

struct Best {
  Array values, indices;
};

// The best element along the middle of the extent, and its index there; the first of equal ones, and a NaN if any.
template <class T, class Better>
Best best_elements(const Array& a, const Extent& extent, Better better) {
  Best best = {Array(a.dtype(), extent.result), Array(DType::int64, extent.result)};
  const T* in = a.data<T>();
  T* values = best.values.mutable_data<T>();
  std::int64_t* indices = best.indices.mutable_data<std::int64_t>();
  for (std::int64_t o = 0; o < extent.outer; ++o, values += extent.inner, indices += extent.inner)
    for (std::int64_t n = 0; n < extent.count; ++n, in += extent.inner)
      for (std::int64_t i = 0; i < extent.inner; ++i) {
        const bool is_first_nan = in[i] != in[i] && values[i] == values[i];
        if (n > 0 && !better(in[i], values[i]) && !is_first_nan) continue;
        values[i] = in[i];
        indices[i] = n;
      }
  return best;
}

template <class Better>
Best find_best(std::string_view what, const Array& a, std::optional<std::int64_t> axis, bool keep_dims, Better better) {
  const Extent extent = extent_of(what, a, axis, keep_dims);
  if (extent.count == 0 && extent.result.elements() > 0)
    throw Error(
        fmt::format("{}: {} has no elements to choose from; give an array that is not empty", what, type_text(a)));
  const Array from = a.dtype() == DType::bfloat16 ? a.astype(DType::float32) : a;
  Best best;
  with_computing_type(from.dtype(), [&](auto* type) {
    best = best_elements<std::remove_pointer_t<decltype(type)>>(from, extent, better);
  });
  return best;
}

constexpr auto is_larger = [](auto a, auto b) { return a > b; };
constexpr auto is_smaller = [](auto a, auto b) { return a < b; };

}  // namespace

Array sum(const Array& a, std::optional<std::int64_t> axis, bool keep_dims) {
  const Array result = exact_sum(a, extent_of("sum", a, axis, keep_dims));
  return is_exact(a.dtype()) ? result : result.astype(mean_type(a.dtype()));
}

Array mean(const Array& a, std::optional<std::int64_t> axis, bool keep_dims) {
  return exact_mean(a, extent_of("mean", a, axis, keep_dims)).astype(mean_type(a.dtype()));
}

Array standard_deviation(const Array& a, std::optional<std::int64_t> axis, bool keep_dims) {
  const Extent extent = extent_of("standard_deviation", a, axis, keep_dims);
  const Array middle = exact_mean(a, extent);
  const double* means = middle.data<double>();
  Array squares;
  with_type(a.dtype(), [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    squares = sum_elements<double>(a.data<T>(), extent, [means](T value, std::int64_t place) {
      const double distance = static_cast<double>(widen(value)) - means[place];
      return distance * distance;
    });
  });
  return sqrt(squares / static_cast<double>(extent.count)).astype(mean_type(a.dtype()));
}

Array max(const Array& a, std::optional<std::int64_t> axis, bool keep_dims) {
  return find_best("max", a, axis, keep_dims, is_larger).values.astype(a.dtype());
}

Array min(const Array& a, std::optional<std::int64_t> axis, bool keep_dims) {
  return find_best("min", a, axis, keep_dims, is_smaller).values.astype(a.dtype());
}

Array argmax(const Array& a, std::optional<std::int64_t> axis, bool keep_dims) {
  return find_best("argmax", a, axis, keep_dims, is_larger).indices;
}

Array argmin(const Array& a, std::optional<std::int64_t> axis, bool keep_dims) {
  return find_best("argmin", a, axis, keep_dims, is_smaller).indices;
}

}  // namespace pando
