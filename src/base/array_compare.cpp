// SPDX-License-Identifier: Apache-2.0
// Comparisons of Arrays, by value whatever the types.
#include <pando/base/array_functions.h>

#include <cmath>
#include <functional>

#include "base/broadcast.h"
#include "base/element_types.h"

namespace pando {

namespace {

// A type in which values of both are exact (beyond 2^53 nearly so).
DType comparing_type(DType a, DType b) {
  const DType dtype = promote(a, b);
  if (dtype == DType::bfloat16) return DType::float32;
  const auto exceeds_float = [](DType type) { return type == DType::int32 || type == DType::int64; };
  return dtype == DType::float32 && (exceeds_float(a) || exceeds_float(b)) ? DType::float64 : dtype;
}

template <class Relation>
Array compare(std::string_view what, const Array& a, const Array& b, Relation relation) {
  const DType dtype = comparing_type(a.dtype(), b.dtype());
  const Array left = a.astype(dtype), right = b.astype(dtype);
  Array result = Array::uninitialised(DType::boolean, broadcast(what, a.shape(), b.shape()));
  with_computing_type(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    apply_binary<T, bool>(left, right, result, relation);
  });
  return result;
}

// Takes the array's type if that is floating-point, so that float32 0.1 equals 0.1; exact otherwise.
Array scalar_beside(const Array& a, double value) {
  return full({}, value, is_integer(a.dtype()) || a.dtype() == DType::boolean ? DType::float64 : a.dtype());
}

}  // namespace

Array equal(const Array& a, const Array& b) { return compare("equal", a, b, std::equal_to<>()); }
Array not_equal(const Array& a, const Array& b) { return compare("not_equal", a, b, std::not_equal_to<>()); }
Array less(const Array& a, const Array& b) { return compare("less", a, b, std::less<>()); }
Array less_equal(const Array& a, const Array& b) { return compare("less_equal", a, b, std::less_equal<>()); }
Array greater(const Array& a, const Array& b) { return compare("greater", a, b, std::greater<>()); }
Array greater_equal(const Array& a, const Array& b) { return compare("greater_equal", a, b, std::greater_equal<>()); }

Array equal(const Array& a, double b) { return equal(a, scalar_beside(a, b)); }
Array not_equal(const Array& a, double b) { return not_equal(a, scalar_beside(a, b)); }
Array less(const Array& a, double b) { return less(a, scalar_beside(a, b)); }
Array less_equal(const Array& a, double b) { return less_equal(a, scalar_beside(a, b)); }
Array greater(const Array& a, double b) { return greater(a, scalar_beside(a, b)); }
Array greater_equal(const Array& a, double b) { return greater_equal(a, scalar_beside(a, b)); }

Array isnan(const Array& a) { return not_equal(a, a); }

bool array_equal(const Array& a, const Array& b) {
  return a.shape() == b.shape() && (a.elements() == 0 || min(equal(a, b)).item<bool>());
}

bool allclose(const Array& a, const Array& b, double rtol, double atol) {
  const Array left = a.astype(DType::float64), right = b.astype(DType::float64);
  const double *in_a = left.data<double>(), *in_b = right.data<double>();
  const BroadcastWalk<2> walk(broadcast("allclose", a.shape(), b.shape()), {a.shape(), b.shape()});
  bool close = true;
  walk.for_each_run([&](std::int64_t, const std::array<std::int64_t, 2>& from, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i) {
      const double x = in_a[from[0] + i * walk.step(0)], y = in_b[from[1] + i * walk.step(1)];
      close = close && (x == y || (std::isfinite(y) && std::abs(x - y) <= atol + rtol * std::abs(y)));
    }
  });
  return close;
}

}  // namespace pando
