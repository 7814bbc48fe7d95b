// SPDX-License-Identifier: Apache-2.0
// A profile of training: it shows every device and layer, and changes nothing.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <filesystem>

#include "tests/contents.h"
#include "tests/data/temporary_folder.h"
#include "tests/message.h"

using namespace pando;
using namespace pando::keras;

namespace {

std::vector<Array> train(int ipus, int stages, const std::string& profile) {
  ipu::reset_ipu_configuration();
  ipu::IPUConfig config;
  config.auto_select_ipus = ipus;
  config.tiles_per_ipu = 1;
  config.configure_ipu_system();
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  set_random_seed(8);
  Sequential model({layers::Dense(16, {.activation = "relu", .input_shape = Shape{4}, .name = "hidden"}),
                    layers::Dense(1, {.name = "result"})});
  if (stages > 1) {
    model.set_pipeline_stage_assignment({0, 1});
    model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 2});
  }
  model.compile({.optimizer = "sgd", .loss = "mse", .steps_per_execution = 8});
  const Array x = arange(256).astype(DType::float32).reshape({64, 4}) / 256.0;
  model.fit(x, sum(x, 1), {.batch_size = 4, .verbose = 0, .profile = profile});
  return model.get_weights();
}

TEST(Profiles, ShowTheLayersOfOneDevice) {
  const std::string path = testing::TempDir() + "one.json";
  const std::vector<Array> profiled = train(1, 1, path), plain = train(1, 1, "");
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(array_equal(profiled[i], plain[i]));
  const std::string trace = contents(path);
  EXPECT_NE(trace.find("\"traceEvents\""), std::string::npos);
  EXPECT_NE(trace.find("hidden"), std::string::npos);
  EXPECT_NE(trace.find("result"), std::string::npos);
}

TEST(Profiles, ShowLayersWhoseNamesHaveASlashApart) {
  const std::string path = testing::TempDir() + "slash.html";
  Sequential model({layers::Dense(8, {.activation = "tanh", .input_shape = Shape{4}, .name = "block/hidden"}),
                    layers::Dense(1, {.kernel_regularizer = regularizers::L2(0.1), .name = "block/result"})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Array x = arange(64).astype(DType::float32).reshape({16, 4}) / 64.0;
  model.fit(x, sum(x, 1), {.batch_size = 4, .verbose = 0, .profile = path});
  const std::string page = contents(path);
  // The rows of the table: kind, name, time.
  for (const char* row : {"[0,\"block/hidden\",", "[0,\"block/result\","})
    EXPECT_NE(page.find(row), std::string::npos) << row;
  EXPECT_EQ(page.find("[0,\"block\","), std::string::npos);
}

TEST(Profiles, ShowThePassesOfEveryDevice) {
  const std::string path = testing::TempDir() + "pipeline.html";
  const std::vector<Array> profiled = train(4, 2, path), plain = train(4, 2, "");
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(array_equal(profiled[i], plain[i]));
  const std::string page = contents(path);
  for (const char* device : {"replica 0 stage 0", "replica 0 stage 1", "replica 1 stage 0", "replica 1 stage 1"})
    EXPECT_NE(page.find(device), std::string::npos) << device;
}

TEST(Profiles, ThatCannotBeWrittenAreRefusedBeforeTheFirstStep) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/away/profile.html";
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Array x = arange(8).astype(DType::float32).reshape({8, 1});
  int epochs = 0;
  const auto count = callbacks::LambdaCallback({.on_epoch_begin = [&](std::int64_t) { ++epochs; }});
  EXPECT_EQ(message([&] { model.fit(x, x, {.verbose = 0, .callbacks = {count}, .profile = path}); }),
            path + ": cannot be written: No such file or directory; check its folder and permissions");
  EXPECT_EQ(epochs, 0);
}

TEST(Profiles, ThatCannotBeWrittenInTheEndDoNotCostTheRun) {
  const TemporaryFolder folder;
  const std::string pages = folder.path() + "/pages";
  std::filesystem::create_directory(pages);
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Array x = arange(8).astype(DType::float32).reshape({8, 1});
  const auto remove = callbacks::LambdaCallback({.on_train_end = [&] { std::filesystem::remove(pages); }});
  testing::internal::CaptureStderr();
  const History history =
      model.fit(x, x, {.epochs = 2, .verbose = 0, .callbacks = {remove}, .profile = pages + "/a.html"});
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(history.epochs().size(), 2u);
  EXPECT_EQ(told.find("Warning: "), 0u) << told;
  EXPECT_NE(told.find(pages + "/a.html"), std::string::npos) << told;
}

TEST(Profiles, RefusePathsThatSayNothing) {
  EXPECT_EQ(message([] { train(1, 1, "profile.txt"); }),
            "fit: profile is 'profile.txt' but must end in .html, for a page, or in .json, for a Chrome trace");
}

}  // namespace
