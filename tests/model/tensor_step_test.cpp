// SPDX-License-Identifier: Apache-2.0
// Steps over the caller's memory.
#include <pando/model/tensor_step.h>

#include <gtest/gtest.h>

#include <array>

#include "tests/message.h"

namespace pando {
namespace {

const Type pair_type{DType::float32, {2}};

// w becomes w - 0.5 x, and the output is the sum of w before that.
TensorStep descent() {
  return TensorStep("descent", {pair_type}, {{"w", pair_type}},
                    [](const auto& x, const auto& w, const Tensor&) -> TensorStep::Results {
                      const Tensor total = apply("sum", {w[0]}, [](const auto& v) { return ops::reduce_sum(v[0]); });
                      return {{total}, {{0, w[0] - x[0] * 0.5}}};
                    },
                    {.device = Device({.tiles = 2, .backend = "cpu"})});
}

float run(TensorStep& step, const float* x, std::int64_t update = 0) {
  float result = -1;
  const std::array<const void*, 1> inputs = {x};
  const std::array<void*, 1> outputs = {&result};
  step.run(inputs, outputs, update);
  return result;
}

TEST(TensorStep, ChangesTheMemoryOfItsVariablesInPlace) {
  TensorStep step = descent();
  std::array<float, 2> w = {1, 2};
  const std::array<float, 2> x = {2, 4};
  step.hold({{w.data()}});
  EXPECT_EQ(run(step, x.data()), 3);
  EXPECT_EQ(w, (std::array<float, 2>{0, 0}));
  // What others write between steps is what the next step reads.
  w = {10, 20};
  EXPECT_EQ(run(step, x.data()), 30);
  EXPECT_EQ(w, (std::array<float, 2>{9, 18}));
}

TEST(TensorStep, GoesOnWithOtherMemory) {
  TensorStep step = descent();
  std::array<float, 2> first = {1, 2}, second = {5, 6};
  const std::array<float, 2> x = {2, 4};
  step.hold({{first.data()}});
  run(step, x.data());
  step.hold({{second.data()}});
  EXPECT_EQ(run(step, x.data()), 11);
  EXPECT_EQ(first, (std::array<float, 2>{0, 0}));
  EXPECT_EQ(second, (std::array<float, 2>{4, 4}));
}

TEST(TensorStep, KeepsTheOwnersOfItsMemory) {
  const auto owner = std::make_shared<std::array<float, 2>>();
  {
    TensorStep step = descent();
    step.hold({{owner->data(), owner}});
    EXPECT_GT(owner.use_count(), 1);
  }
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(TensorStep, SaysWhatItMisses) {
  TensorStep step = descent();
  const std::array<float, 2> x = {2, 4};
  EXPECT_EQ(message([&] { run(step, x.data()); }), "descent: call hold() before run()");
  EXPECT_EQ(message([&] { step.hold({}); }), "descent: the memory of 0 variables was given but it has 1");
  std::array<float, 2> w = {1, 2};
  step.hold({{w.data()}});
  EXPECT_EQ(message([&] { step.run({}, {}, 0); }), "descent: 0 inputs and 0 outputs were given but it has 1 and 1");
  EXPECT_EQ(message([] {
              TensorStep("wrong", {pair_type}, {{"w", {DType::float32, {}}}},
                         [](const auto& inputs, const auto&, const Tensor&) -> TensorStep::Results {
                           return {{}, {{0, inputs[0]}}};
                         });
            }),
            "wrong: the variable 'w' is float32[] and cannot become float32[2]");
}

TEST(TensorStep, RefusesAnIndexThatIsOutOfRange) {
  const Type table{DType::float32, {3, 2}};
  TensorStep step(
      "lookup", {{DType::int32, {1}}}, {{"table", table}},
      [](const auto& indices, const auto& tables, const Tensor&) -> TensorStep::Results {
        return {{apply("rows", {tables[0], indices[0]}, [](const auto& v) { return ops::gather(v[0], v[1]); })}, {}};
      },
      {.device = Device({.tiles = 1, .backend = "cpu"})});
  std::array<float, 6> rows = {0, 1, 2, 3, 4, 5};
  step.hold({{rows.data()}});
  std::array<float, 2> result = {};
  const auto look_up = [&](std::int32_t index) {
    const std::array<const void*, 1> inputs = {&index};
    const std::array<void*, 1> outputs = {result.data()};
    step.run(inputs, outputs, 0);
  };
  look_up(2);
  EXPECT_EQ(result, (std::array<float, 2>{4, 5}));
  EXPECT_NE(message([&] { look_up(3); }).find("3"), std::string::npos);
}

}  // namespace
}  // namespace pando
