// SPDX-License-Identifier: Apache-2.0
// Calls with fewer samples than the model was compiled for: they are worth exactly what their samples are, however the
// call is divided, and whatever fills the last micro-batches up.
#include "tests/poptorch/network.h"

namespace pando {

namespace {

// With statistics of the batch, and without drop-out, which draws by the number of the update.
struct Plain : nn::Module {
  explicit Plain(bool normalises = true, int ipus = 1) : normalises(normalises), ipus(ipus) {
    register_modules({{"conv", conv}, {"norm", norm}, {"flatten", flatten}, {"hidden", hidden}, {"output", output}});
    register_module("loss", loss);
  }
  std::tuple<Tensor, Tensor> forward(Tensor x, Tensor y) {
    x = conv(x);
    if (normalises) x = norm(x);
    if (ipus > 1) poptorch::BeginBlock(1);
    x = hidden(flatten(x));
    if (ipus > 2) poptorch::BeginBlock(2);
    const Tensor logits = output(tanh(x));
    return {logits, loss(logits, y)};
  }

  bool normalises;
  int ipus;
  nn::Conv2d conv{1, 3, {.kernel_size = 3}};
  nn::BatchNorm2d norm{3};
  nn::Flatten flatten;
  nn::Linear hidden{48, 8}, output{8, 3};
  nn::Tanh tanh;
  nn::CrossEntropyLoss loss;
};

Plain make_plain(bool normalises = true, int ipus = 1) {
  set_random_seed(3);
  return Plain(normalises, ipus);
}

torch::optim::SGD plain_sgd(const nn::Module& module) { return torch::optim::SGD(module.parameters(), {.lr = 0.1}); }

struct Samples {
  Array x, y;
  Samples part(std::int64_t first, std::int64_t last) const { return {x.slice(first, last), y.slice(first, last)}; }
};
Samples samples(std::int64_t count) { return {waves({count, 1, 6, 6}, 1.3), labels(count)}; }

TEST(PartialCalls, TrainAsAModelOfThatManySamplesDoes) {
  const Samples data = samples(11);
  Plain partial = make_plain(), exact = make_plain();
  auto training = poptorch::trainingModel(partial, {}, plain_sgd(partial));
  training(data.part(0, 8).x, data.part(0, 8).y);
  auto [logits, loss] = training(data.part(8, 11).x, data.part(8, 11).y);

  poptorch::trainingModel(exact, {}, plain_sgd(exact))(data.part(0, 8).x, data.part(0, 8).y);
  auto [exact_logits, exact_loss] =
      poptorch::trainingModel(exact, {}, plain_sgd(exact))(data.part(8, 11).x, data.part(8, 11).y);
  EXPECT_EQ(logits.shape(), Shape({3, 3}));
  EXPECT_TRUE(allclose(logits, exact_logits, 1e-5, 1e-6));
  EXPECT_NEAR(loss.item<double>(), exact_loss.item<double>(), 1e-6);
  // Weights, and the running statistics of the normalisation.
  EXPECT_LT(distance(exact.state_dict(), partial.state_dict()), 1e-6);
}

// Normalises twice by the same module.
struct TwiceNormal : nn::Module {
  TwiceNormal() {
    register_modules({{"norm", norm}});
    register_module("loss", loss);
  }
  std::tuple<Tensor, Tensor> forward(Tensor x, Tensor y) {
    // A statement each, as operands may be computed in any order.
    const Tensor first = norm(x), out = first + norm(x * 3.0 - 1.0);
    return {out, loss(out, y)};
  }
  nn::BatchNorm2d norm{1};
  nn::MSELoss loss;
};

TEST(SharedModules, MoveTheirStatisticsInTheOrderOfTheCalls) {
  TwiceNormal module;
  auto training = poptorch::trainingModel(module, Options().deviceIterations(2),
                                          torch::optim::SGD(module.parameters(), {.lr = 0.0}));
  const Array x = waves({8, 1, 2, 2}, 1.3);
  training(x, zeros({8, 1, 2, 2}));
  double mean = 0, variance = 1;
  for (int batch = 0; batch < 2; ++batch)
    for (const auto& [scale, offset] : {std::pair{1.0, 0.0}, {3.0, -1.0}}) {
      double sum = 0, squares = 0;
      for (int i = 0; i < 16; ++i) sum += x.data<float>()[batch * 16 + i] * scale + offset;
      for (int i = 0; i < 16; ++i) squares += std::pow(x.data<float>()[batch * 16 + i] * scale + offset - sum / 16, 2);
      mean = mean * 0.9 + sum / 16 * 0.1;
      variance = variance * 0.9 + squares / 15 * 0.1;
    }
  EXPECT_NEAR(module.norm.named_buffers()[0].second.value().item<float>(), mean, 1e-6);
  EXPECT_NEAR(module.norm.named_buffers()[1].second.value().item<float>(), variance, 1e-6);
}

TEST(PartialCalls, RunAsManyDeviceIterationsAsTheyHaveSamplesFor) {
  const Samples data = samples(13);
  Plain partial = make_plain(), exact = make_plain();
  auto training =
      poptorch::trainingModel(partial, Options().deviceIterations(4).outputMode(OutputMode::All), plain_sgd(partial));
  training(data.part(0, 8).x, data.part(0, 8).y);
  auto [logits, losses] = training(data.part(8, 13).x, data.part(8, 13).y);
  EXPECT_EQ(logits.shape(), Shape({5, 3}));
  EXPECT_EQ(losses.shape(), Shape({3}));

  std::vector<double> exact_losses;
  for (std::int64_t first = 0; first < 13; first += 2) {
    const Samples batch = data.part(first, std::min<std::int64_t>(13, first + 2));
    auto [scores, loss] = poptorch::trainingModel(exact, {}, plain_sgd(exact))(batch.x, batch.y);
    exact_losses.push_back(loss.item<double>());
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(losses.data<float>()[i], exact_losses[4 + i], 1e-5);
  EXPECT_LT(distance(exact.state_dict(), partial.state_dict()), 1e-5);
}

TEST(PartialCalls, OfWholeMicroBatchesNeedNoMask) {
  // It mixes the samples of a micro-batch, which is allowed as long as the micro-batch is whole.
  struct Centred : nn::Module {
    Centred() { register_modules({{"linear", linear}}); }
    Tensor forward(Tensor x) {
      const Tensor y = linear(x);
      return y - apply("mean", {y}, [](const std::vector<Value>& v) {
               return ops::reduce_mean(v[0], {.axes = {0}, .keep_dims = true});
             });
    }
    nn::Linear linear{4, 2};
  };
  set_random_seed(1);
  Centred model;
  auto inference = poptorch::inferenceModel(model, Options().deviceIterations(3));
  const Array x = waves({6, 4}, 1.1), all = inference(x);
  EXPECT_TRUE(array_equal(inference(x.slice(0, 4)), all.slice(0, 4)));
  EXPECT_EQ(message([&] { inference(x.slice(0, 3)); }),
            "inferenceModel: the samples do not fill the last micro-batch, and 'reduce_mean' in forward() mixes its "
            "samples, so that those that fill it up would count; reduce by a loss of torch::nn or by "
            "poptorch::identity_loss, or leave the last samples out: {.drop_last = true}");
  EXPECT_TRUE(array_equal(inference(x), all));
}

struct PartialDivision {
  std::string name;
  std::int64_t accumulation = 1;
  int replicas = 1, ipus = 1;
};
void PrintTo(const PartialDivision& division, std::ostream* out) { *out << division.name; }
class PartialCalls : public testing::TestWithParam<PartialDivision> {};
INSTANTIATE_TEST_SUITE_P(Divided, PartialCalls,
                         testing::Values(PartialDivision{"accumulation_4", 4}, PartialDivision{"replicas_4", 1, 4},
                                         PartialDivision{"replicas_2_accumulation_2", 2, 2},
                                         PartialDivision{"stages_2", 4, 1, 2}, PartialDivision{"stages_3", 4, 1, 3},
                                         PartialDivision{"replicas_2_stages_2", 2, 2, 2}),
                         [](const auto& test) { return test.param.name; });

// Updates of eight samples, and a last one of fewer: one device does the same with what there is.
TEST_P(PartialCalls, DividedOverIpusAreTheUpdateOfOne) {
  const PartialDivision& division = GetParam();
  for (const std::int64_t last : {1, 2, 3, 5, 6, 7}) {
    const Samples data = samples(16 + 8 + last);
    Plain divided = make_plain(false, division.ipus), whole = make_plain(false);
    Options options;
    options.deviceIterations(2).replicationFactor(division.replicas);
    options.Training.gradientAccumulation(division.accumulation);
    auto training = poptorch::trainingModel(divided, options, plain_sgd(divided));
    training(data.part(0, 16).x, data.part(0, 16).y);
    training(data.part(16, 24 + last).x, data.part(16, 24 + last).y);

    auto exact = poptorch::trainingModel(whole, {}, plain_sgd(whole));
    for (std::int64_t first = 0; first < 24; first += 8)
      exact(data.part(first, first + 8).x, data.part(first, first + 8).y);
    poptorch::trainingModel(whole, {}, plain_sgd(whole))(data.part(24, 24 + last).x, data.part(24, 24 + last).y);
    EXPECT_LT(distance(whole.state_dict(), divided.state_dict()), 1e-6) << last << " samples at the end";
    EXPECT_GT(distance(whole.state_dict(), make_plain(false).state_dict()), 1e-3);
  }
}

TEST(PartialCalls, ReturnWhatTheOutputModeChoosesOfRealSamples) {
  const Samples data = samples(16);
  // Of 4 rows of 2 replicas and 2 samples; 9 samples are two rows, and one sample.
  const auto outputs = [&](OutputMode mode, std::int64_t period, std::int64_t count) {
    Plain model = make_plain(false);
    auto training =
        poptorch::trainingModel(model, Options().deviceIterations(4).replicationFactor(2).outputMode(mode, period),
                                torch::optim::SGD(model.parameters(), {.lr = 0.0}));
    training(data.x, data.y);
    return training(data.part(0, count).x, data.part(0, count).y);
  };
  const auto [all, losses] = outputs(OutputMode::All, 1, 16);
  // A copy, because Clang 14 lets no lambda take part of a structured binding.
  const auto loss_of = [losses = losses](std::int64_t batch) { return losses.slice(batch, batch + 1); };
  const auto [nine, nine_losses] = outputs(OutputMode::All, 1, 9);
  EXPECT_TRUE(allclose(nine, all.slice(0, 9), 1e-5, 1e-6));
  EXPECT_EQ(nine_losses.shape(), Shape({5}));
  EXPECT_TRUE(allclose(nine_losses.slice(0, 4), losses.slice(0, 4), 1e-5, 1e-6));
  const auto [last, last_losses] = outputs(OutputMode::Final, 1, 9);
  EXPECT_TRUE(allclose(last, all.slice(8, 9), 1e-5, 1e-6));
  EXPECT_EQ(last_losses.shape(), Shape({1}));
  const auto [second, second_losses] = outputs(OutputMode::EveryN, 2, 9);
  EXPECT_TRUE(allclose(second, all.slice(4, 8), 1e-5, 1e-6));
  EXPECT_TRUE(allclose(second_losses, concatenate({loss_of(2), loss_of(3)}), 1e-5, 1e-6));
  const auto [fourth, fourth_losses] = outputs(OutputMode::EveryN, 2, 15);
  EXPECT_TRUE(allclose(fourth, concatenate({all.slice(4, 8), all.slice(12, 15)}), 1e-5, 1e-6));
  const auto [total, total_losses] = outputs(OutputMode::Sum, 1, 9);
  EXPECT_EQ(total.shape(), Shape({4, 3}));
  EXPECT_TRUE(allclose(total.slice(0, 1), all.slice(0, 1) + all.slice(4, 5) + all.slice(8, 9), 1e-5, 1e-5));
  EXPECT_TRUE(allclose(total.slice(1, 4), all.slice(1, 4) + all.slice(5, 8), 1e-5, 1e-5));
  EXPECT_TRUE(allclose(total_losses.slice(1, 2), loss_of(1) + loss_of(3), 1e-5, 1e-5));
  EXPECT_EQ(std::get<0>(outputs(OutputMode::Sum, 1, 3)).shape(), Shape({3, 3}));
}

TEST(PartialCalls, PredictAnyNumberOfSamples) {
  Network network = make_network();
  const Array x = waves({24, 1, 6, 6}, 1.3), expected = poptorch::inferenceModel(network)(x);
  for (const int replicas : {1, 2}) {
    auto inference = poptorch::inferenceModel(network, Options().deviceIterations(2).replicationFactor(replicas));
    inference(x);
    for (std::int64_t count = 1; count < 24; ++count) {
      const Array some = inference(x.slice(0, count));
      ASSERT_EQ(some.shape(), Shape({count, 3}));
      EXPECT_TRUE(allclose(some, expected.slice(0, count), 1e-5, 1e-6)) << count;
    }
  }
}

TEST(PartialCalls, KnowTheSamplesOfTensorsThatWereFlattened) {
  struct Words : nn::Module {
    Words() { register_modules({{"linear", linear}, {"loss", loss}}); }
    std::tuple<Tensor, Tensor> forward(Tensor x, Tensor y) {
      const Tensor logits = linear(x).view({-1, 3});
      return {logits, loss(logits, y.view({-1}))};
    }
    nn::Linear linear{4, 3};
    nn::CrossEntropyLoss loss;
  };
  const auto trained = [](std::int64_t compiled_for) {
    set_random_seed(1);
    Words model;
    auto training = poptorch::trainingModel(model, {}, plain_sgd(model));
    const Array x = waves({compiled_for, 5, 4}, 1.1), y = labels(compiled_for * 5).reshape({compiled_for, 5});
    training.compile(x, y);
    auto [logits, loss] = training(x.slice(0, 3), y.slice(0, 3));
    EXPECT_EQ(logits.shape(), Shape({15, 3}));
    return std::pair(model.state_dict(), loss.item<double>());
  };
  const auto [partial, partial_loss] = trained(7);
  const auto [exact, exact_loss] = trained(3);
  EXPECT_NEAR(partial_loss, exact_loss, 1e-6);
  EXPECT_LT(distance(exact, partial), 1e-6);
}

TEST(PartialCalls, RefuseLossesThatWouldCountCopies) {
  struct ByHand : nn::Module {
    ByHand() { register_modules({{"linear", linear}, {"loss", loss}}); }
    Tensor forward(Tensor x, Tensor y) {
      const Tensor mean =
          apply("mean", {loss(linear(x), y)}, [](const std::vector<Value>& v) { return ops::reduce_mean(v[0]); });
      return poptorch::identity_loss(mean, "none");
    }
    nn::Linear linear{4, 2};
    nn::MSELoss loss{{.reduction = "none"}};
  };
  ByHand model;
  auto training = poptorch::trainingModel(model, {}, plain_sgd(model));
  const Array x = waves({4, 4}, 1.1), y = waves({4, 2}, 0.7);
  training(x, y);
  const nn::StateDict before = model.state_dict();
  EXPECT_EQ(message([&] { training(x.slice(0, 3), y.slice(0, 3)); }),
            "trainingModel: the samples do not fill the last micro-batch, and 'reduce_mean' in forward() mixes its "
            "samples, so that those that fill it up would count; reduce by a loss of torch::nn or by "
            "poptorch::identity_loss, or leave the last samples out: {.drop_last = true}");
  EXPECT_EQ(distance(before, model.state_dict()), 0.0);
  training(x, y);
}

}  // namespace

}  // namespace pando
