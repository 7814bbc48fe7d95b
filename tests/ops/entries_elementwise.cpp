// SPDX-License-Identifier: Apache-2.0
// One line per elementwise op.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/ops/op_table.h"

namespace pando::test {

namespace {

using namespace of_element;
using Unary = double (*)(double);
using Binary = double (*)(double, double);

const std::vector<Shape> unary_shapes = {{7}, {1}, {}, {3, 5}, {0}, {2, 0, 3}, {2, 3, 4, 5}, {1037}};
const std::vector<std::pair<Shape, Shape>> binary_shapes = {
    {{7}, {7}},       {{1}, {1}},          {{3, 5}, {5}},    {{3, 1}, {1, 5}},
    {{}, {4}},        {{0, 3}, {3}},       {{0}, {1}},       {{2, 3, 4}, {3, 1}},
    {{1037}, {1037}}, {{33, 40}, {33, 1}}, {{40}, {29, 40}}, {{2, 1, 3, 1}, {4, 1, 5}}};

// Values that overflow, underflow, or are not numbers.
const Domain special = listed({0.0, -0.0, HUGE_VAL, -HUGE_VAL, std::nan(""), 1e30, -1e30, 1e-30, -1e-30, 89.5, -90.0,
                               0.5, -0.5, 1.0, -1.0, 17.25, -17.25});

std::vector<Tensor> results_of(const Tensors& inputs, const std::function<double(const std::vector<double>&)>& f) {
  return {elementwise(inputs, f)};
}

Entry unary(std::string_view op, Unary f, const Domain& values, const Attributes& attributes = {}) {
  Entry entry = {.op = op};
  const auto reference = [f](const Tensors& in) { return results_of(in, [f](const auto& x) { return f(x[0]); }); };
  for (const Shape& shape : unary_shapes) entry.cases.push_back({{{shape, {}, values}}, reference, attributes});
  return entry;
}

Entry unary_numeric(std::string_view op, Unary f, const Domain& values, const Attributes& attributes = {}) {
  Entry entry = unary(op, f, values, attributes);
  entry.dtypes = numeric_types;
  return entry;
}

Entry binary(std::string_view op, Binary f, const Domain& a = {}, const Domain& b = {},
             const Attributes& attributes = {}) {
  Entry entry = {.op = op};
  const auto reference = [f](const Tensors& in) {
    return results_of(in, [f](const auto& x) { return f(x[0], x[1]); });
  };
  for (const auto& [shape_a, shape_b] : binary_shapes)
    entry.cases.push_back({{{shape_a, {}, a}, {shape_b, {}, b}}, reference, attributes});
  return entry;
}

Entry binary_numeric(std::string_view op, Binary f, const Domain& a = {}, const Domain& b = {}) {
  Entry entry = binary(op, f, a, b);
  entry.dtypes = numeric_types;
  return entry;
}

// Adds what happens at the ends of the number line; of two inputs every value meets every other.
Entry and_special(Entry entry) {
  Case at_the_ends = entry.cases.front();
  const auto count = static_cast<std::int64_t>(special.listed.size());
  at_the_ends.has_gradient = false;
  for (std::size_t i = 0; i < at_the_ends.inputs.size(); ++i)
    at_the_ends.inputs[i] = {i == 0 ? Shape{count} : Shape{count, 1}, {}, special};
  // No integers: they have no such ends.
  if (entry.dtypes.size() > 2)
    for (InputSpec& input : at_the_ends.inputs) input.dtype = DType::float32;
  entry.cases.push_back(at_the_ends);
  return entry;
}

// Few values, so that there are equal ones.
Entry comparison(std::string_view op, Binary f) {
  Entry entry = binary(op, f, listed({0, 1, 2, 1}), listed({1, 0, 1}));
  for (Case& c : entry.cases)
    c.reference = [f](const Tensors& in) -> Tensors {
      return {elementwise(in, DType::boolean, [f](const auto& x) { return f(x[0], x[1]); })};
    };
  entry = and_special(entry);
  entry.dtypes = {DType::float32, DType::float64, DType::int32, DType::int64, DType::boolean};
  for (InputSpec& input : entry.cases.back().inputs) input.dtype = DType::float32;
  return entry;
}

Entry logical(std::string_view op, int inputs, double (*f)(bool, bool)) {
  Entry entry = {.op = op, .dtypes = {DType::boolean}};
  for (auto [shape_a, shape_b] : binary_shapes) {
    std::vector<InputSpec> specs = {{shape_a, DType::boolean}};
    if (inputs == 2) specs.push_back({shape_b, DType::boolean});
    entry.cases.push_back({specs, [f](const Tensors& in) {
                             return results_of(in, [f](const auto& x) { return f(x[0] != 0, x.back() != 0); });
                           }});
  }
  return entry;
}

// What it computes in each type; a quotient of float32 may be too small for it.
struct Division {
  Binary of_float32, of_float64, of_integers;

