// SPDX-License-Identifier: Apache-2.0
// Trees of modules: what is printed of them, what they hand on to the modules inside, and what they say when something
// is wrong.
#include "tests/message.h"
#include "tests/torch/reference.h"

using namespace pando;

namespace {

struct Block : nn::Module {
  Block(int in_channels, int num_filters, int kernel_size, int pool_size)
      : conv(in_channels, num_filters, {.kernel_size = kernel_size}), pool({.kernel_size = pool_size}) {
    register_modules({{"conv", conv}, {"pool", pool}, {"relu", relu}});
  }
  Tensor forward(Tensor x) { return relu(pool(conv(x))); }

  nn::Conv2d conv;
  nn::MaxPool2d pool;
  nn::ReLU relu;
};

struct Network : nn::Module {
  Network() : layer1(1, 32, 3, 2), layer2(32, 64, 3, 2), layer3(1600, 128), layer3_dropout(0.5), layer4(128, 10) {
    register_modules({{"layer1", layer1},
                      {"layer2", layer2},
                      {"layer3", layer3},
                      {"layer3_act", layer3_act},
                      {"layer3_dropout", layer3_dropout},
                      {"layer4", layer4}});
  }
  Tensor forward(Tensor x) {
    x = layer2.forward(layer1.forward(x)).view({-1, 1600});
    return layer4(layer3_dropout(layer3_act(layer3(x))));
  }

  Block layer1, layer2;
  nn::Linear layer3;
  nn::ReLU layer3_act;
  nn::Dropout layer3_dropout;
  nn::Linear layer4;
};

struct TrainingModelWithLoss : nn::Module {
  explicit TrainingModelWithLoss(Network& model) : model(model) {
    register_modules({{"model", model}, {"loss", loss}});
  }
  std::tuple<Tensor, Tensor> forward(Tensor args, Tensor loss_inputs) {
    Tensor output = model.forward(args);
    return {output, loss(output, loss_inputs)};
  }

  Network& model;
  nn::CrossEntropyLoss loss;
};

struct Empty : nn::Module {
  Tensor forward(Tensor x) { return x; }
};

struct ConvBlock : nn::Sequential {
  ConvBlock() : nn::Sequential(nn::Conv2d(2, 4, {.kernel_size = 3}), nn::BatchNorm2d(4), nn::ReLU()) {}
};

template <class T>
struct Outer {
  struct Inner : nn::Module {};
};
template <class T>
struct Generic : nn::Module {};

TEST(ModuleTree, OfTheMnistProgramIsPrintedAsPyTorchPrintsIt) {
  Network network;
  EXPECT_EQ(to_string(TrainingModelWithLoss(network)), printed("network"));
  std::int64_t count = 0;
  for (const nn::Parameter& parameter : network.parameters()) count += parameter.numel();
  EXPECT_EQ(count, 225'034);
}

TEST(ModuleTree, IsPrintedAsPyTorchPrintsIt) {
  EXPECT_EQ(to_string(Block(2, 4, 3, 2)), printed("block"));
  EXPECT_EQ(to_string(nn::Sequential()), printed("empty_sequential"));
  EXPECT_EQ(to_string(nn::ModuleList()), printed("empty_list"));
  EXPECT_EQ(to_string(Empty()), printed("empty"));
  EXPECT_EQ(to_string(nn::Sequential(nn::Conv2d(2, 4, {.kernel_size = 3}), nn::BatchNorm2d(4),
                                     nn::Sequential(nn::ReLU(), nn::Flatten()))),
            printed("sequential"));
  nn::Sequential named;
  named.push_back("first", nn::Linear(2, 3));
  named.push_back("second", nn::Tanh());
  EXPECT_EQ(to_string(named), printed("sequential_of_names"));
  EXPECT_EQ(to_string(nn::ModuleList(nn::Linear(2, 3), nn::Linear(2, 3), nn::Sequential(nn::Linear(3, 1)))),
            printed("list"));
  EXPECT_EQ(to_string(nn::Sequential(Block(2, 4, 3, 2), Empty(), ConvBlock())), printed("sequential_of_user_modules"));
  EXPECT_EQ(to_string(ConvBlock()), printed("derived"));
}

TEST(ModuleTree, NamesClassesWithoutTheirSurroundings) {
  struct Local : nn::Module {};
  EXPECT_EQ(to_string(Local()), "Local()");
  EXPECT_EQ(to_string(Generic<std::vector<int>>()), "Generic()");
  EXPECT_EQ(to_string(Outer<std::string>::Inner()), "Inner()");
}

TEST(ModuleTree, ShowsACopyAsTheSameModule) {
  const Block block(2, 4, 3, 2);
  const Block copy = block;
  EXPECT_TRUE(copy == block);
  const nn::Sequential outside(block);
  const nn::Module child = outside.named_children()[0].second;
  EXPECT_EQ(to_string(child), printed("block"));
  EXPECT_TRUE(child == block);
}

TEST(ModuleTree, ModesReachTheModulesInside) {
  Network network;
  const auto all = [&](bool mode) {
    return network.training() == mode && network.layer1.training() == mode && network.layer1.conv.training() == mode &&
           network.layer3_dropout.training() == mode;
  };
  EXPECT_TRUE(all(true));
  network.eval();
  EXPECT_TRUE(all(false));
  network.train();
  EXPECT_TRUE(all(true));
  network.layer1.eval();
  EXPECT_FALSE(network.layer1.conv.training());
  EXPECT_TRUE(network.training() && network.layer2.conv.training());
}

TEST(ModuleTree, WhatNeedsNoGradientIsNotTrained) {
  Network network;
  TrainingModelWithLoss model(network);
  network.layer1.requires_grad_(false);
  network.layer3.parameters()[1].requires_grad_(false);
  EXPECT_FALSE(network.layer1.conv.parameters()[0].requires_grad());
  EXPECT_TRUE(network.layer2.conv.parameters()[0].requires_grad());
  const nn::StateDict before = network.state_dict();
  auto training = poptorch::trainingModel(model, {}, torch::optim::SGD(network.parameters(), {.lr = 0.1}));
  training(hashed(0, {4, 1, 28, 28}), Array::of<std::int64_t>({3, 1, 4, 1}, {4}));
  std::set<std::string> moved;
  for (const auto& [name, value] : network.state_dict())
    if (!array_equal(value, before.at(name))) moved.insert(name);
  EXPECT_EQ(moved, (std::set<std::string>{"layer2.conv.bias", "layer2.conv.weight", "layer3.weight", "layer4.bias",
                                          "layer4.weight"}));
}

TEST(ModuleTree, SharedModulesHaveTheirParametersOnce) {
  const nn::Linear shared(2, 2);
  const nn::Sequential both(nn::Sequential(shared), nn::Sequential(nn::Tanh(), shared));
  ASSERT_EQ(both.named_parameters().size(), 2u);
  EXPECT_EQ(both.named_parameters()[0].first, "0.0.weight");
  // As in PyTorch, a state_dict has them under all their names.
  std::vector<std::string> names;
  for (const auto& [name, value] : both.state_dict()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"0.0.bias", "0.0.weight", "1.1.bias", "1.1.weight"}));
}

