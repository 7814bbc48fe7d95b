// SPDX-License-Identifier: Apache-2.0
// What a call returns: the batches that the output mode chooses.
#include "tests/poptorch/network.h"

namespace pando {

namespace {

// deviceIterations 3, accumulation 2, replicas 2, micro-batches of 2 samples.
struct Shapes {
  std::string predictions, losses;
};
Shapes output_shapes(OutputMode mode, std::int64_t period, bool divided) {
  Network network = make_network();
  WithLoss model(network);
  Options options;
  options.deviceIterations(3).outputMode(mode, period);
  if (divided) {
    options.replicationFactor(2);
    options.Training.gradientAccumulation(2);
  }
  auto training = poptorch::trainingModel(model, options, sgd(network));
  const std::int64_t samples = divided ? 24 : 6;
  auto [predictions, losses] = training(waves({samples, 1, 6, 6}, 1.3), labels(samples));
  return {to_string(predictions.shape()), to_string(losses.shape())};
}

TEST(OutputMode, DecidesWhichBatchesACallReturns) {
  const auto expect = [](OutputMode mode, std::int64_t period, bool divided, const std::string& predictions,
                         const std::string& losses) {
    const Shapes shapes = output_shapes(mode, period, divided);
    EXPECT_EQ(shapes.predictions, predictions);
    EXPECT_EQ(shapes.losses, losses);
  };
  expect(OutputMode::Default, 1, false, "[2, 3]", "[]");
  expect(OutputMode::Final, 1, false, "[2, 3]", "[]");
  expect(OutputMode::All, 1, false, "[6, 3]", "[3]");
  expect(OutputMode::Sum, 1, false, "[2, 3]", "[]");
  expect(OutputMode::EveryN, 3, false, "[2, 3]", "[1]");
  expect(OutputMode::Default, 1, true, "[4, 3]", "[2]");
  expect(OutputMode::All, 1, true, "[24, 3]", "[12]");
  expect(OutputMode::Sum, 1, true, "[4, 3]", "[2]");
  expect(OutputMode::EveryN, 3, true, "[8, 3]", "[4]");
}

TEST(OutputMode, ReturnsTheValuesOfThoseBatches) {
  Network network = make_network();
  const Array x = waves({12, 1, 6, 6}, 1.3);
  const auto predict = [&](OutputMode mode, std::int64_t period) {
    return poptorch::inferenceModel(network, Options().deviceIterations(4).outputMode(mode, period))(x);
  };
  const Array all = predict(OutputMode::All, 1);
  EXPECT_TRUE(array_equal(poptorch::inferenceModel(network)(x), all));
  EXPECT_TRUE(array_equal(predict(OutputMode::Default, 1), all));
  EXPECT_TRUE(array_equal(predict(OutputMode::Final, 1), all.slice(9, 12)));
  EXPECT_TRUE(array_equal(predict(OutputMode::EveryN, 2), concatenate({all.slice(3, 6), all.slice(9, 12)})));
  EXPECT_TRUE(allclose(predict(OutputMode::Sum, 1), sum(all.reshape({4, 3, 3}), 0)));
}

struct Scaled : nn::Module {
  Tensor forward(const Tensor& x, const Tensor& scale) { return x * scale; }
};

// The second tensor has one row for the three samples of each micro-batch.
TEST(OutputMode, TensorsMayHaveDifferentNumbersOfRows) {
  Scaled model;
  const Array x = waves({12, 5}, 1.3), scale = waves({4, 5}, 0.7);
  const Array all = poptorch::inferenceModel(model, Options().deviceIterations(4))(x, scale);
  for (std::int64_t i = 0; i < 12; ++i)
    EXPECT_TRUE(array_equal(all.slice(i, i + 1), x.slice(i, i + 1) * scale.slice(i / 3, i / 3 + 1))) << i;
}

}  // namespace

}  // namespace pando
