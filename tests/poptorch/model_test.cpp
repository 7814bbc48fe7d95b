// Models of modules on virtual IPUs: what calls return, options, devices, and that dividing changes no result.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <cmath>
#include <cstdio>

#include "tests/message.h"

using namespace pando;
namespace nn = pando::torch::nn;
using poptorch::Options;
using poptorch::OutputMode;

namespace {

Array waves(const Shape& shape, double step) {
  Array array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.mutable_data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i + 1) * step));
  return array;
}

Array labels(std::int64_t count) {
  Array y(DType::int64, {count});
  for (std::int64_t i = 0; i < count; ++i) y.mutable_data<std::int64_t>()[i] = i * 5 % 3;
  return y;
}

// Three blocks, for one to three IPUs.
struct Network : nn::Module {
  explicit Network(int ipus = 1) : ipus(ipus) {
    register_modules(
        {{"conv", conv}, {"pool", pool}, {"flatten", flatten}, {"hidden", hidden}, {"drop", drop}, {"output", output}});
  }
  Tensor forward(Tensor x) {
    if (ipus == 3) {
      const poptorch::Block block(0);
      x = relu(pool(conv(x)));
    } else x = relu(pool(conv(x)));
    if (ipus > 1) poptorch::BeginBlock(1);
    x = tanh(hidden(flatten(x)));
    if (ipus == 3) poptorch::BeginBlock(2);
    return output(drop(x));
  }

  int ipus;
  nn::Conv2d conv{1, 3, {.kernel_size = 3}};
  nn::MaxPool2d pool{{.kernel_size = 2}};
  nn::Flatten flatten;
  nn::Linear hidden{12, 8};
  nn::Dropout drop{0.3};
  nn::Linear output{8, 3};
  nn::ReLU relu;
  nn::Tanh tanh;
};

struct WithLoss : nn::Module {
  explicit WithLoss(Network& network) : network(network) { register_modules({{"network", network}, {"loss", loss}}); }
  std::tuple<Tensor, Tensor> forward(Tensor x, Tensor y) {
    const Tensor logits = network.forward(x);
    return {logits, loss(logits, y)};
  }
  Network& network;
  nn::CrossEntropyLoss loss;
};

Network make_network(int ipus = 1) {
  set_random_seed(3);
  return Network(ipus);
}

auto sgd(const nn::Module& module) { return torch::optim::SGD(module.parameters(), {.lr = 0.1, .momentum = 0.9}); }

struct Division {
  std::string name;
  std::int64_t accumulation = 1;
  int replicas = 1;
  int ipus = 1;
  PipelineOrder order = PipelineOrder::grouped;
};
void PrintTo(const Division& division, std::ostream* out) { *out << division.name; }

constexpr std::int64_t update_samples = 8, updates = 20;

// The weights after the updates.
nn::StateDict trained(const Division& division) {
  Network network = make_network(division.ipus);
  WithLoss model(network);
  Options options;
  options.deviceIterations(updates / 2).replicationFactor(division.replicas);
  options.setExecutionStrategy(poptorch::PipelinedExecution{division.order});
  options.Training.gradientAccumulation(division.accumulation);
  auto training = poptorch::trainingModel(model, options, sgd(network));
  const Array x = waves({update_samples * updates, 1, 6, 6}, 1.3), y = labels(update_samples * updates);
  const std::int64_t half = update_samples * updates / 2;
  training(x.slice(0, half), y.slice(0, half));
  training(x.slice(half, 2 * half), y.slice(half, 2 * half));
  return network.state_dict();
}

double distance(const nn::StateDict& a, const nn::StateDict& b) {
  double difference = 0, norm = 0;
  for (const auto& [name, value] : a)
    for (std::int64_t i = 0; i < value.elements(); ++i) {
      const double x = value.data<float>()[i], y = b.at(name).data<float>()[i];
      difference += (x - y) * (x - y);
      norm += x * x;
    }
  return std::sqrt(difference / norm);
}

