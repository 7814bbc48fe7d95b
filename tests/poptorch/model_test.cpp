// SPDX-License-Identifier: Apache-2.0
// Models over their life: weights, losses, optimizers, files, counters and data.
#include <cstdio>

#include "tests/poptorch/network.h"

namespace pando {

namespace {

TEST(InferenceModel, SeesTheNewestWeights) {
  Network network = make_network();
  WithLoss model(network);
  auto training = poptorch::trainingModel(model, {}, sgd(network));
  auto inference = poptorch::inferenceModel(network);
  const Array x = waves({8, 1, 6, 6}, 1.3);
  const Array before = inference(x);
  training(x, labels(8));
  const Array after = inference(x);
  EXPECT_FALSE(array_equal(before, after));
  network.load_state_dict(make_network().state_dict());
  EXPECT_TRUE(array_equal(inference(x), before));
}

TEST(IdentityLoss, MakesAnyTensorTheLoss) {
  struct Custom : nn::Module {
    Custom() { register_modules({{"linear", linear}, {"loss", loss}}); }
    std::tuple<Tensor, Tensor> forward(Tensor x, Tensor y) {
      const Tensor error = loss(linear(x), y);
      return {error, poptorch::identity_loss(error * 2.0 + 1.0, "sum")};
    }
    nn::Linear linear{4, 2};
    nn::L1Loss loss{{.reduction = "none"}};
  };
  set_random_seed(1);
  Custom model;
  const Array bias = model.state_dict().at("linear.bias");
  auto training = poptorch::trainingModel(model, {}, torch::optim::SGD(model.parameters(), {.lr = 0.5}));
  auto [error, loss] = training(waves({3, 4}, 1.1), full({3, 2}, 100.0));
  EXPECT_EQ(to_string(error.shape()), "[3, 2]");
  EXPECT_NEAR(loss.item<double>(), sum(error * 2.0 + 1.0).item<double>(), 1e-2);
  // Each of three samples pulls the bias up by lr * 2.
  EXPECT_TRUE(allclose(model.state_dict().at("linear.bias"), bias + 3.0, 1e-5));
}

TEST(SetOptimizer, ChangesRateAndRuleAndKeepsTheRest) {
  Network network = make_network();
  WithLoss model(network);
  auto optimizer = torch::optim::SGD(network.parameters(), {.lr = 0.1});
  auto training = poptorch::trainingModel(model, {}, optimizer);
  const Array x = waves({8, 1, 6, 6}, 1.3), y = labels(8);
  training(x, y);
  // A rate that is set acts at the next call.
  optimizer.set_lr(0.0);
  const nn::StateDict before = network.state_dict();
  training(x, y);
  EXPECT_EQ(distance(before, network.state_dict()), 0.0);
  training.setOptimizer(torch::optim::Adam(network.parameters(), {.lr = 0.01}));
  training(x, y);
  EXPECT_GT(distance(before, network.state_dict()), 1e-3);
}

// A line through (1, 5), whose slope begins at 0.
struct Slope : nn::Module {
  Slope() {
    register_modules({{"linear", linear}, {"loss", loss}});
    load_state_dict({{"linear.weight", zeros({1, 1})}});
  }
  Tensor forward(Tensor x, Tensor y) { return loss(linear(x), y); }
  double value() const { return state_dict().at("linear.weight").item<double>(); }
  nn::Linear linear{1, 1, {.bias = false}};
  nn::MSELoss loss;
};

// The slopes that PyTorch comes to with these optimizers, each made anew.
TEST(SetOptimizer, ToANewOneBeginsAsItsFirstUpdate) {
  Slope model;
  const auto sgd = [&] { return torch::optim::SGD(model.parameters(), {.lr = 0.01, .momentum = 0.9}); };
  const auto adam = [&] { return torch::optim::Adam(model.parameters(), {.lr = 0.1}); };
  auto training = poptorch::trainingModel(model, {}, sgd());
  const Array x = ones({4, 1}), y = full({4, 1}, 5.0);
  const auto expect = [&](const std::vector<double>& slopes) {
    for (const double slope : slopes) {
      training(x, y);
      EXPECT_NEAR(model.value(), slope, 1e-6);
    }
  };
  expect({0.1, 0.288, 0.55144});
  training.setOptimizer(adam());
  expect({0.6514399, 0.7513742, 0.8511969});
  training.setOptimizer(sgd());
  expect({0.9341730, 1.0901680});
  training.setOptimizer(adam());
  expect({1.1901680, 1.2900921});
}

TEST(SetOptimizer, OfTheSameKindWithAnotherRateGoesOn) {
  const auto slope = [](bool changes) {
    Slope model;
    const auto adam = [&](double rate) { return torch::optim::Adam(model.parameters(), {.lr = rate}); };
    const torch::optim::Adam first = adam(0.1);
    auto training = poptorch::trainingModel(model, {}, first);
    const Array x = ones({4, 1}), y = full({4, 1}, 5.0);
    for (int i = 0; i < 4; ++i) training(x, y);
    if (changes) training.setOptimizer(adam(0.02));
    else first.set_lr(0.02);
    for (int i = 0; i < 4; ++i) training(x, y);
    return model.value();
  };
  EXPECT_EQ(slope(true), slope(false));
}

TEST(SetOptimizer, IsKeptByFiles) {
  const std::string path = testing::TempDir() + "poptorch_optimizer.npz";
  const Array x = ones({4, 1}), y = full({4, 1}, 5.0);
  Slope model, other;
  auto training = poptorch::trainingModel(model, {}, torch::optim::SGD(model.parameters(), {.lr = 0.01}));
  for (int i = 0; i < 3; ++i) training(x, y);
  training.setOptimizer(torch::optim::Adam(model.parameters(), {.lr = 0.1}));
  for (int i = 0; i < 2; ++i) training(x, y);
  training.save(path);
  for (int i = 0; i < 2; ++i) training(x, y);
  auto resumed = poptorch::trainingModel(other, {}, torch::optim::Adam(other.parameters(), {.lr = 0.1}));
  // Compiled before and after loading.
  for (int i = 0; i < 2; ++i) {
    resumed.load(path);
    for (int j = 0; j < 2; ++j) resumed(x, y);
    EXPECT_EQ(other.value(), model.value());
  }
  std::remove(path.c_str());
}

TEST(SetOptimizer, OfOtherParametersTrainsNone) {
  Network network = make_network();
  WithLoss model(network);
  auto training = poptorch::trainingModel(model, {}, torch::optim::SGD(network.parameters(), {.lr = 0.1}));
  const Array x = waves({8, 1, 6, 6}, 1.3), y = labels(8);
  training(x, y);
  const nn::StateDict before = network.state_dict();
  // Of another model: none of the parameters is trained, and nothing is wrong with that.
  Network other = make_network();
  training.setOptimizer(torch::optim::SGD(other.parameters(), {.lr = 0.1}));
  training(x, y);
  EXPECT_EQ(distance(before, network.state_dict()), 0.0);
  EXPECT_EQ(message([&] { poptorch::inferenceModel(network).setOptimizer(sgd(network)); }),
            "setOptimizer: an inferenceModel has no optimizer");
}

TEST(RandomSeed, DecidesWhatDropoutDraws) {
  const auto weights = [](std::uint64_t seed) {
    Network network = make_network();
    WithLoss model(network);
    poptorch::trainingModel(model, Options().randomSeed(seed), sgd(network))(waves({8, 1, 6, 6}, 1.3), labels(8));
    return network.state_dict();
  };
  EXPECT_EQ(distance(weights(1), weights(1)), 0.0);
  EXPECT_GT(distance(weights(1), weights(2)), 1e-4);
}

TEST(RandomSeed, AloneDecidesItForEqualModels) {
  struct Masks : nn::Module {
    Masks() { register_modules({{"first", first}, {"second", second}, {"linear", linear}, {"loss", loss}}); }
    std::tuple<Tensor, Tensor, Tensor> forward(Tensor x, Tensor y) {
      const Tensor a = first(x), b = second(x);
      return {a, b, loss(linear(a + b), y)};
    }
    nn::Dropout first{0.5}, second{0.5};
    nn::Linear linear{16, 1};
    nn::MSELoss loss;
  };
  const auto masks = [](const Options& options) {
    Masks model;
    auto training = poptorch::trainingModel(model, options, torch::optim::SGD(model.parameters(), {.lr = 0.0}));
    auto [a, b, loss] = training(ones({8, 16}), ones({8, 1}));
    return std::pair(a, b);
  };
  const auto [a, b] = masks(Options().randomSeed(42));
  const auto [again_a, again_b] = masks(Options().randomSeed(42));
  EXPECT_TRUE(array_equal(a, again_a));
  EXPECT_TRUE(array_equal(b, again_b));
  EXPECT_FALSE(array_equal(a, b));
  EXPECT_FALSE(array_equal(masks(Options()).first, masks(Options()).first));
}

TEST(Precision, StopsWhereAValueBecomesInfinite) {
  struct Explodes : nn::Module {
    Explodes() { register_modules({{"linear", linear}}); }
    Tensor forward(Tensor x) { return linear(x) / (x - x); }
    nn::Linear linear{4, 4};
  };
  Explodes model;
  Options options;
  options.Precision.enableFloatingPointExceptions(true);
  EXPECT_NE(message([&] { poptorch::inferenceModel(model, options)(ones({2, 4})); }), "(nothing was thrown)");
  EXPECT_EQ(message([&] { poptorch::inferenceModel(model)(ones({2, 4})); }), "(nothing was thrown)");
}

TEST(Save, GoesOnExactlyWhereItWas) {
  const std::string path = testing::TempDir() + "poptorch_model.npz";
  const Array x = waves({8, 1, 6, 6}, 1.3), y = labels(8);
  const auto adam = [](const Network& network) { return torch::optim::Adam(network.parameters(), {.lr = 0.01}); };
  Network network = make_network();
  WithLoss model(network);
  auto training = poptorch::trainingModel(model, {}, adam(network));
  for (int i = 0; i < 3; ++i) training(x, y);
  training.save(path);
  for (int i = 0; i < 3; ++i) training(x, y);

  set_random_seed(3);
  Network other(1);
  WithLoss other_model(other);
  auto resumed = poptorch::trainingModel(other_model, {}, adam(other));
  resumed.load(path);
  for (int i = 0; i < 3; ++i) resumed(x, y);
  EXPECT_EQ(distance(network.state_dict(), other.state_dict()), 0.0);
  std::remove(path.c_str());

  EXPECT_NE(message([&] { resumed.load(path); }).find(path), std::string::npos);
  data::write_npz(path, {{"something", zeros({1})}});
  EXPECT_EQ(message([&] { resumed.load(path); }),
            "load: " + path + " is not a model file: it has an array named 'something'");
  std::remove(path.c_str());
}

TEST(PerfCounters, CountCallsAndCycles) {
  Network network = make_network();
  auto inference = poptorch::inferenceModel(network);
  EXPECT_EQ(message([&] { inference.cycleCount(); }), "inferenceModel: cycleCount needs a call of the model");
  for (int i = 0; i < 3; ++i) inference(waves({2, 1, 6, 6}, 1.0));
  const poptorch::PerfCounters counters = inference.getPerfCounters();
  EXPECT_EQ(counters.calls, 3);
  EXPECT_GT(counters.least, 0.0);
  EXPECT_LE(counters.least, counters.mean);
  EXPECT_LE(counters.mean, counters.most);
  EXPECT_GT(inference.cycleCount(), 0);
}

TEST(DataLoader, CombinesTheBatchesOfACall) {
  Options options;
  options.deviceIterations(3).replicationFactor(2);
  options.Training.gradientAccumulation(2);
  const torch::utils::data::TensorDataset dataset(waves({50, 4}, 1.0), labels(50));
  const poptorch::DataLoader loader(options, dataset, {.batch_size = 2});
  std::vector<std::int64_t> sizes;
  for (auto [x, y] : loader) sizes.push_back(x.shape()[0]);
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{24, 24, 2}));
}

}  // namespace

}  // namespace pando
