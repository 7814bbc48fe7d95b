// SPDX-License-Identifier: Apache-2.0
// Computations: values, gradients and updates of what is done with modules outside of PopTorch; parameters that modules
// share; values through which no gradient goes.
#include <pando/frontends/torch/computation.h>

#include "tests/message.h"
#include "tests/torch/reference.h"

using namespace pando;

namespace {

const Type pair_of_rows = {DType::float32, {2, 2}};

Tensor stopped(const Tensor& x) {
  return apply("stop_gradient", {x}, [](const std::vector<Value>& v) { return ops::stop_gradient(v[0]); });
}

Tensor summed(const Tensor& x) {
  return apply("sum", {x}, [](const std::vector<Value>& v) { return ops::reduce_sum(v[0]); });
}

TEST(Computations, GradientsOfParametersHaveTheirLayout) {
  nn::Linear linear(2, 3);
  torch::Computation gradient({pair_of_rows}, {.modules = {{"linear", linear}}}, [&](const std::vector<Tensor>& in) {
    return torch::ComputationResults{torch::gradients(summed(linear(in[0])), linear.parameters(), {in[0]})};
  });
  const Arrays found = gradient.run({Array::of<float>({1, 2, 3, 4}, {2, 2})});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].shape(), (Shape{3, 2}));
  for (int row = 0; row < 3; ++row) {
    EXPECT_EQ(found[0].data<float>()[2 * row], 4.0F);
    EXPECT_EQ(found[0].data<float>()[2 * row + 1], 6.0F);
    EXPECT_EQ(found[1].data<float>()[row], 2.0F);
  }
  EXPECT_EQ(found[2].shape(), (Shape{2, 2}));
}

TEST(Computations, StepsTakeTheRateAndContinueTheStates) {
  nn::Linear linear(2, 1, {.bias = false});
  linear.parameters()[0].set_value(Array::of<float>({1, 1}, {1, 2}));
  const torch::optim::SGD optimizer(linear.parameters(), {.lr = 0.5, .momentum = 0.5});
  const auto states = std::make_shared<torch::OptimizerStates>();
  const torch::ComputationFunction function = [&](const std::vector<Tensor>& in) {
    const Tensor loss = summed(linear(in[0]));
    return torch::ComputationResults{{loss},
                                     {{linear.parameters()[0], torch::gradients(loss, linear.parameters())[0]}}};
  };
  const nn::ModuleParts parts{.modules = {{"linear", linear}}};
  torch::Computation first({pair_of_rows}, parts, function, optimizer, states);
  torch::Computation second({{DType::float32, {1, 2}}}, parts, function, optimizer, states);
  EXPECT_EQ(first.run({Array::of<float>({1, 0, 0, 2}, {2, 2})})[0].item<float>(), 3.0F);
  // The gradient is [1, 2]: the weights become [0.5, 0], and the velocity [1, 2].
  EXPECT_EQ(linear.parameters()[0].value().data<float>()[0], 0.5F);
  EXPECT_EQ(linear.parameters()[0].value().data<float>()[1], 0.0F);
  optimizer.set_lr(1.0);
  second.run({Array::of<float>({1, 1}, {1, 2})});
  // The velocity becomes [1.5, 2].
  EXPECT_EQ(linear.parameters()[0].value().data<float>()[0], -1.0F);
  EXPECT_EQ(linear.parameters()[0].value().data<float>()[1], -2.0F);
  EXPECT_EQ(states->updates, 2);
}

TEST(Computations, NoGradientGoesThroughAStoppedValue) {
  torch::Computation gradient({pair_of_rows}, {}, [](const std::vector<Tensor>& in) {
    return torch::ComputationResults{torch::gradients(summed(in[0] * stopped(in[0])), {}, {in[0]})};
  });
  const Array found = gradient.run({Array::of<float>({1, 2, 3, 4}, {2, 2})})[0];
  for (int i = 0; i < 4; ++i) EXPECT_EQ(found.data<float>()[i], static_cast<float>(i + 1));
}

TEST(Computations, StatisticsAreKeptOnlyIfTheyAreWanted) {
  nn::BatchNorm2d norm(1);
  const Type images = {DType::float32, {2, 1, 1, 2}};
  const Array x = Array::of<float>({1, 2, 3, 4}, {2, 1, 1, 2});
  for (const bool keep : {false, true}) {
    torch::Computation run({images}, {.modules = {{"norm", norm}}}, [&](const std::vector<Tensor>& in) {
      torch::keep_statistics(keep);
      return torch::ComputationResults{{norm(in[0])}};
    });
    run.run({x});
    EXPECT_FLOAT_EQ(norm.named_buffers()[0].second.value().item<float>(), keep ? 0.25F : 0.0F);
  }
}