class Divided : public testing::TestWithParam<Division> {};
INSTANTIATE_TEST_SUITE_P(All, Divided,
                         testing::Values(Division{"accumulation_4", 4}, Division{"replicas_2", 1, 2},
                                         Division{"replicas_2_accumulation_4", 4, 2}, Division{"stages_2", 4, 1, 2},
                                         Division{"stages_3", 4, 1, 3},
                                         Division{"stages_3_interleaved", 8, 1, 3, PipelineOrder::interleaved},
                                         Division{"stages_2_sequential", 2, 1, 2, PipelineOrder::sequential},
                                         Division{"replicas_2_stages_2", 4, 2, 2}),
                         [](const auto& test) { return test.param.name; });

TEST_P(Divided, TrainsAsOneDeviceDoesWithTheWholeBatch) {
  const nn::StateDict whole = trained({"whole"});
  EXPECT_LT(distance(whole, trained(GetParam())), 1e-5);
  EXPECT_GT(distance(whole, make_network().state_dict()), 1e-2);
}

TEST(Reduction, OfSumsAddsWhatMeansDivide) {
  const auto step = [](poptorch::ReductionType type) {
    Network network = make_network();
    WithLoss model(network);
    Options options;
    options.Training.gradientAccumulation(4).accumulationAndReplicationReductionType(type);
    poptorch::trainingModel(model, options, torch::optim::SGD(network.parameters(), {.lr = 0.01}))(
        waves({8, 1, 6, 6}, 1.3), labels(8));
    return network.state_dict().at("output.bias") - make_network().state_dict().at("output.bias");
  };
  EXPECT_TRUE(allclose(step(poptorch::ReductionType::Sum), step(poptorch::ReductionType::Mean) * 4.0, 1e-4, 1e-7));
}

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

TEST(InferenceModel, RunsOnReplicasAndInPipelines) {
  Network network = make_network();
  const Array x = waves({24, 1, 6, 6}, 1.3);
  const Array expected = poptorch::inferenceModel(network)(x);
  EXPECT_TRUE(
      allclose(poptorch::inferenceModel(network, Options().deviceIterations(3).replicationFactor(2))(x), expected));
  network.ipus = 3;
  EXPECT_TRUE(allclose(poptorch::inferenceModel(network, Options().deviceIterations(4))(x), expected));
  EXPECT_TRUE(allclose(poptorch::inferenceModel(network, Options().deviceIterations(4).setExecutionStrategy(
                                                             poptorch::ShardedExecution()))(x),
                       expected));
}

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

TEST(BeginBlock, OnAModuleActsWhenItIsFirstCalled) {
  struct Plain : nn::Module {
    Plain() { register_modules({{"first", first}, {"second", second}, {"loss", loss}}); }
    Tensor forward(Tensor x, Tensor y) { return loss(second(first(x)), y); }
    nn::Linear first{4, 4};
    nn::Sequential second{nn::ReLU(), nn::Linear(4, 3)};
    nn::CrossEntropyLoss loss;
  };
  const auto weights = [](bool blocks) {
    set_random_seed(1);
    Plain model;
    if (blocks) {
      poptorch::BeginBlock(model.first, 0);
      poptorch::BeginBlock(model.second, 1);
    }
    Options options;
    options.Training.gradientAccumulation(2);
    poptorch::trainingModel(model, options, sgd(model))(waves({4, 4}, 1.1), labels(4));
    return model.state_dict();
  };
  EXPECT_LT(distance(weights(false), weights(true)), 1e-6);
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
            "load: " + path + " is no file of a model: it has an array named 'something'");
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

struct Refusals : testing::Test {
  Network network = make_network();
  WithLoss model{network};
  Array x = waves({6, 1, 6, 6}, 1.3), y = labels(6);
};

