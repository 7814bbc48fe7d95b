// SPDX-License-Identifier: Apache-2.0
// Frozen layers and optimizers: compile() decides what is trained, and how, until the next one.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <algorithm>
#include <cmath>

#include "tests/data/temporary_folder.h"
#include "tests/message.h"

using namespace pando;
using namespace pando::keras;

namespace {

Array waves(const Shape& shape, double step) {
  Array array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.mutable_data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i + 1) * step));
  return array;
}

Sequential discriminator() {
  set_random_seed(1);
  Sequential model({Input({3}), layers::Dense(4, {.activation = "tanh", .name = "first"}),
                    layers::BatchNormalization({.name = "norm"}),
                    layers::Dense(1, {.activation = "sigmoid", .name = "last"})});
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy"});
  return model;
}

bool same(const std::vector<Array>& a, const std::vector<Array>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Array& x, const Array& y) { return array_equal(x, y); });
}

// What a call writes to standard error.
template <class Call>
std::string told(Call call) {
  testing::internal::CaptureStderr();
  call();
  return testing::internal::GetCapturedStderr();
}

// As every program for generative adversarial networks does it.
TEST(Trainable, IsAsItWasWhenEachModelWasCompiled) {
  Sequential judge = discriminator(), maker({Input({2}), layers::Dense(3)});
  judge.set_trainable(false);
  const Tensor noise = Input({2});
  Model both(noise, judge(maker(noise)));
  both.compile({.optimizer = "adam", .loss = "binary_crossentropy"});
  const Array real = waves({8, 3}, 1.3), z = waves({8, 2}, 0.7);
  for (int turn = 0; turn < 2; ++turn) {
    const std::vector<Array> judge_before = judge.get_weights(), maker_before = maker.get_weights();
    judge.train_on_batch(real, ones({8, 1}));
    // All of it, the statistics of the normalisation too.
    for (std::size_t i = 0; i < judge_before.size(); ++i)
      EXPECT_FALSE(array_equal(judge_before[i], judge.get_weights()[i])) << i;
    EXPECT_TRUE(same(maker_before, maker.get_weights()));
    const std::vector<Array> judge_trained = judge.get_weights();
    both.train_on_batch(z, ones({8, 1}));
    EXPECT_TRUE(same(judge_trained, judge.get_weights()));
    EXPECT_FALSE(same(maker_before, maker.get_weights()));
  }
}

TEST(Trainable, ChangesWithTheNextCompile) {
  Sequential model = discriminator();
  const Array x = waves({8, 3}, 1.3), y = ones({8, 1});
  const auto first_kernel_moves = [&] {
    const Array before = model.get_weight("first/kernel").clone();
    model.fit(x, y, {.verbose = 0});
    return !array_equal(before, model.get_weight("first/kernel"));
  };
  const Layer dense = model.layers()[1];
  EXPECT_EQ(told([&] { EXPECT_TRUE(first_kernel_moves()); }), "");
  dense.set_trainable(false);
  const std::string notice = "Notice: set_trainable() was called after compile(), and the model '" + model.name() +
                             "' trains as it was compiled; call compile() again to change that.\n";
  EXPECT_EQ(told([&] { EXPECT_TRUE(first_kernel_moves()); }), notice);
  // Once is enough.
  EXPECT_EQ(told([&] { EXPECT_TRUE(first_kernel_moves()); }), "");
  // What the layers are like is seen at once.
  EXPECT_NE(model.summary_text().find("Non-trainable params: 24"), std::string::npos) << model.summary_text();
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy"});
  EXPECT_EQ(told([&] { EXPECT_FALSE(first_kernel_moves()); }), "");
  dense.set_trainable(true);
  EXPECT_EQ(told([&] { EXPECT_FALSE(first_kernel_moves()); }), notice);
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy"});
  EXPECT_EQ(told([&] { EXPECT_TRUE(first_kernel_moves()); }), "");
}

TEST(Trainable, OfAModelThatIsBuiltLaterIsThatOfItsLayers) {
  Sequential model({layers::Dense(4, {.activation = "tanh"})});
  model.layers()[0].set_trainable(false);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.add(layers::Dense(1));
  model.layers()[0].set_trainable(true);
  const Array x = waves({8, 3}, 1.3), y = ones({8, 1});
  model.predict(x);
  const std::vector<Array> before = model.get_weights();
  model.fit(x, y, {.verbose = 0});
  EXPECT_TRUE(array_equal(before[0], model.get_weights()[0]));
  EXPECT_FALSE(array_equal(before[2], model.get_weights()[2]));
}

TEST(Trainable, GoesOnFromACheckpoint) {
  const Array x = waves({12, 3}, 1.3), y = ones({12, 1});
  const auto frozen = [] {
    Sequential model = discriminator();
    model.layers()[1].set_trainable(false);
    model.compile({.optimizer = "adam", .loss = "binary_crossentropy"});
    return model;
  };
  const TemporaryFolder folder;
  Sequential whole = frozen(), broken = frozen(), resumed = frozen();
  whole.fit(x, y, {.batch_size = 4, .epochs = 4, .verbose = 0});
  const auto options = [&](std::int64_t epochs, bool resume) {
    return FitOptions{.batch_size = 4,
                      .epochs = epochs,
                      .verbose = 0,
                      .checkpoint = {.directory = folder.path() + "/run", .resume = resume}};
  };
  broken.fit(x, y, options(2, false));
  resumed.fit(x, y, options(4, true));
  EXPECT_TRUE(same(whole.get_weights(), resumed.get_weights()));
  EXPECT_TRUE(array_equal(frozen().get_weights()[0], resumed.get_weights()[0]));
}

TEST(Compile, WithANewOptimizerBeginsAtItsFirstUpdate) {
  const Array x = waves({8, 3}, 1.3), y = ones({8, 1});
  Sequential model = discriminator();
  model.fit(x, y, {.epochs = 5, .verbose = 0});
  const std::vector<Array> weights = model.get_weights();
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy"});
  EXPECT_EQ(model.optimizer().iterations(), 0);
  model.train_on_batch(x, y);
  Sequential fresh = discriminator();
  fresh.set_weights(weights);
  fresh.train_on_batch(x, y);
  EXPECT_TRUE(same(model.get_weights(), fresh.get_weights()));
}

TEST(Compile, WithTheSameOptimizerGoesOnWithItsMoments) {
  const Array x = waves({8, 3}, 1.3), y = ones({8, 1});
  Sequential once = discriminator(), twice = discriminator();
  for (int i = 0; i < 3; ++i) once.train_on_batch(x, y);
  for (int i = 0; i < 3; ++i) {
    twice.train_on_batch(x, y);
    twice.compile({.optimizer = twice.optimizer(), .loss = "binary_crossentropy"});
  }
  EXPECT_EQ(twice.optimizer().iterations(), 3);
  EXPECT_TRUE(same(once.get_weights(), twice.get_weights()));
}

}  // namespace