// The statistics of the first call are kept already where it is computed a second time.
TEST(Computations, StatisticsFollowTheOrderOfTheCalls) {
  nn::BatchNorm2d norm(1);
  const Type images = {DType::float32, {2, 1, 1, 2}};
  const Array x = Array::of<float>({1, 2, 3, 4}, {2, 1, 1, 2});
  torch::Computation run({images}, {.modules = {{"norm", norm}}}, [&](const std::vector<Tensor>& in) {
    const Tensor first = norm(in[0]), second = norm(in[0] * 3.0);
    torch::keep_statistics(false);
    return torch::ComputationResults{{first + second + norm(in[0] * 100.0)}};
  });
  run.run({x});
  EXPECT_NEAR(norm.named_buffers()[0].second.value().item<float>(), 0.9 * 0.25 + 0.1 * 7.5, 1e-6);
  const double variance = 5.0 / 3;
  EXPECT_NEAR(norm.named_buffers()[1].second.value().item<float>(), 0.9 * (0.9 + 0.1 * variance) + 0.1 * 9 * variance,
              1e-5);
}

TEST(Computations, AnIndexOutOfRangeNamesItsModule) {
  nn::Embedding embedding(5, 3);
  const auto refused = [&](bool computed, std::int64_t index) {
    torch::Computation run({{DType::int64, {2}}}, {.modules = {{"table", embedding}}},
                           [&](const std::vector<Tensor>& in) {
                             return torch::ComputationResults{{embedding(computed ? in[0] * 2.0 - in[0] : in[0])}};
                           });
    EXPECT_EQ(run.run({Array::of<std::int64_t>({0, 4}, {2})})[0].shape(), (Shape{2, 3}));
    return message([&] { run.run({Array::of<std::int64_t>({0, index}, {2})}); });
  };
  EXPECT_EQ(refused(false, 5), "gather 'table': index 5 is out of range for a table of 5 rows; indices must be 0 to 4");
  EXPECT_EQ(refused(false, (std::int64_t{1} << 32) + 1),
            "gather 'table': index 4294967297 is out of range for a table of 5 rows; indices must be 0 to 4");
  EXPECT_EQ(refused(true, -1),
            "gather 'table': index -1 is out of range for a table of 5 rows; indices must be 0 to 4");
}

TEST(Computations, SayWhatIsMissing) {
  nn::Linear linear(2, 1);
  const torch::optim::SGD optimizer(linear.parameters());
  EXPECT_EQ(message([&] {
              torch::Computation(
                  {pair_of_rows}, {.modules = {{"linear", linear}}},
                  [&](const std::vector<Tensor>& in) { return torch::ComputationResults{{linear(in[0])}}; }, optimizer);
            }),
            "optimizer: none of its parameters has a gradient; call backward() before step()");
  EXPECT_EQ(message([&] { torch::keep_statistics(true); }),
            "keep_statistics: call it in a function that a Computation traces");
}

TEST(SharedParameters, AnEmbeddingIsTheWeightOfALinear) {
  nn::Embedding embedding(5, 3);
  nn::Linear linear(3, 5, {.bias = false});
  linear.set_parameter("weight", embedding.parameters()[0]);
  EXPECT_EQ(message([&] {
              linear.set_parameter("weight", nn::Parameter(ones({2, 2})));
            }),
            "Linear: the parameter 'weight' has shape [5, 3] but the other one has shape [2, 2]");
  EXPECT_EQ(message([&] { linear.set_parameter("scale", nn::Parameter(ones({2}))); }),
            "Linear has no parameter named 'scale'");
  torch::Computation run(
      {{DType::int32, {2}}}, {.modules = {{"embedding", embedding}, {"linear", linear}}},
      [&](const std::vector<Tensor>& in) { return torch::ComputationResults{{linear(embedding(in[0]))}}; });
  const Array table = embedding.parameters()[0].value(), found = run.run({Array::of<std::int32_t>({1, 4}, {2})})[0];
  const float* rows = table.data<float>();
  float expected = 0;
  for (int i = 0; i < 3; ++i) expected += rows[3 + i] * rows[6 + i];
  EXPECT_NEAR(found.data<float>()[2], expected, 1e-5);
}

}  // namespace
