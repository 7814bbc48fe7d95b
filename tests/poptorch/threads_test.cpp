// SPDX-License-Identifier: Apache-2.0
// Models that several threads call.
#include <thread>

#include "network.h"

namespace pando {
namespace {

template <class Work>
void in_threads(int count, const Work& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&work] { work(); });
  for (std::thread& thread : threads) thread.join();
}

struct Regression : nn::Module {
  nn::Linear linear{4, 2};
  nn::MSELoss loss;
  Regression() { register_modules({{"linear", linear}, {"loss", loss}}); }
  std::tuple<Tensor, Tensor> forward(Tensor x, Tensor y) {
    const Tensor output = linear(x);
    return {output, loss(output, y)};
  }
};

TEST(PopTorchThreads, OneInferenceModelAnswersAllWithTheSameBits) {
  Network network;
  network.eval();
  auto model = poptorch::inferenceModel(network);
  const Array x = waves({4, 1, 6, 6}, 0.3);
  const Array alone = model(x);
  in_threads(4, [&] {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(array_equal(model(x), alone));
  });
}

TEST(PopTorchThreads, OneTrainingModelIsTrainedInTurns) {
  const Array x = waves({8, 4}, 0.3), y = waves({8, 2}, 0.7);
  const auto trained = [&](int threads, int calls) {
    Regression module;
    module.load_state_dict({{"linear.weight", waves({2, 4}, 0.9)}, {"linear.bias", waves({2}, 0.2)}});
    auto model = poptorch::trainingModel(module, Options(), torch::optim::Adam(module.parameters(), {.lr = 0.01}));
    in_threads(threads, [&] {
      for (int i = 0; i < calls; ++i) model(x, y);
    });
    return Array(module.state_dict()["linear.weight"]).clone();
  };
  EXPECT_TRUE(array_equal(trained(4, 25), trained(1, 100)));
}

}  // namespace
}  // namespace pando
