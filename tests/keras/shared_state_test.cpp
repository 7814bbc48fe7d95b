// SPDX-License-Identifier: Apache-2.0
// Layers with state that are called several times in a step: each call goes on from what the one before it assigned.
#include "divided_training.h"
#include "tests/message.h"

namespace pando::keras {

namespace {

constexpr double old_share = 0.9;
constexpr std::int64_t row_width = 3;

struct Statistics {
  std::vector<double> mean = std::vector<double>(row_width, 0.0), variance = std::vector<double>(row_width, 1.0);

  // Moves them towards those of rows [first, last).
  void see(const Array& x, std::int64_t first, std::int64_t last) {
    for (std::int64_t c = 0; c < row_width; ++c) {
      const auto count = static_cast<double>(last - first), kept = old_share;
      double sum = 0, squares = 0;
      for (std::int64_t row = first; row < last; ++row) sum += x.data<float>()[row * row_width + c];
      for (std::int64_t row = first; row < last; ++row)
        squares += std::pow(x.data<float>()[row * row_width + c] - sum / count, 2);
      const auto channel = static_cast<std::size_t>(c);
      mean[channel] = mean[channel] * kept + sum / count * (1 - kept);
      variance[channel] = variance[channel] * kept + squares / count * (1 - kept);
    }
  }
};

Array numbers_about(double center, std::int64_t count) {
  Array array(DType::float32, {count, row_width});
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.mutable_data<float>()[i] = static_cast<float>(center + 2 * std::sin(static_cast<double>(i) * 1.7 + center));
  return array;
}

void expect_statistics(const Layer& norm, const Statistics& expected, const std::string& what) {
  const Array mean = norm.get_weight("moving_mean"), variance = norm.get_weight("moving_variance");
  for (std::int64_t c = 0; c < row_width; ++c) {
    EXPECT_NEAR(mean.data<float>()[c], expected.mean[static_cast<std::size_t>(c)], 1e-6) << what;
    EXPECT_NEAR(variance.data<float>()[c], expected.variance[static_cast<std::size_t>(c)], 1e-5) << what;
  }
}

// One normalisation of two inputs, as in a siamese network. It trains without moving its other weights.
struct Siamese {
  layers::BatchNormalization norm{{.momentum = old_share}};
  Model model = made(norm);
  Array a = numbers_about(2, 8), b = numbers_about(-1, 8);

  explicit Siamese(std::int64_t accumulation = 1) {
    if (accumulation > 1)
      model.set_gradient_accumulation_options({.gradient_accumulation_steps_per_replica = accumulation});
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.0}), .loss = "mse"});
  }
  static Model made(const Layer& norm) {
    const Tensor first = Input({row_width}), second = Input({row_width});
    const Tensor both = layers::Concatenate()({norm(first), norm(second)});
    return {std::vector{first, second}, std::vector{both}};
  }
  void fit(std::int64_t batch_size) {
    model.fit({a, b}, zeros({8, 2 * row_width}), {.batch_size = batch_size, .shuffle = false, .verbose = 0});
  }
};

TEST(SharedState, StatisticsAreUpdatedInTheOrderOfTheCalls) {
  Siamese siamese;
  Statistics expected;
  for (int epoch = 0; epoch < 2; ++epoch) {
    siamese.fit(4);
    for (const std::int64_t first : {0, 4}) {
      expected.see(siamese.a, first, first + 4);
      expected.see(siamese.b, first, first + 4);
    }
    expect_statistics(siamese.norm, expected, "epoch " + std::to_string(epoch));
  }
  siamese.model.evaluate({siamese.a, siamese.b}, zeros({8, 2 * row_width}), {.verbose = 0});
  siamese.model.predict({siamese.a, siamese.b});
  expect_statistics(siamese.norm, expected, "evaluate and predict");
}

TEST(SharedState, MicroBatchesFollowOneAnother) {
  configure(1, 1);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  Siamese siamese(4);
  siamese.fit(2);
  Statistics expected;
  for (std::int64_t first = 0; first < 8; first += 2) {
    expected.see(siamese.a, first, first + 2);
    expected.see(siamese.b, first, first + 2);
  }
  expect_statistics(siamese.norm, expected, "accumulation");
}

TEST(SharedState, ReplicasTakeTheMeanOfTheirs) {
  configure(2, 1);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  Siamese siamese;
  siamese.fit(4);
  Statistics first, second, expected;
  first.see(siamese.a, 0, 4);
  first.see(siamese.b, 0, 4);
  second.see(siamese.a, 4, 8);
  second.see(siamese.b, 4, 8);
  for (std::size_t c = 0; c < row_width; ++c) {
    expected.mean[c] = (first.mean[c] + second.mean[c]) / 2;
    expected.variance[c] = (first.variance[c] + second.variance[c]) / 2;
  }
  expect_statistics(siamese.norm, expected, "replicas");
}

