// SPDX-License-Identifier: Apache-2.0
// What a model tells of its calls: explain before, a profile after, and the module in which a NaN came up.
#include <pando/program/profile.h>

#include <limits>

#include "tests/contents.h"
#include "tests/poptorch/network.h"

namespace pando {

namespace {

struct Trained {
  Network network = make_network(2);
  WithLoss model{network};
  Options options = two_replicas();
  decltype(poptorch::trainingModel(model, options, sgd(network))) training =
      poptorch::trainingModel(model, options, sgd(network));

  static Options two_replicas() {
    Options options;
    options.deviceIterations(2).replicationFactor(2);
    options.Training.gradientAccumulation(3);
    return options;
  }
  void call() { training(waves({48, 1, 6, 6}, 1.3), labels(48)); }
};

TEST(PopTorchExplains, WhatACallDoesOnWhichIpus) {
  Trained trained;
  EXPECT_EQ(message([&] { static_cast<void>(trained.training.explain()); }),
            "trainingModel: explain needs a compiled model; first compile it or call it");
  trained.call();
  const std::string text = trained.training.explain();
  for (const char* part :
       {"2 replicas", "24 samples = 4 x 3 accumulated x 2 replicas", "Execution    2 updates = 12 batches",
        "network.conv .. ", "network.flatten .. loss", "mean of 6 gradients"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_NE(trained.training.explain_json().find("\"replicas\": 2"), std::string::npos);
}

TEST(PopTorchProfiles, ShowEveryDeviceAndChangeNothing) {
  Trained plain, profiled;
  plain.call();
  profiled.call();
  Profiler profiler("network");
  profiled.training.profile(profiler);
  plain.call();
  profiled.call();
  profiler.detach();
  for (const auto& [name, value] : plain.network.state_dict())
    EXPECT_TRUE(array_equal(value, profiled.network.state_dict().at(name))) << name;
  const std::string path = testing::TempDir() + "poptorch.html";
  profiler.save(path);
  const std::string page = contents(path);
  for (const char* device : {"replica 0 stage 0", "replica 0 stage 1", "replica 1 stage 0", "replica 1 stage 1"})
    EXPECT_NE(page.find(device), std::string::npos) << device;
  EXPECT_NE(page.find("network.hidden"), std::string::npos);
  const std::string trace = testing::TempDir() + "poptorch.json";
  profiler.save(trace);
  EXPECT_NE(contents(trace).find("\"traceEvents\""), std::string::npos);
}

// The error comes from the thread of the device that met the NaN.
TEST(FloatingPointExceptions, NameTheModuleOnReplicasAndBlocks) {
  for (const int ipus : {1, 2, 3})
    for (const int replicas : {1, 2}) {
      Network network = make_network(ipus);
      WithLoss model(network);
      Options options;
      options.replicationFactor(replicas);
      options.Training.gradientAccumulation(2);
      options.Precision.enableFloatingPointExceptions(true);
      auto training = poptorch::trainingModel(model, options, sgd(network));
      const std::int64_t samples = 4 * replicas;
      const Array good = waves({samples, 1, 6, 6}, 1.3), y = labels(samples);
      training(good, y);
      // Only the last replica sees it.
      Array bad = good.clone();
      bad.mutable_data<float>()[bad.elements() - 1] = std::numeric_limits<float>::quiet_NaN();
      const std::string text = message([&] { training(bad, y); });
      EXPECT_TRUE(text.starts_with("check_numerics: ") && text.find("'network.conv") != std::string::npos) << text;
      training(good, y);
    }
}

// Streams are counted by what draws, so that another node in the graph changes no mask.
TEST(RandomNumbers, DoNotDependOnTheNumberOfNodes) {
  struct Dropping : nn::Module {
    explicit Dropping(bool detour) : detour(detour) { register_modules({{"linear", linear}, {"drop", drop}}); }
    Tensor forward(Tensor x) {
      x = linear(x);
      if (detour) x = x.view({4, 2, 4}).view({4, 8}) + 0.0;
      return drop(x);
    }
    bool detour;
    nn::Linear linear{4, 8};
    nn::Dropout drop{0.5};
  };
  struct Lossy : nn::Module {
    explicit Lossy(Dropping& inner) : inner(inner) { register_modules({{"inner", inner}}); }
    std::tuple<Tensor, Tensor> forward(Tensor x) {
      const Tensor y = inner.forward(x);
      return {y, poptorch::identity_loss(y, "mean")};
    }
    Dropping& inner;
  };
  const auto outputs = [](bool detour) {
    set_random_seed(5);
    Dropping inner(detour);
    Lossy model(inner);
    Options options;
    options.randomSeed(7);
    auto training = poptorch::trainingModel(model, options, torch::optim::SGD(inner.parameters(), {.lr = 0.0}));
    return std::get<0>(training(waves({4, 4}, 0.7)));
  };
  EXPECT_TRUE(array_equal(outputs(false), outputs(true)));
}

// Two modules of one weight in two blocks.
TEST(SharedParameters, TrainOnSeveralIpusAsOnOne) {
  struct Tied : nn::Module {
    explicit Tied(int ipus) : ipus(ipus) { register_modules({{"both", both}, {"output", output}, {"loss", loss}}); }
    std::tuple<Tensor, Tensor> forward(Tensor x, Tensor y) {
      x = tanh(both(x));
      if (ipus > 1) poptorch::BeginBlock(1);
      x = tanh(both(x));
      if (ipus > 2) poptorch::BeginBlock(2);
      const Tensor logits = output(both(x));
      return {logits, loss(logits, y)};
    }
    int ipus;
    nn::Linear both{6, 6}, output{6, 3};
    nn::Tanh tanh;
    nn::CrossEntropyLoss loss;
  };
  const auto trained = [](int ipus, int replicas, std::int64_t accumulation) {
    set_random_seed(6);
    Tied model(ipus);
    Options options;
    options.deviceIterations(6).replicationFactor(replicas);
    options.Training.gradientAccumulation(accumulation);
    auto training = poptorch::trainingModel(model, options, sgd(model));
    training(waves({48, 6}, 1.1), labels(48));
    return model.state_dict();
  };
  const nn::StateDict one = trained(1, 1, 1);
  EXPECT_LT(distance(one, trained(2, 1, 4)), 1e-5);
  EXPECT_LT(distance(one, trained(3, 1, 4)), 1e-5);
  EXPECT_LT(distance(one, trained(3, 2, 2)), 1e-5);
}

}  // namespace

}  // namespace pando
