// SPDX-License-Identifier: Apache-2.0
// More of scalar_math.h: inverse trigonometric, hyperbolic, error and gamma functions.
#pragma once
#include "ops/scalar_math.h"

namespace pando::scalar::math {
PANDO_KERNEL_BEGIN

PANDO_INLINE float magnitude_of(float x) { return from_bits(to_bits(x) & 0x7fffffff); }
PANDO_INLINE float with_sign_of(float magnitude, float x) {
  return from_bits(to_bits(magnitude) | (to_bits(x) & static_cast<std::int32_t>(0x80000000u)));
}

// The arc sine of s, where z = s^2 is at most 1/4.
PANDO_INLINE float asin_below_half(float s, float z) {
  float p = 4.2163199048e-2f;
  p = p * z + 2.4181311049e-2f;
  p = p * z + 4.5470025998e-2f;
  p = p * z + 7.4953002686e-2f;
  p = p * z + 1.6666752422e-1f;
  return s + s * z * p;
}
// Next to 1 it is a quarter turn less twice the arc sine of sqrt((1 - |x|) / 2). Beyond 1 that root is NaN.
PANDO_INLINE double asin(double x) { return __builtin_asin(x); }
PANDO_INLINE float asin(float x) {
  const float a = magnitude_of(x);
  const bool is_far = a > 0.5f;
  const float z = is_far ? 0.5f - 0.5f * a : a * a;
  const float near = asin_below_half(is_far ? sqrt(z) : a, z);
  return with_sign_of(is_far ? 1.5707963268f - 2.0f * near : near, x);
}
PANDO_INLINE double acos(double x) { return __builtin_acos(x); }
PANDO_INLINE float acos(float x) {
  const float a = magnitude_of(x);
  const bool is_far = a > 0.5f;
  const float z = is_far ? 0.5f - 0.5f * a : a * a;
  const float near = asin_below_half(is_far ? sqrt(z) : x, z);
  const float far = x < 0.0f ? 3.1415926536f - 2.0f * near : 2.0f * near;
  return is_far ? far : 1.5707963268f - near;
}

// The angle of the point (x, y). The smaller coordinate divided by the larger one is the tangent of at most an eighth
// of a turn, and half of that is left once an eighth is taken away where it is large.
PANDO_INLINE double atan2(double y, double x) { return __builtin_atan2(y, x); }
PANDO_INLINE float atan2(float y, float x) {
  const float height = magnitude_of(y), width = magnitude_of(x);
  const bool is_steep = height > width;
  const float larger = is_steep ? height : width, smaller = is_steep ? width : height;
  const float quotient = smaller == larger ? 1.0f : smaller / larger;
  const float tangent = larger == 0.0f ? smaller : quotient;
  const bool is_large = tangent > 0.41421356f;
  const float t = is_large ? (tangent - 1.0f) / (tangent + 1.0f) : tangent, z = t * t;
  float p = 8.05374449538e-2f;
  p = p * z - 1.38776856032e-1f;
  p = p * z + 1.99777106478e-1f;
  p = p * z - 3.33329491539e-1f;
  const float eighth = (is_large ? 0.78539816340f : 0.0f) + (p * z * t + t);
  const float quarter = is_steep ? 1.5707963268f - eighth : eighth;
  // The sign of -0 counts.
  const float half = to_bits(x) < 0 ? 3.1415926536f - quarter : quarter;
  return with_sign_of(half, y);
}
PANDO_INLINE double atan(double x) { return __builtin_atan(x); }
PANDO_INLINE float atan(float x) { return atan2(x, 1.0f); }

// Half of exp(x), for x >= 0: it overflows where sinh and cosh do. NaN becomes infinity.
PANDO_INLINE float half_exp(float x) {
  const ReducedExp e = reduce_exp(at_most(x, 90.0f));
  const std::int32_t half = e.n >> 1;
  return (e.minus_one + 1.0f) * power_of_two(half) * power_of_two(e.n - half - 1);
}
PANDO_INLINE double sinh(double x) { return __builtin_sinh(x); }
PANDO_INLINE float sinh(float x) {
  const float a = magnitude_of(x), z = x * x;
  const float growing = half_exp(a), fading = 0.25f / growing;
  float p = 2.03721912945e-4f;
  p = p * z + 8.33028376239e-3f;
  p = p * z + 1.66667160211e-1f;
  const float near = p * z * a + a;
  const float far = x != x ? x : growing - fading;
  return with_sign_of(a < 1.0f ? near : far, x);
}
PANDO_INLINE double cosh(double x) { return __builtin_cosh(x); }
PANDO_INLINE float cosh(float x) {
  const float growing = half_exp(magnitude_of(x));
  return x != x ? x : growing + 0.25f / growing;
}

// Their logarithms are those of numbers near 1 where the results are near 0, which log1p takes without the 1. From 2^20
// on the square root is the number itself.
PANDO_INLINE double asinh(double x) { return __builtin_asinh(x); }
PANDO_INLINE float asinh(float x) {
  const float a = magnitude_of(x), z = a * a;
  const bool is_far = a > 1048576.0f;
  const float logarithm = log1p(is_far ? a : a + z / (1.0f + sqrt(z + 1.0f)));
  return with_sign_of(logarithm + (is_far ? 0.69314718056f : 0.0f), x);
}
PANDO_INLINE double acosh(double x) { return __builtin_acosh(x); }
PANDO_INLINE float acosh(float x) {
  const float above = x - 1.0f;
  const bool is_far = x > 1048576.0f;
  const float logarithm = log1p(is_far ? x : above + sqrt(above * (above + 2.0f)));
  const float result = logarithm + (is_far ? 0.69314718056f : 0.0f);
  return x < 1.0f ? __builtin_nanf("") : result;
}
PANDO_INLINE double atanh(double x) { return __builtin_atanh(x); }
PANDO_INLINE float atanh(float x) {
  const float a = magnitude_of(x);
  return with_sign_of(0.5f * log1p(2.0f * a / (1.0f - a)), x);
}

PANDO_INLINE double erfc(double x) { return __builtin_erfc(x); }
PANDO_INLINE float erfc(float x) { return __builtin_erfcf(x); }

// By M. Giles, "Approximating the erfinv function": a polynomial of the logarithm of 1 - x^2, near 1 of its root.
PANDO_INLINE float erfinv(float x) {
  const float w = -log((1.0f - x) * (1.0f + x));
  const float n = w - 2.5f, f = sqrt(w) - 3.0f;
  float near = 2.81022636e-8f;
  near = near * n + 3.43273939e-7f;
  near = near * n - 3.5233877e-6f;
  near = near * n - 4.39150654e-6f;
  near = near * n + 2.1858087e-4f;
  near = near * n - 1.25372503e-3f;
  near = near * n - 4.17768164e-3f;
  near = near * n + 2.46640727e-1f;
  near = near * n + 1.50140941f;
  float far = -2.00214257e-4f;
  far = far * f + 1.00950558e-4f;
  far = far * f + 1.34934322e-3f;
  far = far * f - 3.67342844e-3f;
  far = far * f + 5.73950773e-3f;
  far = far * f - 7.6224613e-3f;
  far = far * f + 9.43887047e-3f;
  far = far * f + 1.00167406f;
  far = far * f + 2.83297682f;
  const float result = (w < 5.0f ? near : far) * x;
  return magnitude_of(x) == 1.0f ? x * __builtin_inff() : result;
}

// What follows has loops and branches: it is for ops that are rare, and stays a function of its own.
#define PANDO_OUTLINE PANDO_HOST_DEVICE __attribute__((noinline)) inline

// Newton's steps from the result for float; near 1 for the logarithm of what is left of 1, which has digits that x
// lacks.
PANDO_OUTLINE double erfinv(double x) {
  const double a = x < 0 ? -x : x, rest = 1 - a;
  if (!(a < 1)) return a == 1 ? x * static_cast<double>(__builtin_inff()) : static_cast<double>(__builtin_nanf(""));
  double y = static_cast<double>(erfinv(static_cast<float>(a < 0.999999 ? a : 0.999999)));
  for (int step = 0; step < 6; ++step) {
    const double error = a < 0.5 ? erf(y) - a : erfc(y) * log(rest / erfc(y));
    y -= error / (1.1283791670955126 * exp(-y * y));
  }
  return x < 0 ? -y : y;
}

// Gamma functions are computed in double, where they are sums of large numbers that take each other away. Below a half
// they come from those of 1 - x; from there on, steps of 1 lead to numbers for which a few terms of the series in 1 / x
// are enough.
inline constexpr double pi = 3.141592653589793, gamma_series_begin = 10;

// Exactly 0 where it is 0.
PANDO_OUTLINE double sine_of_half_turns(double x) {
  const double a = x < 0 ? -x : x, turns = floor(a), part = a - turns;
  const double sine = sin(pi * (part > 0.5 ? 1 - part : part));
  return (floor(turns * 0.5) * 2 == turns) == (x >= 0) ? sine : -sine;
}

PANDO_OUTLINE double lgamma(double x) {
  const bool is_reflected = x < 0.5;
  if (is_reflected && x == floor(x)) return static_cast<double>(__builtin_inff());
  double at = is_reflected ? 1 - x : x, product = 1;
  for (; at < gamma_series_begin; at += 1) product *= at;
  const double z = 1 / (at * at);
  double series = -691.0 / 360360;
  series = series * z + 1.0 / 1188;
  series = series * z - 1.0 / 1680;
  series = series * z + 1.0 / 1260;
  series = series * z - 1.0 / 360;
  series = series * z + 1.0 / 12;
  const double result = (at - 0.5) * (log(at) - 1) + 0.41893853320467274 + series / at - log(product);
  if (!is_reflected) return result;
  const double sine = sine_of_half_turns(x);
  return log(pi / (sine < 0 ? -sine : sine)) - result;
}

// The derivative of lgamma. Its sign at 0 is that of the side from which 0 is reached.
PANDO_OUTLINE double digamma(double x) {
  const bool is_reflected = x < 0.5;
  if (x == 0) return -1 / x;
  if (is_reflected && x == floor(x)) return static_cast<double>(__builtin_nanf(""));
  double at = is_reflected ? 1 - x : x, sum = 0;
  for (; at < gamma_series_begin; at += 1) sum += 1 / at;
  const double z = 1 / (at * at);
  double series = -691.0 / 32760;
  series = series * z + 1.0 / 132;
  series = series * z - 1.0 / 240;
  series = series * z + 1.0 / 252;
  series = series * z - 1.0 / 120;
  series = series * z + 1.0 / 12;
  const double result = log(at) - 0.5 / at - series * z - sum;
  return is_reflected ? result - pi * sine_of_half_turns(x + 0.5) / sine_of_half_turns(x) : result;
}

// The derivative of digamma.
PANDO_OUTLINE double trigamma(double x) {
  const bool is_reflected = x < 0.5;
  double at = is_reflected ? 1 - x : x, sum = 0;
  for (; at < gamma_series_begin; at += 1) sum += 1 / (at * at);
  const double z = 1 / (at * at);
  double series = -691.0 / 2730;
  series = series * z + 5.0 / 66;
  series = series * z - 1.0 / 30;
  series = series * z + 1.0 / 42;
  series = series * z - 1.0 / 30;
  series = series * z + 1.0 / 6;
  const double result = 1 / at + z * (0.5 + series / at) + sum;
  if (!is_reflected) return result;
  const double inverse = pi / sine_of_half_turns(x);
  return inverse * inverse - result;
}
#undef PANDO_OUTLINE

PANDO_INLINE float lgamma(float x) { return static_cast<float>(lgamma(static_cast<double>(x))); }
PANDO_INLINE float digamma(float x) { return static_cast<float>(digamma(static_cast<double>(x))); }
PANDO_INLINE float trigamma(float x) { return static_cast<float>(trigamma(static_cast<double>(x))); }

// By as many bits as a number has or more nothing is left but its sign, which shifts to the right keep.
template <class T>
PANDO_INLINE T shift_left(T a, T b) {
  using U = typename Wrapping<T>::type;
  constexpr U bits = 8 * sizeof(T);
  return U(b) < bits ? T(U(a) << (U(b) % bits)) : T(0);
}
template <class T>
PANDO_INLINE T shift_right(T a, T b) {
  using U = typename Wrapping<T>::type;
  constexpr U bits = 8 * sizeof(T);
  return a >> (U(b) < bits ? U(b) % bits : bits - 1);
}

PANDO_KERNEL_END
}  // namespace pando::scalar::math