// Statistics go from call to call, so that they cannot be in two stages at once.
TEST(SharedState, APipelineKeepsItInOneStage) {
  configure(2, 1);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  const auto trained = [&](int stage_of_second, layers::BatchNormalization& norm) {
    const Tensor input = Input({row_width});
    Tensor first, second;
    {
      const ipu::keras::PipelineStage stage(0);
      first = norm(input);
      second = stage_of_second == 0 ? norm(first * 2.0 + 1.0) : first;
    }
    const ipu::keras::PipelineStage stage(1);
    if (stage_of_second == 1) second = norm(first * 2.0 + 1.0);
    Model model(input, layers::Add()({first, second}));
    model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 2});
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.0}), .loss = "mse"});
    model.fit(numbers_about(2, 8), zeros({8, row_width}), {.batch_size = 4, .shuffle = false, .verbose = 0});
  };
  layers::BatchNormalization norm({.momentum = old_share, .name = "norm"}), divided({.name = "divided"});
  trained(0, norm);
  const Array x = numbers_about(2, 8);
  Statistics expected;
  for (const std::int64_t first : {0, 4}) {
    Statistics batch;
    expected.see(x, first, first + 4);
    // The first call gives mean 0 and, but for epsilon, variance 1; the second sees mean 1 and 4 times that variance.
    Array normal(DType::float32, {4, row_width});
    for (std::int64_t c = 0; c < row_width; ++c) {
      double sum = 0, squares = 0;
      for (std::int64_t i = 0; i < 4; ++i) sum += x.data<float>()[(first + i) * row_width + c];
      for (std::int64_t i = 0; i < 4; ++i)
        squares += std::pow(x.data<float>()[(first + i) * row_width + c] - sum / 4, 2);
      for (std::int64_t i = 0; i < 4; ++i)
        normal.mutable_data<float>()[i * row_width + c] = static_cast<float>(
            1 + 2 * (x.data<float>()[(first + i) * row_width + c] - sum / 4) / std::sqrt(squares / 4 + 1e-3));
    }
    expected.see(normal, 0, 4);
  }
  expect_statistics(norm, expected, "two stages");
  EXPECT_EQ(message([&] { trained(1, divided); }),
            "'divided/moving_mean', which every micro-batch changes, is used in the pipeline stages 0 and 1; put what "
            "uses it into one stage");
}

// As in Keras, a call that normalises by the moving statistics takes them as they are by then.
TEST(SharedState, ALaterCallReadsWhatAnEarlierOneAssigned) {
  const layers::BatchNormalization norm({.momentum = old_share});
  const Tensor input = Input({row_width});
  const Tensor trained = norm(input, {.training = true}), used = norm(input, {.training = false});
  Model model(input, layers::Concatenate()({trained, used}));
  const Array x = numbers_about(2, 8);
  Statistics expected;
  expected.see(x, 0, 8);
  const Array y = model.predict(x, {.batch_size = 8});
  expect_statistics(norm, expected, "predict");
  for (std::int64_t i = 0; i < 8; ++i)
    for (std::int64_t c = 0; c < row_width; ++c) {
      const auto channel = static_cast<std::size_t>(c);
      EXPECT_NEAR(
          y.data<float>()[i * 2 * row_width + row_width + c],
          (x.data<float>()[i * row_width + c] - expected.mean[channel]) / std::sqrt(expected.variance[channel] + 1e-3),
          1e-5);
    }
}

// Draws from its own stream in each call, whatever else is called twice.
TEST(SharedState, DropoutDrawsAnewInEachCall) {
  set_random_seed(1);
  const layers::Dropout dropout(0.5);
  const Tensor input = Input({64});
  Model model(input, layers::Concatenate()({dropout(input, {.training = true}), dropout(input, {.training = true})}));
  const Array y = model.predict(ones({4, 64}), {.batch_size = 4});
  std::int64_t different = 0;
  for (std::int64_t i = 0; i < 4; ++i)
    for (std::int64_t j = 0; j < 64; ++j)
      different += y.data<float>()[i * 128 + j] != y.data<float>()[i * 128 + 64 + j] ? 1 : 0;
  EXPECT_GT(different, 64);
}

}  // namespace

}  // namespace pando::keras
