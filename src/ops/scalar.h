// SPDX-License-Identifier: Apache-2.0
// What each elementwise op computes for one element: the functors that the CPU and the CUDA backend share. A functor is
// built once from the op's parameters and has no branches that keep a compiler from vectorising it in float, except for
// ops that are rare.
#pragma once
#include "ops/scalar_math.h"
#include "ops/special_math.h"

namespace pando::scalar {
PANDO_KERNEL_BEGIN

// A functor without parameters, and one with one or two.
#define PANDO_FUNCTOR_1(name, expression)                         \
  template <class T>                                              \
  struct name {                                                   \
    PANDO_HOST_DEVICE explicit name(const double*) {}             \
    using U [[maybe_unused]] = typename math::Wrapping<T>::type;  \
    PANDO_INLINE T operator()(T x) const { return (expression); } \
  };
#define PANDO_FUNCTOR_2(name, expression)                              \
  template <class T>                                                   \
  struct name {                                                        \
    PANDO_HOST_DEVICE explicit name(const double*) {}                  \
    using U [[maybe_unused]] = typename math::Wrapping<T>::type;       \
    PANDO_INLINE T operator()(T a, T b) const { return (expression); } \
  };
#define PANDO_COMPARISON_FUNCTOR(name, operation)                          \
  template <class T>                                                       \
  struct name {                                                            \
    PANDO_HOST_DEVICE explicit name(const double*) {}                      \
    PANDO_INLINE bool operator()(T a, T b) const { return a operation b; } \
  };

PANDO_FUNCTOR_1(negate, T(-U(x)))
PANDO_FUNCTOR_1(abs, x < T(0) ? T(-U(x)) : x)
PANDO_FUNCTOR_1(sign, T(T(0) < x) - T(x < T(0)))
PANDO_FUNCTOR_1(square, T(U(x) * U(x)))
PANDO_FUNCTOR_1(sqrt, math::sqrt(x))
PANDO_FUNCTOR_1(rsqrt, T(1) / math::sqrt(x))
PANDO_FUNCTOR_1(exp, math::exp(x))
PANDO_FUNCTOR_1(log, math::log(x))
PANDO_FUNCTOR_1(sin, math::sin(x))
PANDO_FUNCTOR_1(cos, math::cos(x))
PANDO_FUNCTOR_1(expm1, math::expm1(x))
PANDO_FUNCTOR_1(log1p, math::log1p(x))
PANDO_FUNCTOR_1(asin, math::asin(x))
PANDO_FUNCTOR_1(acos, math::acos(x))
PANDO_FUNCTOR_1(atan, math::atan(x))
PANDO_FUNCTOR_1(sinh, math::sinh(x))
PANDO_FUNCTOR_1(cosh, math::cosh(x))
PANDO_FUNCTOR_1(tanh, math::tanh(x))
PANDO_FUNCTOR_1(asinh, math::asinh(x))
PANDO_FUNCTOR_1(acosh, math::acosh(x))
PANDO_FUNCTOR_1(atanh, math::atanh(x))
PANDO_FUNCTOR_1(floor, math::floor(x))
PANDO_FUNCTOR_1(round, math::round(x))
PANDO_FUNCTOR_1(erf, math::erf(x))
PANDO_FUNCTOR_1(erfc, math::erfc(x))
PANDO_FUNCTOR_1(erfinv, math::erfinv(x))
PANDO_FUNCTOR_1(lgamma, math::lgamma(x))
PANDO_FUNCTOR_1(digamma, math::digamma(x))
PANDO_FUNCTOR_1(trigamma, math::trigamma(x))
PANDO_FUNCTOR_1(sigmoid, math::sigmoid(x))
// Written so that NaN stays NaN.
PANDO_FUNCTOR_1(relu, x < T(0) ? T(0) : x)
PANDO_FUNCTOR_1(gelu, T(0.5) * x * (T(1) + math::erf(x * T(0.70710678118654752))))
PANDO_FUNCTOR_1(gelu_derivative, math::gelu_derivative(x))
PANDO_FUNCTOR_1(gelu_tanh, x* math::gelu_tanh_sigmoid(x))
PANDO_FUNCTOR_1(gelu_tanh_derivative, math::gelu_tanh_derivative(x))
PANDO_FUNCTOR_1(silu, x* math::sigmoid(x))
PANDO_FUNCTOR_1(silu_derivative, math::silu_derivative(x))
PANDO_FUNCTOR_1(softplus, math::softplus(x))
PANDO_FUNCTOR_2(add, T(U(a) + U(b)))
PANDO_FUNCTOR_2(subtract, T(U(a) - U(b)))
PANDO_FUNCTOR_2(multiply, T(U(a) * U(b)))
PANDO_FUNCTOR_2(divide, a / b)
PANDO_FUNCTOR_2(power, math::pow(a, b))
PANDO_FUNCTOR_2(atan2, math::atan2(a, b))
// One choice, not a chain of them, so that clang vectorises it; NaN wins.
PANDO_FUNCTOR_2(maximum, ((a < b) | (b != b)) ? b : a)
PANDO_FUNCTOR_2(minimum, ((b < a) | (b != b)) ? b : a)
PANDO_FUNCTOR_2(floor_divide, math::floor_divide(a, b))
PANDO_FUNCTOR_2(remainder, math::remainder(a, b))
PANDO_FUNCTOR_2(bitwise_and, a& b)
PANDO_FUNCTOR_2(bitwise_or, a | b)
PANDO_FUNCTOR_2(bitwise_xor, a ^ b)
PANDO_FUNCTOR_2(shift_left, math::shift_left(a, b))
PANDO_FUNCTOR_2(shift_right, math::shift_right(a, b))
// The gradient passes where y is NaN, as in PyTorch: a NaN is not hidden.
PANDO_FUNCTOR_2(relu_gradient, b <= T(0) ? T(0) : a)
PANDO_FUNCTOR_2(squared_error, (a - b) * (a - b))
PANDO_FUNCTOR_2(absolute_error, a < b ? b - a : a - b)
// softplus(a) - a * b, with the large parts taken from each other before the small one is added.
PANDO_FUNCTOR_2(sigmoid_cross_entropy, ((a > T(0) ? a : T(0)) - a * b) + math::log1p(math::exp(a > T(0) ? -a : a)))
PANDO_COMPARISON_FUNCTOR(equal, ==)
PANDO_COMPARISON_FUNCTOR(not_equal, !=)
PANDO_COMPARISON_FUNCTOR(less, <)
PANDO_COMPARISON_FUNCTOR(less_equal, <=)
PANDO_COMPARISON_FUNCTOR(greater, >)
PANDO_COMPARISON_FUNCTOR(greater_equal, >=)

struct logical_and {
  PANDO_INLINE bool operator()(bool a, bool b) const { return a & b; }
};
struct logical_or {
  PANDO_INLINE bool operator()(bool a, bool b) const { return a | b; }
};
struct logical_not {
  PANDO_INLINE bool operator()(bool a) const { return !a; }
};

template <class T>
struct clip {
  T min, max;
  PANDO_HOST_DEVICE explicit clip(const double* p) : min(T(p[0])), max(T(p[1])) {}
  PANDO_INLINE T operator()(T x) const { return x < min ? min : (x > max ? max : x); }
};

template <class T>
struct leaky_relu {
  T alpha;
  PANDO_HOST_DEVICE explicit leaky_relu(const double* p) : alpha(T(p[0])) {}
  PANDO_INLINE T operator()(T x) const { return x < T(0) ? alpha * x : x; }
};

template <class T>
struct elu {
  T alpha;
  PANDO_HOST_DEVICE explicit elu(const double* p) : alpha(T(p[0])) {}
  PANDO_INLINE T operator()(T x) const { return x < T(0) ? alpha * math::expm1(x < T(0) ? x : T(0)) : x; }
};

template <class T>
struct huber_error {
  T delta;
  PANDO_HOST_DEVICE explicit huber_error(const double* p) : delta(T(p[0])) {}
  PANDO_INLINE T operator()(T a, T b) const {
    const T error = a < b ? b - a : a - b;
    return error <= delta ? T(0.5) * error * error : delta * (error - T(0.5) * delta);
  }
};

template <class T>
struct binary_cross_entropy {
  T epsilon;
  PANDO_HOST_DEVICE explicit binary_cross_entropy(const double* p) : epsilon(T(p[0])) {}
  PANDO_INLINE T operator()(T probability, T target) const {
    const T p = probability < epsilon ? epsilon : (probability > T(1) - epsilon ? T(1) - epsilon : probability);
    return -(target * math::log(p) + (T(1) - target) * math::log(T(1) - p));
  }
};

#undef PANDO_FUNCTOR_1
#undef PANDO_FUNCTOR_2
#undef PANDO_COMPARISON_FUNCTOR

PANDO_KERNEL_END
}  // namespace pando::scalar