struct Registering : nn::Module {
  using nn::Module::register_buffer;
  using nn::Module::register_module;
  using nn::Module::register_parameter;
};

TEST(ModuleTree, SaysWhatCannotBeRegistered) {
  Registering module;
  const nn::Linear linear(2, 3);
  module.register_module("linear", linear);
  EXPECT_EQ(message([&] { module.register_module("again", linear); }),
            "Registering: the module 'again' is registered already, as 'linear'; register it once and call it twice");
  EXPECT_EQ(message([&] { module.register_module("linear", nn::ReLU()); }),
            "Registering: a module named 'linear' is registered already");
  EXPECT_EQ(message([&] { module.register_module("a.b", nn::ReLU()); }),
            "Registering: a module cannot be named 'a.b'; use a name that is not empty and has no dot");
  EXPECT_EQ(message([&] { module.register_module("", nn::ReLU()); }),
            "Registering: a module cannot be named ''; use a name that is not empty and has no dot");
  EXPECT_EQ(message([&] { module.register_module("self", module); }), "Registering: the module 'self' is itself");
  module.register_parameter("scale", ones({2}));
  EXPECT_EQ(message([&] { module.register_buffer("scale", ones({2})); }),
            "Registering: a parameter named 'scale' is registered already");
  module.register_buffer("count", ones({2}));
  EXPECT_EQ(message([&] { module.register_parameter("count", ones({2})); }),
            "Registering: a buffer named 'count' is registered already");
  EXPECT_EQ(message([&] { module.register_parameter("linear", ones({2})); }),
            "Registering: a module named 'linear' is registered already");
  EXPECT_EQ(message([&] { module.register_module("scale", nn::ReLU()); }),
            "Registering: a parameter named 'scale' is registered already");
  EXPECT_EQ(message([&] { module.register_parameter("a.b", ones({2})); }),
            "Registering: a parameter cannot be named 'a.b'; use a name that is not empty and has no dot");
}

}  // namespace
