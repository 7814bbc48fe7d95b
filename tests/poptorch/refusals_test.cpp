// SPDX-License-Identifier: Apache-2.0
// What is refused, word for word, and that nothing is lost by it.
#include "tests/poptorch/network.h"

namespace pando {

namespace {

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
  EXPECT_EQ(
      message([&] { training(x, y); }),
      "trainingModel: tensor 0 has shape [6, 1, 6, 6] but the first size of the first call must be a multiple of 12: "
      "deviceIterations 2 x gradientAccumulation 3 x replicationFactor 2; later calls may have fewer samples");
}

TEST_F(Refusals, ShapesAndTypesThatChangedSinceCompiling) {
  auto training = poptorch::trainingModel(model, {}, sgd(network));
  training(x, y);
  const Array more = concatenate({x, x}), none = zeros({0, 1, 6, 6});
  EXPECT_EQ(message([&] {
              training(more, concatenate({y, y}));
            }),
            "trainingModel: tensor 0 is float32[12, 1, 6, 6] but the model was compiled for float32[6, 1, 6, 6]; make "
            "another model for it");
  EXPECT_EQ(message([&] { training(none, y.slice(0, 0)); }),
            "trainingModel: tensor 0 is float32[0, 1, 6, 6] but the model was compiled for float32[6, 1, 6, 6]; make "
            "another model for it");
  EXPECT_EQ(message([&] { training(x.slice(0, 3), y.slice(0, 4)); }),
            "trainingModel: tensor 1 is int64[4] but the model was compiled for int64[6]; make another model for it");
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
            "inferenceModel: no device is attached; first compile the model or call it");
  EXPECT_EQ(message([&] { inference.attachToDevice(); }),
            "inferenceModel: compile the model or call it before attachToDevice()");
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
            "Options: deviceIterations can no longer be changed: a model was compiled with these options; change a "
            "clone() of them and make a new model");
  EXPECT_EQ(message([&] { Options(same).Training.gradientAccumulation(3); }),
            "Options: gradientAccumulation can no longer be changed: a model was compiled with these options; change "
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
            "Options: stochastic rounding is not supported; weights are float32 and round to nearest");
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

TEST_F(Refusals, ModulesThatWereForgotten) {
  struct Forgetful : nn::Module {
    Forgetful() { register_modules({{"first", first}}); }
    Tensor forward(Tensor x) { return second(relu(first(x))); }
    nn::Linear first{4, 4}, second{4, 2};
    nn::ReLU relu;
  };
  Forgetful module;
  EXPECT_EQ(message([&] {
              poptorch::inferenceModel(module)(waves({2, 4}, 1.0));
            }),
            "Linear(in_features=4, out_features=2, bias=True) has parameters but is not registered; name it in the "
            "register_modules of its module");
}

TEST_F(Refusals, BlocksThatMakeNoPipeline) {
  EXPECT_EQ(message([] { poptorch::BeginBlock(0); }),
            "BeginBlock: it belongs in the forward() of a model that trainingModel or inferenceModel runs");
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

}  // namespace pando