TEST_F(Refusals, NameTheProductThatABatchMustBeAMultipleOf) {
  Options options;
  options.deviceIterations(2).replicationFactor(2);
  options.Training.gradientAccumulation(3);
  auto training = poptorch::trainingModel(model, options, sgd(network));
  EXPECT_EQ(message([&] { training(x, y); }),
            "trainingModel: tensor 0 has shape [6, 1, 6, 6] but its first size must be a multiple of 12: "
            "deviceIterations 2 x gradientAccumulation 3 x replicationFactor 2");
}

TEST_F(Refusals, ShapesAndTypesThatChangedSinceCompiling) {
  auto training = poptorch::trainingModel(model, {}, sgd(network));
  training(x, y);
  EXPECT_EQ(message([&] { training(x.slice(0, 3), y.slice(0, 3)); }),
            "trainingModel: tensor 0 is float32[3, 1, 6, 6] but the model was compiled for float32[6, 1, 6, 6]; make "
            "another model for it");
  EXPECT_EQ(message([&] { training(x, y.astype(DType::int32)); }),
            "trainingModel: tensor 1 is int32[6] but the model was compiled for int64[6]; make another model for it");
  training(x, y);
}

TEST_F(Refusals, TheWrongNumberOfTensors) {
  auto training = poptorch::trainingModel(model, {}, sgd(network));
  EXPECT_EQ(message([&] { training(x); }), "trainingModel: forward() takes 2 tensors but 1 was given");
  auto inference = poptorch::inferenceModel(network);
  EXPECT_EQ(message([&] { inference(x, y); }), "inferenceModel: forward() takes 1 tensor but 2 were given");
}

TEST_F(Refusals, DevicesThatAreNotAttached) {
  auto inference = poptorch::inferenceModel(network);
  EXPECT_FALSE(inference.isCompiled());
  EXPECT_EQ(message([&] { inference.detachFromDevice(); }),
            "inferenceModel: no device is attached; compile the model, or call it, before");
  EXPECT_EQ(message([&] { inference.attachToDevice(); }),
            "inferenceModel: compile the model, or call it, before attachToDevice()");
  inference.compile(x);
  EXPECT_TRUE(inference.isCompiled());
  EXPECT_TRUE(inference.isAttachedToDevice());
  EXPECT_EQ(message([&] { inference.compile(x); }), "inferenceModel: the model is compiled already");
  EXPECT_EQ(message([&] { inference.attachToDevice(); }), "inferenceModel: a device is attached already");
  inference.copyWeightsToHost();
  inference.detachFromDevice();
  EXPECT_EQ(message([&] { inference(x); }), "inferenceModel: no device is attached; call attachToDevice()");
  EXPECT_EQ(message([&] { inference.copyWeightsToDevice(); }),
            "inferenceModel: no device is attached; call attachToDevice()");
  inference.attachToDevice();
  inference(x);
  inference.destroy();
  EXPECT_EQ(message([&] { inference(x); }), "inferenceModel: the model was destroyed; make a new one");
}

TEST_F(Refusals, OptionsThatAreFrozen) {
  Options options;
  const Options same = options;
  auto inference = poptorch::inferenceModel(network, options);
  options.deviceIterations(2);
  inference(x);
  EXPECT_EQ(message([&] { options.deviceIterations(3); }),
            "Options: deviceIterations cannot be changed any more, a model was compiled with these options; change a "
            "clone() of them and make a new model");
  EXPECT_EQ(message([&] { Options(same).Training.gradientAccumulation(3); }),
            "Options: gradientAccumulation cannot be changed any more, a model was compiled with these options; change "
            "a clone() of them and make a new model");
  options.clone().deviceIterations(3);
}