  Binary of(DType dtype) const {
    if (!is_floating(dtype)) return of_integers;
    return dtype == DType::float32 ? of_float32 : of_float64;
  }
};

// Of all signs. For integers also 0 and -1 as divisors, of the least integer too.
Entry division(std::string_view op, const Division& by_type) {
  Entry entry =
      and_special(binary_numeric(op, by_type.of_float64, listed({7.25, -7.25, 5.5, -6.5}), listed({3, -3, -1, 2})));
  for (Case& c : entry.cases)
    c.reference = [by_type](const Tensors& in) {
      return results_of(in, [f = by_type.of(in[0].dtype)](const auto& x) { return f(x[0], x[1]); });
    };
  Case at_the_ends = entry.cases.front();
  at_the_ends.inputs = {{{4}, DType::int32, listed({-0x1p31, 0x1p31 - 1, 7, -7})},
                        {{2, 1}, DType::int32, listed({-1, 0})}};
  entry.cases.push_back(at_the_ends);
  return entry;
}

double remainder_of(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Entry bitwise(std::string_view op, Binary f) {
  Entry entry = binary(op, f, domain(-99, 99), domain(-0x1p31, 0x1p31 - 1));
  entry.dtypes = {DType::int32, DType::int64};
  return entry;
}
std::int64_t bits(double x) { return static_cast<std::int64_t>(x); }

// By fewer places than a number has, by as many, by more, and backwards.
Entry shift(std::string_view op, std::int64_t (*f)(std::int64_t, std::int64_t), double (*beyond)(double)) {
  Entry entry = bitwise(op, nullptr);
  for (Case& c : entry.cases) {
    c.inputs[1].domain = listed({0, 1, 5, 31, 32, 40, 63, 64, 99, -1, -64});
    c.reference = [=](const Tensors& in) {
      const bool is_wide = in[0].dtype == DType::int64;
      return results_of(in, [=](const auto& x) {
        if (x[1] < 0 || x[1] >= (is_wide ? 64 : 32)) return beyond(x[0]);
        const std::int64_t shifted = f(bits(x[0]), bits(x[1]));
        return static_cast<double>(is_wide ? shifted : static_cast<std::int32_t>(shifted));
      });
    };
  }
  return entry;
}

Entry select_entry() {
  Entry entry = {.op = "select", .dtypes = numeric_types};
  const auto reference = [](const Tensors& in) {
    return results_of(in, [](const auto& x) { return x[0] != 0 ? x[1] : x[2]; });
  };
  const std::vector<std::array<Shape, 3>> shapes = {{{{7}, {7}, {7}}},          {{{1}, {1}, {1}}}, {{{}, {3}, {3}}},
                                                    {{{3, 1}, {1, 5}, {5}}},    {{{0}, {1}, {0}}}, {{{300}, {}, {}}},
                                                    {{{33, 40}, {40}, {33, 1}}}};
  for (const auto& [condition, a, b] : shapes)
    entry.cases.push_back({{{condition, DType::boolean}, {a}, {b}}, reference});
  return entry;
}

double cast_value(double x, DType to) {
  switch (to) {
    case DType::boolean: return x != 0;
    case DType::int32:
    case DType::int64:
    case DType::uint8: return std::trunc(x);
    default: return x;
  }
}

// Every type to every type; floats are rounded to the result by the comparison.
Entry cast_entry() {
  Entry entry = {.op = "cast", .dtypes = {DType::float64}};
  const std::vector<Shape> shapes = {{5}, {}, {3, 7}, {0, 2}, {1, 1}, {259}};
  std::size_t number = 0;
  for (DType from : all_types)
    for (DType to : all_types) {
      const bool is_difficult = to == DType::uint8;
      const Domain values = is_difficult ? domain(0, 255) : domain(-100, 100);
      const bool floats = is_floating(from) && is_floating(to);
      entry.cases.push_back({.inputs = {{shapes[number++ % shapes.size()], from, values}},
                             .reference = [to](const Tensors& in) -> Tensors {
                               return {elementwise(in, to, [to](const auto& x) { return cast_value(x[0], to); })};
                             },
                             .attributes = {{"dtype", to}},
                             .has_gradient = floats,
                             // Large enough for differences of float32 values.
                             .difference_step = 0.125});
    }
  return entry;
}

}  // namespace

std::vector<Entry> elementwise_entries() {
  return {
      and_special(unary_numeric(
          "negate", [](double x) { return -x; }, domain(-3, 3))),
      and_special(unary_numeric(
          "abs", [](double x) { return std::abs(x); }, domain(-3, 3).away_from({0}))),
      and_special(unary_numeric(
          "sign", [](double x) { return double(x > 0) - double(x < 0); }, domain(-3, 3))),
      and_special(unary_numeric(
          "square", [](double x) { return x * x; }, domain(-3, 3))),
      and_special(unary_numeric("clip", [](double x) { return std::isnan(x) ? x : std::min(std::max(x, -1.0), 2.0); },
                                domain(-3, 4).away_from({-1, 2}), {{"min", -1.0}, {"max", 2.0}})),
      and_special(unary(
          "sqrt", [](double x) { return std::sqrt(x); }, domain(0.1, 9))),
      and_special(unary(
          "rsqrt", [](double x) { return 1 / std::sqrt(x); }, domain(0.1, 9))),
      and_special(unary(
          "exp", [](double x) { return std::exp(x); }, domain(-5, 5))),
      and_special(unary(
          "log", [](double x) { return std::log(x); }, domain(0.1, 9))),
      and_special(unary(
          "sin", [](double x) { return std::sin(x); }, domain(-9, 9))),
      and_special(unary(
          "cos", [](double x) { return std::cos(x); }, domain(-9, 9))),
      and_special(unary(
          "floor", [](double x) { return std::floor(x); }, domain(-9, 9))),
      and_special(unary(
          "round", [](double x) { return std::nearbyint(x); },
          listed({0.5, 1.5, 2.5, -0.5, -2.5, 0.49999997, 3.25, -7.75}))),
      and_special(unary(
          "erf", [](double x) { return std::erf(x); }, domain(-3, 3))),
      and_special(unary(
          "tanh", [](double x) { return std::tanh(x); }, domain(-3, 3))),
      and_special(unary("sigmoid", logistic, domain(-6, 6))),
      and_special(unary(
          "relu", [](double x) { return x < 0 ? 0 : x; }, domain(-3, 3).away_from({0}))),
      and_special(unary("leaky_relu", [](double x) { return x < 0 ? 0.2 * x : x; }, domain(-3, 3).away_from({0}),
                        {{"alpha", 0.2}})),
      and_special(unary("elu", [](double x) { return x < 0 ? 1.5 * std::expm1(x) : x; }, domain(-3, 3).away_from({0}),
                        {{"alpha", 1.5}})),
      and_special(unary("gelu", gelu, domain(-4, 4))),
      and_special(unary("gelu_derivative", gelu_derivative, domain(-4, 4))),
      and_special(unary("gelu_tanh", gelu_tanh, domain(-4, 4))),
      and_special(unary("gelu_tanh_derivative", gelu_tanh_derivative, domain(-4, 4))),
      and_special(unary(
          "silu", [](double x) { return x * logistic(x); }, domain(-6, 6))),
      and_special(unary("silu_derivative", silu_derivative, domain(-6, 6))),
      and_special(unary("softplus", softplus, domain(-6, 6))),
      and_special(binary_numeric("add", [](double a, double b) { return a + b; })),
      and_special(binary_numeric("subtract", [](double a, double b) { return a - b; })),
      and_special(binary_numeric("multiply", [](double a, double b) { return a * b; })),
      and_special(binary_numeric("maximum", larger, domain(-3, 3).distinct(), domain(-2.9, 3.1))),
      and_special(binary_numeric("minimum", smaller, domain(-3, 3).distinct(), domain(-2.9, 3.1))),
      division("floor_divide", {[](double a, double b) { return double(std::floor(static_cast<float>(a / b))); },
                                [](double a, double b) { return std::floor(a / b); },
                                [](double a, double b) {
                                  return b == 0 ? 0 : a == -0x1p31 && b == -1 ? a : std::floor(a / b);
                                }}),
      division("remainder",
               {remainder_of, remainder_of, [](double a, double b) { return b == 0 ? 0 : remainder_of(a, b); }}),
      bitwise("bitwise_and", [](double a, double b) { return double(bits(a) & bits(b)); }),
      bitwise("bitwise_or", [](double a, double b) { return double(bits(a) | bits(b)); }),
      bitwise("bitwise_xor", [](double a, double b) { return double(bits(a) ^ bits(b)); }),
      and_special(unary(
          "expm1", [](double x) { return std::expm1(x); }, domain(-5, 5))),
      and_special(unary(
          "log1p", [](double x) { return std::log1p(x); }, domain(-0.9, 9))),
      and_special(unary(
          "asin", [](double x) { return std::asin(x); }, domain(-0.99, 0.99))),
      and_special(unary(
          "acos", [](double x) { return std::acos(x); }, domain(-0.99, 0.99))),
      and_special(unary(
          "atan", [](double x) { return std::atan(x); }, domain(-9, 9))),
      and_special(unary(
          "sinh", [](double x) { return std::sinh(x); }, domain(-5, 5))),
      and_special(unary(
          "cosh", [](double x) { return std::cosh(x); }, domain(-5, 5))),
      and_special(unary(
          "asinh", [](double x) { return std::asinh(x); }, domain(-9, 9))),
      and_special(unary(
          "acosh", [](double x) { return std::acosh(x); }, domain(1.01, 9))),
      and_special(unary(
          "atanh", [](double x) { return std::atanh(x); }, domain(-0.99, 0.99))),
      and_special(unary(
          "erfc", [](double x) { return std::erfc(x); }, domain(-3, 3))),
      and_special(unary("erfinv", erfinv, domain(-0.99, 0.99))),
      and_special(unary(
          "lgamma", [](double x) { return std::lgamma(x); }, domain(-5, 30).away_from({0, -1, -2, -3, -4, -5}))),
      and_special(unary("digamma", digamma, domain(-5, 30).away_from({0, -1, -2, -3, -4, -5}))),
      and_special(unary("trigamma", trigamma, domain(-5, 30).away_from({0, -1, -2, -3, -4, -5}))),
      and_special(binary(
          "atan2", [](double y, double x) { return std::atan2(y, x); }, domain(-3, 3).away_from({0}),
          domain(-3, 3).away_from({0}))),
      shift(
          "shift_left",
          [](std::int64_t a, std::int64_t b) {
            return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << static_cast<std::uint64_t>(b));
          },
          [](double) { return 0.0; }),
      shift(
          "shift_right", [](std::int64_t a, std::int64_t b) { return a >> b; },
          [](double a) { return a < 0 ? -1.0 : 0.0; }),
      and_special(binary(
          "divide", [](double a, double b) { return a / b; }, domain(-3, 3), domain(0.5, 3))),
      and_special(binary(
          "power", [](double a, double b) { return std::pow(a, b); }, domain(0.2, 3), domain(-2, 3))),
      binary(
          "relu_gradient", [](double g, double y) { return y <= 0 ? 0 : g; }, domain(-3, 3),
          domain(-3, 3).away_from({0})),
      binary("squared_error", [](double a, double b) { return (a - b) * (a - b); }),
      binary("absolute_error", [](double a, double b) { return std::abs(a - b); }),
      binary("huber_error", huber, domain(-2, 2), domain(-2, 2), {{"delta", 0.75}}),
      binary("binary_cross_entropy", cross_entropy, domain(0, 1).away_from({0.125, 0.875}), domain(0, 1),
             {{"epsilon", 0.125}}),
      binary(
          "sigmoid_cross_entropy", [](double a, double b) { return softplus(a) - a * b; }, domain(-20, 20),
          domain(0, 1)),
      comparison("equal", [](double a, double b) { return double(a == b); }),
      comparison("not_equal", [](double a, double b) { return double(a != b); }),
      comparison("less", [](double a, double b) { return double(a < b); }),
      comparison("less_equal", [](double a, double b) { return double(a <= b); }),
      comparison("greater", [](double a, double b) { return double(a > b); }),
      comparison("greater_equal", [](double a, double b) { return double(a >= b); }),
      logical("logical_and", 2, [](bool a, bool b) { return double(a && b); }),
      logical("logical_or", 2, [](bool a, bool b) { return double(a || b); }),
      logical("logical_not", 1, [](bool a, bool) { return double(!a); }),
      select_entry(),
      cast_entry(),
  };
}

}  // namespace pando::test
