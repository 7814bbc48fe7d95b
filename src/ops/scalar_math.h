// SPDX-License-Identifier: Apache-2.0
// The functions that the functors of scalar.h are made of. Those of float have no branches that keep a compiler from
// vectorising them.
#pragma once
#include <cstdint>

#include "base/host_device.h"

namespace pando::scalar::math {
PANDO_KERNEL_BEGIN

// float: polynomials that vectorise, within 2 units in the last place or so; double: the C library, for the tests.
PANDO_INLINE float from_bits(std::int32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
PANDO_INLINE std::int32_t to_bits(float value) {
  std::int32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

// NaN becomes the limit. On Arm, g++ finds the one instruction for it by the builtin alone, which x86-64 does not have.
#if defined(__aarch64__) && !defined(__CUDA_ARCH__)
PANDO_INLINE float at_least(float x, float limit) { return __builtin_fmaxf(x, limit); }
PANDO_INLINE float at_most(float x, float limit) { return __builtin_fminf(x, limit); }
#else
PANDO_INLINE float at_least(float x, float limit) { return x > limit ? x : limit; }
PANDO_INLINE float at_most(float x, float limit) { return x < limit ? x : limit; }
#endif

// x = n log(2) + r with |r| <= log(2) / 2; exp(r) - 1 is `minus_one`.
struct ReducedExp {
  std::int32_t n;
  float minus_one;
};
PANDO_INLINE ReducedExp reduce_exp(float x) {
  // Adding and taking away 1.5 * 2^23 rounds to the nearest integer and leaves it in the low bits.
  const float shifted = x * 1.44269504f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return {to_bits(shifted) - 0x4B400000, p * r * r + r};
}
// 2^n for a normal result.
PANDO_INLINE float power_of_two(std::int32_t n) { return from_bits((n + 127) << 23); }

PANDO_INLINE double at_least(double x, double limit) { return x < limit ? limit : x; }
PANDO_INLINE double at_most(double x, double limit) { return x > limit ? limit : x; }
template <class T>
PANDO_INLINE T between(T x, T low, T high) {
  return at_most(at_least(x, low), high);
}

PANDO_INLINE double exp(double x) { return __builtin_exp(x); }
PANDO_INLINE float exp(float x) {
  // At -104 the result rounds to 0, and at 88.73 to infinity.
  const ReducedExp e = reduce_exp(at_most(at_least(x, -104.0f), 88.73f));
  // In two steps, because neither 2^128 nor 2^-149 is a normal float but the result may be near them.
  const std::int32_t half = e.n >> 1;
  const float result = (e.minus_one + 1.0f) * power_of_two(half) * power_of_two(e.n - half);
  return x != x ? x : result;
}

// exp(x) - 1 without cancellation near 0.
PANDO_INLINE double expm1(double x) { return __builtin_expm1(x); }
PANDO_INLINE float expm1(float x) {
  const ReducedExp e = reduce_exp(at_most(at_least(x, -87.3f), 88.73f));
  // Half of it, because 2^128 is no float but the result may be near it.
  const float scale = power_of_two(e.n - 1);
  const float result = 2.0f * ((scale - 0.5f) + scale * e.minus_one);
  return x != x ? x : result;
}

PANDO_INLINE double log(double x) { return __builtin_log(x); }
PANDO_INLINE float log(float x) {
  // Subnormals are scaled up first so that their exponent field means something. What is made of 0, of negative numbers
  // and of those that are not finite is replaced at the end.
  const bool tiny = x < 1.17549435e-38f;
  const std::int32_t bits = to_bits(x * (tiny ? 8388608.0f : 1.0f)) & 0x7fffffff;
  const std::int32_t shifted = bits - 0x3F3504F3;  // mantissa in [sqrt(1/2), sqrt(2))
  const std::int32_t exponent = shifted >> 23;
  const float m = from_bits(bits - (exponent << 23)) - 1.0f;
  const float e = static_cast<float>(exponent) - (tiny ? 23.0f : 0.0f);
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const float m2 = m * m;
  const float result = (m * m2 * p - e * 2.12194440e-4f) - 0.5f * m2 + m + e * 0.693359375f;
  const float positive = x == __builtin_inff() ? x : result;
  const float at_zero = x == 0.0f ? -__builtin_inff() : positive;
  return x >= 0.0f ? at_zero : __builtin_nanf("");
}

// log(1 + x), by the correction for the rounding of 1 + x.
PANDO_INLINE double log1p(double x) { return __builtin_log1p(x); }
PANDO_INLINE float log1p(float x) {
  const float u = 1.0f + x;
  const float d = u - 1.0f;
  const float correction = x == __builtin_inff() ? 1.0f : x / (d == 0.0f ? 1.0f : d);
  const float scaled = log(u) * correction;
  return d == 0.0f ? x : scaled;
}

PANDO_INLINE double tanh(double x) { return __builtin_tanh(x); }
PANDO_INLINE float tanh(float x) {
  constexpr std::int32_t sign = static_cast<std::int32_t>(0x80000000u);
  const float magnitude = from_bits(to_bits(x) & ~sign);
  // From 9.02 on it rounds to 1.
  const ReducedExp e = reduce_exp(at_most(2.0f * magnitude, 20.0f));
  const float far = 1.0f - 2.0f / ((e.minus_one + 1.0f) * power_of_two(e.n) + 1.0f);
  const float s = x * x;
  float p = -5.70498872745e-3f;
  p = p * s + 2.06390887954e-2f;
  p = p * s - 5.37397155531e-2f;
  p = p * s + 1.33314422036e-1f;
  p = p * s - 3.33332819422e-1f;
  const float near = p * s * x + x;
  return magnitude >= 0.625f ? from_bits(to_bits(far) | (to_bits(x) & sign)) : near;
}

PANDO_INLINE double erf(double x) { return __builtin_erf(x); }
PANDO_INLINE float erf(float x) {
  const float c = at_most(at_least(x, -3.925f), 3.925f);
  const float s = c * c;
  float p = -2.72614225801306e-10f;
  p = p * s + 2.77068142495902e-08f;
  p = p * s - 2.10102402082508e-06f;
  p = p * s - 5.69250639462346e-05f;
  p = p * s - 7.34990630326855e-04f;
  p = p * s - 2.95459980854025e-03f;
  p = p * s - 1.60960333262415e-02f;
  float q = -1.45660718464996e-05f;
  q = q * s - 2.13374055278905e-04f;
  q = q * s - 1.68282697438203e-03f;
  q = q * s - 7.37332916720468e-03f;
  q = q * s - 1.42647390514189e-02f;
  // Exactly 1 where it rounds to 1: gelu multiplies what is left of 1 by its argument, however large.
  const float saturated = x < 0.0f ? -1.0f : 1.0f;
  const float result = c == x ? c * (p / q) : saturated;
  return x != x ? x : result;
}

PANDO_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
PANDO_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
PANDO_INLINE double sin(double x) { return __builtin_sin(x); }
PANDO_INLINE float sin(float x) { return __builtin_sinf(x); }
PANDO_INLINE double cos(double x) { return __builtin_cos(x); }
PANDO_INLINE float cos(float x) { return __builtin_cosf(x); }
PANDO_INLINE double floor(double x) { return __builtin_floor(x); }
PANDO_INLINE float floor(float x) { return __builtin_floorf(x); }
PANDO_INLINE double pow(double x, double y) { return __builtin_pow(x, y); }
PANDO_INLINE float pow(float x, float y) { return __builtin_powf(x, y); }
// Halves go to the even neighbour.
PANDO_INLINE double round(double x) { return __builtin_rint(x); }
PANDO_INLINE float round(float x) { return __builtin_rintf(x); }
PANDO_INLINE double remainder_towards_0(double a, double b) { return __builtin_fmod(a, b); }
PANDO_INLINE float remainder_towards_0(float a, float b) { return __builtin_fmodf(a, b); }

// The type that a T is added, subtracted and multiplied in. Integers wrap, which only unsigned ones may do.
template <class T>
struct Wrapping {
  using type = T;
};
template <>
struct Wrapping<std::int32_t> {
  using type = std::uint32_t;
};
template <>
struct Wrapping<std::int64_t> {
  using type = std::uint64_t;
};

template <class T>
inline constexpr bool is_integer = T(0.5) == T(0);

// Of integers, division by 0 gives 0 and leaves the remainder 0. The quotient of the least integer and -1 wraps.
template <class T>
PANDO_INLINE T floor_divide(T a, T b) {
  if constexpr (!is_integer<T>) {
    return floor(a / b);
  } else {
    using U = typename Wrapping<T>::type;
    const T divisor = ((b == T(0)) | (b == T(-1))) ? T(1) : b;
    const T towards_0 = a / divisor;
    const bool is_below = (a % divisor != T(0)) & ((a < T(0)) != (b < T(0)));
    if (b == T(-1)) return T(U(0) - U(a));
    return b == T(0) ? T(0) : T(towards_0 - T(is_below));
  }
}
// It has the sign of b.
template <class T>
PANDO_INLINE T remainder(T a, T b) {
  T rest;
  if constexpr (!is_integer<T>) rest = remainder_towards_0(a, b);
  else rest = a % (((b == T(0)) | (b == T(-1))) ? T(1) : b);
  return ((rest != T(0)) & ((rest < T(0)) != (b < T(0)))) ? rest + b : rest;
}

PANDO_INLINE double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
PANDO_INLINE float sigmoid(float x) {
  // 1 plus a number below the smallest normal float is 1, and 1 / infinity is 0, so 2^n takes one step here.
  const ReducedExp e = reduce_exp(at_most(at_least(-x, -87.3f), 88.73f));
  const float result = 1.0f / (1.0f + (e.minus_one + 1.0f) * power_of_two(e.n));
  return x != x ? x : result;
}
// gelu_tanh is x * sigmoid(u) with u = factor (x + cubic x^3), because (1 + tanh(v)) / 2 is sigmoid(2 v).
template <class T>
PANDO_INLINE T gelu_tanh_sigmoid(T x) {
  return sigmoid(T(1.5957691216057308) * (x + T(0.044715) * x * x * x));
}
// Far from 0, parts of these derivatives vanish, but would be computed as 0 times infinity.
template <class T>
PANDO_INLINE T gelu_derivative(T x) {
  const T near = between(x, T(-15), T(15));
  return T(0.5) * (T(1) + erf(x * T(0.70710678118654752))) + near * exp(T(-0.5) * near * near) * T(0.3989422804014327);
}
template <class T>
PANDO_INLINE T gelu_tanh_derivative(T x) {
  const T near = between(x, T(-12), T(12)), s = gelu_tanh_sigmoid(x);
  return s + s * (T(1) - s) * near * (T(1.5957691216057308) + T(3 * 0.044715 * 1.5957691216057308) * near * near);
}
template <class T>
PANDO_INLINE T silu_derivative(T x) {
  const T s = sigmoid(x);
  return s * (T(1) + between(x, T(-104), T(104)) * (T(1) - s));
}
template <class T>
PANDO_INLINE T softplus(T x) {
  return (x > T(0) ? x : T(0)) + log1p(exp(x > T(0) ? -x : x));
}

PANDO_KERNEL_END
}  // namespace pando::scalar::math
