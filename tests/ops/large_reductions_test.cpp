// SPDX-License-Identifier: Apache-2.0
// Reductions of many elements to few numbers, which tiles divide by elements: the same bits for any number of tiles,
// and close to exact sums.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/running.h"

namespace pando::test {
namespace {

// Axes before, between and after those that are kept, few and many outputs, and sizes that no block divides.
struct Subject {
  Shape shape;
  Integers axes;
};
const std::vector<Subject> subjects = {{{70'001, 6}, {0}},         {{9'000, 40}, {0}},       {{3, 100'003}, {1}},
                                       {{50, 3, 41, 20}, {0, 2}},  {{40, 3, 2'501}, {0, 2}}, {{300'007}, {0}},
                                       {{7, 1'000, 17, 3}, {1, 2}}};

Array numbers(DType dtype, const Shape& shape) {
  Array values(DType::float64, shape);
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    values.mutable_data<double>()[i] = std::round(1e3 * std::sin(static_cast<double>(i) * 0.37)) + 1;
  return values.astype(dtype);
}

Program make_program(const Subject& subject, DType dtype, const Device& device) {
  Graph graph;
  const Value x = ops::input(graph, "x", dtype, subject.shape);
  graph.add_output("sum", ops::reduce_sum(x, {.axes = subject.axes}));
  graph.add_output("max", ops::reduce_max(x, {.axes = subject.axes}));
  if (dtype != DType::int32) graph.add_output("mean", ops::reduce_mean(x, {.axes = subject.axes}));
  return Program(graph, device, Variables());
}

TEST(LargeReductions, HaveTheSameBitsOnAnyNumberOfTiles) {
  for (const Subject& subject : subjects)
    for (const DType dtype : {DType::float32, DType::float64, DType::int32})
      for (const std::string& set : tested_instruction_sets()) {
        const Array x = numbers(dtype, subject.shape);
        const auto on_one_tile = make_program(subject, dtype, device(set, 1)).step({{"x", x}});
        for (const int tiles : {2, 3, 7}) {
          const auto results = make_program(subject, dtype, device(set, tiles)).step({{"x", x}});
          for (const auto& [name, expected] : on_one_tile)
            EXPECT_EQ(bit_difference({to_tensor(results.at(name))}, {to_tensor(expected)}), "")
                << name << " of " << to_string(subject.shape) << " on " << tiles << " tiles";
        }
      }
}

// Whole numbers, of which float32 holds short sums exactly and float64 all of them.
TEST(LargeReductions, AreAccurate) {
  for (const Subject& subject : subjects)
    for (const std::string& set : tested_instruction_sets()) {
      const Device& seven = device(set, 7);
      const Array x = numbers(DType::float32, subject.shape);
      const auto results = make_program(subject, DType::float32, seven).step({{"x", x}});
      const auto exact = make_program(subject, DType::float64, device(set, 1)).step({{"x", x.astype(DType::float64)}});
      for (const auto& [name, expected] : exact) {
        const Array rounded = expected.astype(DType::float32);
        for (std::int64_t i = 0; i < rounded.elements(); ++i)
          EXPECT_NEAR(results.at(name).data<float>()[i], rounded.data<float>()[i],
                      computes_as_the_host(seven) ? 0 : 1e-6 * 1e3 * static_cast<double>(subject.shape.elements()))
              << name << " of " << to_string(subject.shape);
      }
    }
}

TEST(LargeReductions, KeepNans) {
  Array x = numbers(DType::float32, {70'001, 6});
  x.mutable_data<float>()[6 * 40'000 + 2] = std::nanf("");
  for (const int tiles : {1, 7}) {
    const auto results =
        make_program({{70'001, 6}, {0}}, DType::float32, device(tested_instruction_sets().back(), tiles))
            .step({{"x", x}});
    for (const auto& [name, values] : results)
      for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(std::isnan(values.data<float>()[i]), i == 2) << name;
  }
}

}  // namespace
}  // namespace pando::test
