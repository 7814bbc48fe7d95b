// SPDX-License-Identifier: Apache-2.0
// A small network, and data for it.
#pragma once
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <cmath>

#include "tests/message.h"

namespace pando {

namespace nn = torch::nn;
using poptorch::Options;
using poptorch::OutputMode;

inline Array waves(const Shape& shape, double step) {
  Array array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.mutable_data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i + 1) * step));
  return array;
}

inline Array labels(std::int64_t count) {
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

inline Network make_network(int ipus = 1) {
  set_random_seed(3);
  return Network(ipus);
}

inline auto sgd(const nn::Module& module) {
  return torch::optim::SGD(module.parameters(), {.lr = 0.1, .momentum = 0.9});
}

inline double distance(const nn::StateDict& a, const nn::StateDict& b) {
  double difference = 0, norm = 0;
  for (const auto& [name, value] : a)
    for (std::int64_t i = 0; i < value.elements(); ++i) {
      const double x = value.data<float>()[i], y = b.at(name).data<float>()[i];
      difference += (x - y) * (x - y);
      norm += x * x;
    }
  return std::sqrt(difference / norm);
}

}  // namespace pando
