// SPDX-License-Identifier: Apache-2.0
// IPUConfig and IPUStrategy: nothing takes effect before it should, and mistakes are named.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <cstdlib>

#include "tests/message.h"

using namespace pando;

namespace {

struct IpuSystem : testing::Test {
  void SetUp() override { ipu::reset_ipu_configuration(); }
  void TearDown() override { ipu::reset_ipu_configuration(); }
};

TEST_F(IpuSystem, IsThereOnceItIsConfigured) {
  EXPECT_EQ(devices().size(), 1u);
  EXPECT_EQ(devices()[0].name, "/device:CPU:0");
  ipu::IPUConfig config;
  config.auto_select_ipus = 1;
  EXPECT_EQ(devices().size(), 1u);
  config.configure_ipu_system();
  ASSERT_EQ(devices().size(), 2u);
  EXPECT_EQ(devices()[1].name, "/device:IPU:0");
  EXPECT_EQ(devices()[1].ipus, 1);
  const ipu::IPUStrategy strategy;
  EXPECT_EQ(strategy.device(), "/device:IPU:0");
  EXPECT_EQ(strategy.num_ipus(), 1);
}

TEST_F(IpuSystem, IsResetWithAWarning) {
  ipu::IPUConfig config;
  config.auto_select_ipus = {1, 1};
  config.configure_ipu_system();
  EXPECT_EQ(devices().size(), 3u);
  config.auto_select_ipus = 1;
  testing::internal::CaptureStderr();
  config.configure_ipu_system();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "Warning: the IPU system was configured before and is reset now; models keep their old devices.\n");
  EXPECT_EQ(devices().size(), 2u);
}

TEST_F(IpuSystem, RefusesWrongOptions) {
  ipu::IPUConfig config;
  EXPECT_EQ(message([&] { config.configure_ipu_system(); }),
            "IPUConfig: no IPU is selected; set auto_select_ipus to the number you want");
  EXPECT_EQ(message([&] { config.set("auto_select_ipu", "1"); }),
            "IPUConfig: unknown option 'auto_select_ipu'; did you mean 'auto_select_ipus'?");
  EXPECT_EQ(message([&] { config.set("auto_select_ipus", "two"); }),
            "IPUConfig: auto_select_ipus takes a whole number or a list such as [1, 2], not 'two'");
  EXPECT_EQ(message([&] { config.set("tiles_per_ipu", "1.5"); }),
            "IPUConfig: tiles_per_ipu takes a whole number, not '1.5'");
  config.auto_select_ipus = 0;
  EXPECT_EQ(message([&] { config.configure_ipu_system(); }),
            "IPUConfig: auto_select_ipus is 0 but a device needs at least 1 IPU");
  config.set("auto_select_ipus", "[1, 2]");
  EXPECT_EQ(config.auto_select_ipus, ipu::Counts({1, 2}));
  config.select_ipus = {0, 1};
  EXPECT_EQ(message([&] { config.configure_ipu_system(); }),
            "IPUConfig: auto_select_ipus and select_ipus are both set; use one of them");
  config.auto_select_ipus = {};
  config.select_ipus = {3, 3};
  EXPECT_EQ(message([&] { config.configure_ipu_system(); }),
            "IPUConfig: select_ipus has 3 twice; each device needs its own IPU");
  config.select_ipus = 2;
  config.backend = "gpu";
  EXPECT_EQ(message([&] { config.configure_ipu_system(); }), "IPUConfig: unknown backend 'gpu'; did you mean 'cpu'?");
  EXPECT_EQ(devices().size(), 1u);
}

TEST_F(IpuSystem, ComputesWithTheInstructionSetThatItIsGiven) {
  ipu::IPUConfig config;
  config.auto_select_ipus = 1;
  config.backend = "cpu";
  config.instruction_set = "portable";
  config.configure_ipu_system();
  ASSERT_EQ(devices().size(), 2u);
  EXPECT_EQ(devices()[1].instruction_set, "portable");
}

TEST_F(IpuSystem, IsNeededByAStrategy) {
  EXPECT_EQ(message([] { ipu::IPUStrategy(); }),
            "IPUStrategy: no IPU system is configured; call configure_ipu_system() of an IPUConfig first");
  ipu::IPUConfig config;
  config.auto_select_ipus = 1;
  config.configure_ipu_system();
  EXPECT_EQ(message([] { ipu::IPUStrategy("/device:IPU:1"); }),
            "IPUStrategy: unknown device '/device:IPU:1'; did you mean '/device:IPU:0'?");
}

TEST_F(IpuSystem, OfTheLatestConfigurationIsWhatAStrategyUses) {
  ipu::IPUConfig config;
  config.auto_select_ipus = 1;
  config.configure_ipu_system();
  const ipu::IPUStrategy strategy;
  const auto replicas = [&] {
    const auto scope = strategy.scope();
    keras::Sequential model({keras::layers::Dense(1, {.input_shape = Shape{2}})});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const std::string text = model.explain_json({.samples = 8});
    return text.substr(text.find("\"replicas\""), 13);
  };
  EXPECT_EQ(replicas(), "\"replicas\": 1");
  config.auto_select_ipus = 2;
  config.configure_ipu_system();
  EXPECT_EQ(strategy.num_ipus(), 2);
  EXPECT_EQ(replicas(), "\"replicas\": 2");
}

TEST_F(IpuSystem, IsNeededWheneverAStrategyIsEntered) {
  ipu::IPUConfig config;
  config.auto_select_ipus = {1, 1};
  config.configure_ipu_system();
  const ipu::IPUStrategy strategy("/device:IPU:1");
  config.auto_select_ipus = 1;
  config.configure_ipu_system();
  EXPECT_EQ(message([&] { (void)strategy.scope(); }),
            "IPUStrategy::scope: unknown device '/device:IPU:1'; did you mean '/device:IPU:0'?");
  ipu::reset_ipu_configuration();
  EXPECT_EQ(message([&] { (void)strategy.scope(); }),
            "IPUStrategy::scope: no IPU system is configured; call configure_ipu_system() of an IPUConfig first");
  EXPECT_EQ(message([&] { (void)strategy.num_ipus(); }),
            "IPUStrategy::num_ipus: no IPU system is configured; call configure_ipu_system() of an IPUConfig first");
}

void train_step_by_step(const std::string& name, int verbose) {
  ipu::IPUConfig config;
  config.auto_select_ipus = 1;
  config.configure_ipu_system();
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  keras::Sequential model({keras::layers::Dense(1)}, {.name = name});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(ones({8, 2}), ones({8, 1}), {.batch_size = 4, .epochs = 2, .verbose = verbose});
  ipu::reset_ipu_configuration();
}

TEST_F(IpuSystem, TellsOnceThatAnExecutionIsOneStepOnly) {
  // Runs in a separate process, where no notice was shown before.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        train_step_by_step("silent", 0);
        train_step_by_step("slow", 2);
        train_step_by_step("slow_too", 2);
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "^The model 'slow' has been configured with only 1 step per execution. Consider increasing the value of "
      "`steps_per_execution` passed to `compile\\(\\)` to improve performance.\n$");
}

}  // namespace
