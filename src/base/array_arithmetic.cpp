// SPDX-License-Identifier: Apache-2.0
// Elementwise functions of Arrays: arithmetic, comparisons, choices.
#include <pando/base/array_functions.h>

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "base/broadcast.h"
#include "base/element_types.h"

namespace pando {

Shape broadcast(std::string_view what, const Shape& a, const Shape& b) {
  try {
    return broadcast_shapes(a, b);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}; reshape one of them", what, error.what()));
  }
}

namespace {

// Computed in `dtype`, which is also the type of the result; bfloat16 is computed in float32.
template <class Function>
Array binary(std::string_view what, const Array& a, const Array& b, DType dtype, Function function) {
  const DType computing = dtype == DType::bfloat16 ? DType::float32 : dtype;
  Array result = Array::uninitialised(computing, broadcast(what, a.shape(), b.shape()));
  with_computing_type(computing, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    apply_binary<T, T>(a.astype(computing), b.astype(computing), result, function);
  });
  return result.astype(dtype);
}

template <class Function>
Array unary(const Array& a, DType dtype, Function function) {
  const DType computing = dtype == DType::bfloat16 ? DType::float32 : dtype;
  const Array from = a.astype(computing);
  Array result = Array::uninitialised(computing, a.shape());
  with_computing_type(computing, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const T* in = from.data<T>();
    T* out = result.mutable_data<T>();
    for (std::int64_t i = 0; i < from.elements(); ++i) out[i] = function(in[i]);
  });
  return result.astype(dtype);
}

DType counted(DType dtype) { return dtype == DType::boolean ? DType::int64 : dtype; }

DType fractional(DType dtype) { return is_integer(dtype) || dtype == DType::boolean ? DType::float32 : dtype; }

// `value` as an array of the type that the rule in array_functions.h gives a scalar used with `a`.
Array scalar_beside(std::string_view what, const Array& a, double value) {
  const DType dtype = counted(a.dtype());
  if (!is_integer(dtype)) return full({}, value, dtype);
  if (value != std::floor(value) || std::abs(value) >= 0x1p63) return full({}, value, DType::float32);
  const Array scalar = Array::scalar(static_cast<std::int64_t>(value)).astype(dtype);
  if (scalar.item<double>() != value)
    throw Error(fmt::format("{}: {} does not fit {}, the type of an array {}; cast the array with astype", what, value,
                            name(dtype), to_string(a.shape())));
  return scalar;
}

// Signed overflow is undefined in C++; unsigned arithmetic wraps around.
template <class T, class Function>
T wrapping(T a, T b, Function function) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(function(static_cast<Unsigned>(a), static_cast<Unsigned>(b)));
  } else {
    return static_cast<T>(function(a, b));
  }
}

constexpr auto larger = [](auto a, auto b) { return a > b || a != a ? a : b; };
constexpr auto smaller = [](auto a, auto b) { return a < b || a != a ? a : b; };

}  // namespace

Array operator+(const Array& a, const Array& b) {
  return binary("a + b", a, b, counted(promote(a.dtype(), b.dtype())),
                [](auto x, auto y) { return wrapping(x, y, std::plus<>()); });
}

Array operator-(const Array& a, const Array& b) {
  return binary("a - b", a, b, counted(promote(a.dtype(), b.dtype())),
                [](auto x, auto y) { return wrapping(x, y, std::minus<>()); });
}

Array operator*(const Array& a, const Array& b) {
  return binary("a * b", a, b, counted(promote(a.dtype(), b.dtype())),
                [](auto x, auto y) { return wrapping(x, y, std::multiplies<>()); });
}

Array operator/(const Array& a, const Array& b) {
  return binary("a / b", a, b, fractional(promote(a.dtype(), b.dtype())), [](auto x, auto y) {
    if constexpr (std::is_floating_point_v<decltype(x)>) return x / y;
    else return x;
  });
}

Array operator+(const Array& a, double b) { return a + scalar_beside("a + b", a, b); }
Array operator+(double a, const Array& b) { return scalar_beside("a + b", b, a) + b; }
Array operator-(const Array& a, double b) { return a - scalar_beside("a - b", a, b); }
Array operator-(double a, const Array& b) { return scalar_beside("a - b", b, a) - b; }
Array operator*(const Array& a, double b) { return a * scalar_beside("a * b", a, b); }
Array operator*(double a, const Array& b) { return scalar_beside("a * b", b, a) * b; }
Array operator/(const Array& a, double b) { return a / full({}, b, fractional(a.dtype())); }
Array operator/(double a, const Array& b) { return full({}, a, fractional(b.dtype())) / b; }

Array operator-(const Array& a) {
  return unary(a, counted(a.dtype()), [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>) return -x;
    else return wrapping(decltype(x){0}, x, std::minus<>());
  });
}

Array maximum(const Array& a, const Array& b) { return binary("maximum", a, b, promote(a.dtype(), b.dtype()), larger); }

Array minimum(const Array& a, const Array& b) {
  return binary("minimum", a, b, promote(a.dtype(), b.dtype()), smaller);
}

Array maximum(const Array& a, double b) { return maximum(a, scalar_beside("maximum", a, b)); }
Array minimum(const Array& a, double b) { return minimum(a, scalar_beside("minimum", a, b)); }

Array clip(const Array& a, double low, double high) {
  return minimum(maximum(a, scalar_beside("clip", a, low)), scalar_beside("clip", a, high));
}

Array abs(const Array& a) {
  return unary(a, a.dtype(), [](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>) return std::abs(x);
    else if constexpr (std::is_signed_v<decltype(x)>) return x < 0 ? wrapping(decltype(x){0}, x, std::minus<>()) : x;
    else return x;
  });
}

Array square(const Array& a) { return a * a; }

namespace {

template <class Function>
Array floating_unary(const Array& a, Function function) {
  return unary(a, fractional(a.dtype()), [function](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>) return function(x);
    else return x;
  });
}

}  // namespace

Array sqrt(const Array& a) {
  return floating_unary(a, [](auto x) { return std::sqrt(x); });
}

Array exp(const Array& a) {
  return floating_unary(a, [](auto x) { return std::exp(x); });
}

Array log(const Array& a) {
  return floating_unary(a, [](auto x) { return std::log(x); });
}

Array where(const Array& condition, const Array& a, const Array& b) {
  const DType dtype = promote(a.dtype(), b.dtype());
  const Array choice = condition.astype(DType::boolean), if_true = a.astype(dtype), if_false = b.astype(dtype);
  Array result =
      Array::uninitialised(dtype, broadcast("where", broadcast("where", a.shape(), b.shape()), condition.shape()));
  const BroadcastWalk<3> walk(result.shape(), {condition.shape(), a.shape(), b.shape()});
  with_type(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const bool* chosen = choice.data<bool>();
    const T *in_a = if_true.data<T>(), *in_b = if_false.data<T>();
    T* out = result.mutable_data<T>();
    walk.for_each_run([&](std::int64_t to, const std::array<std::int64_t, 3>& from, std::int64_t length) {
      for (std::int64_t i = 0; i < length; ++i)
        out[to + i] =
            chosen[from[0] + i * walk.step(0)] ? in_a[from[1] + i * walk.step(1)] : in_b[from[2] + i * walk.step(2)];
    });
  });
  return result;
}

}  // namespace pando