TEST_F(Refusals, OptionsThatMakeNoSense) {
  EXPECT_EQ(message([] { Options().deviceIterations(0); }), "Options: deviceIterations is 0 but must be at least 1");
  EXPECT_EQ(message([] { Options().replicationFactor(-1); }),
            "Options: replicationFactor is -1 but must be at least 1");
  EXPECT_EQ(message([] { Options().outputMode(OutputMode::All, 2); }),
            "Options: outputMode has the period 2, which only EveryN takes");
  EXPECT_EQ(message([] { Options().Precision.setPartialsType(DType::bfloat16); }),
            "Options: setPartialsType takes float32 only; sums within ops are kept in it");
  EXPECT_EQ(message([] { Options().Precision.enableStochasticRounding(true); }),
            "Options: stochastic rounding is not there; weights are float32 and round to nearest");
}

TEST_F(Refusals, LossesThatAreMissingOrManyOrNotOneNumber) {
  struct Losses : nn::Module {
    explicit Losses(int count, const std::string& reduction = "mean") : count(count), loss({.reduction = reduction}) {
      register_modules({{"linear", linear}, {"loss", loss}});
    }
    Tensor forward(Tensor x, Tensor y) {
      const Tensor z = linear(x);
      Tensor total = z;
      for (int i = 0; i < count; ++i) total = loss(z, y);
      return total;
    }
    int count;
    nn::Linear linear{4, 4};
    nn::MSELoss loss;
  };
  const auto run = [](Losses module) {
    return message([&] { poptorch::trainingModel(module, {}, sgd(module))(waves({2, 4}, 1.0), waves({2, 4}, 2.0)); });
  };
  EXPECT_EQ(run(Losses(0)),
            "trainingModel: forward() computes no loss; use a loss of torch::nn or poptorch::identity_loss");
  EXPECT_EQ(run(Losses(2)),
            "trainingModel: forward() computes 2 losses; combine them and call poptorch::identity_loss on the result");
  EXPECT_EQ(run(Losses(1, "none")),
            "trainingModel: the loss has shape [2, 4] but must be one number; use the reduction 'mean' or 'sum'");
}

TEST_F(Refusals, BlocksThatMakeNoPipeline) {
  EXPECT_EQ(message([] { poptorch::BeginBlock(0); }),
            "BeginBlock: it belongs into the forward() of a model that trainingModel or inferenceModel runs");
  struct Blocks : nn::Module {
    Blocks(int first, int second) : first(first), second(second) { register_modules({{"a", a}, {"b", b}}); }
    Tensor forward(Tensor x) {
      poptorch::BeginBlock(first);
      x = a(x);
      poptorch::BeginBlock(second);
      return b(x);
    }
    int first, second;
    nn::Linear a{4, 4}, b{4, 4};
  };
  const auto run = [](Blocks module) { return message([&] { poptorch::inferenceModel(module)(waves({2, 4}, 1.0)); }); };
  EXPECT_EQ(run(Blocks(1, 0)),
            "the block on IPU 0 needs what 'a' makes on IPU 1; a block can only use what blocks of smaller IPU numbers "
            "make");
  EXPECT_EQ(run(Blocks(0, 2)), "no block runs on IPU 1 but one runs on IPU 2; number them from 0 without a gap");
  EXPECT_EQ(run(Blocks(0, -1)), "BeginBlock: the ipu_id is -1 but IPUs are numbered from 0");
}

TEST_F(Refusals, LeaveTheModelUsable) {
  auto training = poptorch::trainingModel(model, Options().deviceIterations(3), sgd(network));
  EXPECT_NE(message([&] { training(x.slice(0, 5), y.slice(0, 5)); }), "(nothing was thrown)");
  EXPECT_FALSE(training.isCompiled());
  training(x, y);
}

TEST(Notices, SayWhatHasNoEffect) {
  testing::internal::CaptureStderr();
  Options().useIpuModel(true).enableExecutableCaching("/tmp/cache");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "Notice: useIpuModel has no effect: all IPUs are virtual.\n"
            "Notice: enableExecutableCaching(\"/tmp/cache\") has no effect: models compile in milliseconds.\n");
}

}  // namespace
