// SPDX-License-Identifier: Apache-2.0
// Exact references, made with a Philox of the tests' own. What does not depend on it is in random_test.cpp.
#include <cmath>

#include "tests/ops/op_table.h"

namespace pando::test {

namespace {

constexpr std::int64_t seed = 0x123456789abcdef, stream = 3;

// The update and the number of the first sample.
InputSpec counter(double update, double first_sample) { return {{2}, DType::int32, listed({update, first_sample})}; }

std::uint32_t word_at(const Tensor& counter, const Shape& shape, std::int64_t place, std::int64_t shift = 0) {
  const std::int64_t size = shape.stride(0), sample = place / size, element = place % size;
  return random_word(seed, stream, static_cast<std::uint32_t>(counter[0]),
                     static_cast<std::uint32_t>(counter[1]) + static_cast<std::uint32_t>(sample), element + shift);
}

// Numbers of 24 bits.
double uniform(std::uint32_t word) { return static_cast<double>(word >> 8) / (1 << 24); }

// Elements of a pair of words: the first one the cosine's, the second one the sine's.
double normal_at(const Tensor& counter, const Shape& shape, std::int64_t place) {
  const std::int64_t odd = place % shape.stride(0) % 2;
  const double radius = std::sqrt(-2 * std::log(1 - uniform(word_at(counter, shape, place, -odd))));
  const double turn = 2 * std::acos(-1.0) * uniform(word_at(counter, shape, place, 1 - odd));
  return radius * (odd == 0 ? std::cos(turn) : std::sin(turn));
}

Case dropped(const Shape& x, double rate, const InputSpec& at) {
  return {.inputs = {{x}, at},
          .reference = [=](const Tensors& in) -> Tensors {
            Tensor y = in[0];
            for (std::int64_t i = 0; i < y.elements(); ++i)
              y[i] = uniform(word_at(in[1], x, i)) < rate ? 0 : y[i] / (1 - rate);
            return {y};
          },
          .attributes = {{"rate", rate}, {"seed", seed}, {"stream", stream}}};
}

Case drawn(const Shape& shape, const InputSpec& at, std::string first, double a, std::string second, double b,
           const std::function<double(const Tensor&, std::int64_t)>& value) {
  return {.inputs = {at},
          .reference = [=](const Tensors& in) -> Tensors {
            Tensor y = filled(DType::float32, shape);
            for (std::int64_t i = 0; i < y.elements(); ++i) y[i] = value(in[0], i);
            return {y};
          },
          .attributes = {{"shape", Integers(shape.begin(), shape.end())},
                         {first, a},
                         {second, b},
                         {"seed", seed},
                         {"stream", stream}}};
}

Case drawn_uniform(const Shape& shape, const InputSpec& at, double low, double high) {
  return drawn(shape, at, "low", low, "high", high, [=](const Tensor& counter, std::int64_t i) {
    return low + (high - low) * uniform(word_at(counter, shape, i));
  });
}

Case drawn_normal(const Shape& shape, const InputSpec& at, double mean, double deviation) {
  return drawn(shape, at, "mean", mean, "deviation", deviation,
               [=](const Tensor& counter, std::int64_t i) { return mean + deviation * normal_at(counter, shape, i); });
}

}  // namespace

std::vector<Entry> random_entries() {
  const std::vector<Shape> shapes = {{8}, {1}, {5, 7}, {0, 3}, {3, 0}, {2, 3, 5, 4}, {1, 1037}, {70, 3}, {33, 16}};
  Entry dropout = {.op = "dropout"};
  Entry uniform = {.op = "random_uniform", .dtypes = {DType::float32}},
        normal = {.op = "random_normal", .dtypes = {DType::float32}};
  for (const Shape& shape : shapes) {
    dropout.cases.push_back(dropped(shape, 0.4, counter(7, 100)));
    uniform.cases.push_back(drawn_uniform(shape, counter(7, 100), -1, 3));
    normal.cases.push_back(drawn_normal(shape, counter(7, 100), 0.5, 2));
  }
  dropout.cases.push_back(dropped({4, 6}, 0, counter(0, 0)));
  dropout.cases.push_back(dropped({4, 6}, 0.99, counter(2147483647, 2147483647)));
  uniform.cases.push_back(drawn_uniform({4, 6}, counter(0, 0), 2, 2));
  normal.cases.push_back(drawn_normal({4, 6}, counter(0, 0), -1, 0));
  return {dropout, uniform, normal};
}

}  // namespace pando::test
