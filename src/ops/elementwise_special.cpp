// SPDX-License-Identifier: Apache-2.0
// Inverse and hyperbolic functions, functions that are accurate where the plain formula is not, and those of the error
// and gamma functions.
#include "ops/elementwise.h"

namespace pando {

namespace {

// exp(-x^2) * 2 / sqrt(pi), the derivative of erf.
Value erf_derivative(Value x) { return ops::exp(-ops::square(x)) * 1.1283791670955126; }

// 1 - x^2, accurate near 1.
Value one_less_square(Value x) { return (1.0 - x) * (x + 1.0); }

}  // namespace

namespace definitions {

const OpDefinition expm1 = {.id = Op::expm1,
                            .name = "expm1",
                            .doc = "exp(x) - 1, accurate near 0",
                            .infer = infer_floating,
                            .gradient = PANDO_UNARY_GRADIENT(g * (y + 1.0)),
                            .elementwise = true};
const OpDefinition log1p = {.id = Op::log1p,
                            .name = "log1p",
                            .doc = "log(1 + x), accurate near 0",
                            .infer = infer_floating,
                            .gradient = PANDO_UNARY_GRADIENT(g / (x + 1.0)),
                            .elementwise = true};
const OpDefinition asin = {.id = Op::asin,
                           .name = "asin",
                           .doc = "arc sine, in radians",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(g * ops::rsqrt(one_less_square(x))),
                           .elementwise = true};
const OpDefinition acos = {.id = Op::acos,
                           .name = "acos",
                           .doc = "arc cosine, in radians",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(-g * ops::rsqrt(one_less_square(x))),
                           .elementwise = true};
const OpDefinition atan = {.id = Op::atan,
                           .name = "atan",
                           .doc = "arc tangent, in radians",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(g / (ops::square(x) + 1.0)),
                           .elementwise = true};
const OpDefinition atan2 = {.id = Op::atan2,
                            .name = "atan2",
                            .doc = "the angle of the point (b, a), from -pi to pi",
                            .min_inputs = 2,
                            .infer = infer_floating,
                            .gradient = PANDO_BINARY_GRADIENT(g * b / (ops::square(a) + ops::square(b)),
                                                              -g* a / (ops::square(a) + ops::square(b))),
                            .elementwise = true};
const OpDefinition sinh = {.id = Op::sinh,
                           .name = "sinh",
                           .doc = "hyperbolic sine",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(g * ops::cosh(x)),
                           .elementwise = true};
const OpDefinition cosh = {.id = Op::cosh,
                           .name = "cosh",
                           .doc = "hyperbolic cosine",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(g * ops::sinh(x)),
                           .elementwise = true};
const OpDefinition asinh = {.id = Op::asinh,
                            .name = "asinh",
                            .doc = "inverse of the hyperbolic sine",
                            .infer = infer_floating,
                            .gradient = PANDO_UNARY_GRADIENT(g * ops::rsqrt(ops::square(x) + 1.0)),
                            .elementwise = true};
const OpDefinition acosh = {.id = Op::acosh,
                            .name = "acosh",
                            .doc = "inverse of the hyperbolic cosine; NaN below 1",
                            .infer = infer_floating,
                            .gradient = PANDO_UNARY_GRADIENT(g * ops::rsqrt((x - 1.0) * (x + 1.0))),
                            .elementwise = true};
const OpDefinition atanh = {.id = Op::atanh,
                            .name = "atanh",
                            .doc = "inverse of the hyperbolic tangent; NaN outside [-1, 1]",
                            .infer = infer_floating,
                            .gradient = PANDO_UNARY_GRADIENT(g / one_less_square(x)),
                            .elementwise = true};
const OpDefinition erf = {.id = Op::erf,
                          .name = "erf",
                          .doc = "the error function",
                          .infer = infer_floating,
                          .gradient = PANDO_UNARY_GRADIENT(g * erf_derivative(x)),
                          .elementwise = true};
const OpDefinition erfc = {.id = Op::erfc,
                           .name = "erfc",
                           .doc = "1 - erf(x), accurate where it is small",
                           .infer = infer_floating,
                           .gradient = PANDO_UNARY_GRADIENT(-g * erf_derivative(x)),
                           .elementwise = true};
const OpDefinition erfinv = {.id = Op::erfinv,
                             .name = "erfinv",
                             .doc = "the inverse of erf; NaN outside [-1, 1]",
                             .infer = infer_floating,
                             .gradient = PANDO_UNARY_GRADIENT(g * ops::exp(ops::square(y)) * 0.886226925452758),
                             .elementwise = true};
const OpDefinition lgamma = {.id = Op::lgamma,
                             .name = "lgamma",
                             .doc = "the logarithm of |gamma(x)|",
                             .infer = infer_floating,
                             .gradient = PANDO_UNARY_GRADIENT(g * ops::digamma(x)),
                             .elementwise = true};
const OpDefinition digamma = {.id = Op::digamma,
                              .name = "digamma",
                              .doc = "the derivative of lgamma",
                              .infer = infer_floating,
                              .gradient = PANDO_UNARY_GRADIENT(g * ops::trigamma(x)),
                              .elementwise = true};
const OpDefinition trigamma = {.id = Op::trigamma,
                               .name = "trigamma",
                               .doc = "the derivative of digamma",
                               .infer = infer_floating,
                               .elementwise = true};

}  // namespace definitions

}  // namespace pando
