// SPDX-License-Identifier: Apache-2.0
// A training that goes on from a file, in the middle of an epoch, gives the bits of one that was never interrupted.
#include "tests/poptorch/network.h"

#include <cstdio>

namespace pando {

namespace {

using torch::utils::data::LoaderState;
using torch::utils::data::TensorDataset;

struct TrainingRun {
  explicit TrainingRun(std::int64_t workers, int replicas = 1)
      : options(divided(replicas)),
        loader(options, TensorDataset(waves({44, 1, 6, 6}, 1.3), labels(44)),
               {.batch_size = 2, .shuffle = true, .seed = 5, .num_workers = workers}) {}

  static Options divided(int replicas) {
    Options options;
    options.replicationFactor(replicas);
    options.Training.gradientAccumulation(2);
    return options;
  }

  // Returns whether there were as many.
  bool train(std::int64_t batches) {
    for (const auto& [x, y] : loader) {
      if (batches-- == 0) return true;
      training(x, y);
      if (batches == 0) return true;
    }
    return batches == 0;
  }

  Network network = make_network();
  WithLoss model{network};
  Options options;
  decltype(poptorch::trainingModel(model, options, torch::optim::Adam(network.parameters()))) training =
      poptorch::trainingModel(model, options, torch::optim::Adam(network.parameters(), {.lr = 0.01}));
  poptorch::DataLoader<2> loader;
};

TEST(Resuming, GivesTheBitsOfAnUnbrokenTraining) {
  const std::string path = testing::TempDir() + "poptorch_resumed.npz";
  for (const std::int64_t workers : {0, 2})
    for (const int replicas : {1, 2}) {
      TrainingRun unbroken(workers, replicas);
      for (int epoch = 0; epoch < 3; ++epoch) unbroken.train(-1);

      {
        TrainingRun first(workers, replicas);
        first.train(-1);
        EXPECT_TRUE(first.train(3));
        EXPECT_EQ(first.loader.state(), (LoaderState{5, 1, 3}));
        first.training.save(path, first.loader);
      }
      TrainingRun second(workers, replicas);
      second.training.load(path, second.loader);
      EXPECT_EQ(second.loader.state(), (LoaderState{5, 1, 3}));
      for (int epoch = 1; epoch < 3; ++epoch) second.train(-1);
      EXPECT_EQ(second.loader.state(), (LoaderState{5, 3, 0}));
      EXPECT_EQ(distance(unbroken.network.state_dict(), second.network.state_dict()), 0.0)
          << workers << " workers, " << replicas << " replicas";
    }
  std::remove(path.c_str());
}

TEST(Resuming, RefusesAFileThatSaysNothingOfTheLoader) {
  const std::string path = testing::TempDir() + "poptorch_without_loader.npz";
  TrainingRun run(0);
  run.train(2);
  run.training.save(path);
  const nn::StateDict before = run.network.state_dict();
  run.train(1);
  const nn::StateDict after = run.network.state_dict();
  EXPECT_EQ(message([&] { run.training.load(path, run.loader); }),
            "load: " + path + " says nothing of a data loader; save it with the loader, or load it without");
  EXPECT_EQ(distance(after, run.network.state_dict()), 0.0) << "nothing was loaded";
  run.training.load(path);
  EXPECT_EQ(distance(before, run.network.state_dict()), 0.0);
  std::remove(path.c_str());
}

TEST(Resuming, RefusesTheStateOfAnotherLoader) {
  TrainingRun run(0);
  EXPECT_EQ(
      message([&] { run.loader.load_state({.seed = 1, .epoch = 2, .batches = 11}); }),
      "DataLoader: the state is of batch 11 of epoch 2 but an epoch has 11 batches; give it to a loader of the same "
      "data and batch_size");
}

}  // namespace

}  // namespace pando
