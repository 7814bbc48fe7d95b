// SPDX-License-Identifier: Apache-2.0
// Predictions for several workers, from figures that are given or measured.
#include "model/predict_scaling.h"

#include <pando/base/error.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/message.h"

namespace pando {
namespace {

constexpr double million = 1e6;

// A step of 10 ms with a million bytes of weights.
Explanation perceptron() {
  return {.model = "mlp",
          .batch_size = 64,
          .ipus = 1,
          .stages = {{.layers = "dense", .megaflops = 100, .memory = {.weights = 1'000'000}}},
          .steps_per_execution = 64,
          .cores = 1,
          .tiles_per_ipu = 1};
}

Measurements measured() {
  return {.network = MeasuredNetwork{.workers = 2,
                                     .hosts = 1,
                                     .latency = 1e-3,
                                     .per_message = 1e-4,
                                     .bandwidth = 1e9,
                                     .copies = 1e10,
                                     .date = "2026-01-02"},
          .steps = {{.model = "mlp",
                     .batch_size = 64,
                     .tiles = 1,
                     .megaflops = 100,
                     .weights = 1'000'000,
                     .seconds = 0.01,
                     .date = "2026-01-02"}}};
}

TEST(PredictScaling, AddsSumsAndAgreement) {
  const Scaling scaling = predict_scaling(perceptron(), {.workers = {2, 4}}, measured()).value();
  ASSERT_EQ(scaling.updates.size(), 3u);
  EXPECT_EQ(scaling.updates[0].workers, 1);
  EXPECT_DOUBLE_EQ(scaling.updates[0].total(), 0.01);
  // Four buckets, each with two rounds of 1 ms; they carry a million bytes together. A million is added and written,
  // and half of it packed.
  const PredictedUpdate& two = scaling.updates[1];
  EXPECT_NEAR(two.sums, 4 * 2e-3 + million / 1e9 + 2.5 * million / 1e10, 1e-9);
  // The cores that compute also copy the messages.
  EXPECT_NEAR(two.waiting, two.sums, 1e-12);
  // Three rounds of 1 ms, and a byte, for the 32 updates of an execution.
  EXPECT_DOUBLE_EQ(two.agreement, 3 * (1e-3 + 1e-9) / 32);
  EXPECT_DOUBLE_EQ(two.total(), two.compute + two.waiting + two.agreement);
  EXPECT_DOUBLE_EQ(scaling.efficiency(two), 0.01 / two.total());
  EXPECT_NEAR(scaling.updates[2].sums, 4 * 2 * (1e-3 + 2 * 1e-4) + 1.5 * million / 1e9 + 2.75 * million / 1e10, 1e-9);
  EXPECT_EQ(scaling.compute_source, "measured by 'pando bench mlp' on 2026-01-02");
  EXPECT_EQ(scaling.network_source, "1000.0 us, 1.00 GB/s, measured between 2 workers on 1 host, 2026-01-02");
}

TEST(PredictScaling, HidesSumsWhereCoresAreFree) {
  Measurements fast = measured();
  fast.network->latency = 1e-5;
  const auto two = [&](const Explanation& explanation, const GivenFigures& given) {
    return predict_scaling(explanation, given, fast)->updates.at(1);
  };
  EXPECT_NEAR(two(perceptron(), {}).waiting, two(perceptron(), {}).sums, 1e-12);
  Explanation spare = perceptron();
  spare.cores = 2;
  EXPECT_LT(two(spare, {}).waiting, two(spare, {}).sums / 2);
  // Between hosts they travel by themselves.
  fast.network->hosts = 2;
  EXPECT_LT(two(perceptron(), {}).waiting, two(perceptron(), {}).sums / 2);
  EXPECT_LT(two(perceptron(), {.latency = 1e-5, .bandwidth = 1e9}).waiting, two(perceptron(), {}).sums / 2);
}

TEST(PredictScaling, GuessesTheTimeOfOtherModels) {
  Explanation other = perceptron();
  other.stages[0].megaflops = 300;
  const Scaling scaling = predict_scaling(other, {}, measured()).value();
  EXPECT_DOUBLE_EQ(scaling.updates[0].compute, 0.03);
  EXPECT_EQ(scaling.compute_source, "a guess from 10.0 GFLOP/s, as other models have in 'pando bench'");
  other.tiles_per_ipu = 2;
  EXPECT_FALSE(predict_scaling(other, {}, measured()).has_value());
}

TEST(PredictScaling, DividesPipelinesByTheirStages) {
  Explanation pipeline = perceptron();
  pipeline.stages = {{.megaflops = 75, .memory = {.weights = 400'000}},
                     {.megaflops = 25, .memory = {.weights = 600'000}}};
  pipeline.ipus = 2;
  pipeline.cores = 2;
  pipeline.gradient_accumulation = 8;
  pipeline.schedule = interleaved_schedule(2, true);
  const double bubble = pipeline.schedule.bubble(8);
  ASSERT_GT(bubble, 0);
  const Scaling scaling = predict_scaling(pipeline, {}, measured()).value();
  EXPECT_DOUBLE_EQ(scaling.updates[0].compute, 8 * 0.0075 / (1 - bubble));
  // On one core the stages take turns, and fill each other's gaps.
  pipeline.cores = 1;
  EXPECT_DOUBLE_EQ(predict_scaling(pipeline, {}, measured())->updates[0].compute, 8 * 0.01);
}

TEST(PredictScaling, TakesWhatIsGiven) {
  const GivenFigures given = {.workers = {1000}, .step_seconds = 0.02, .latency = 1e-5, .bandwidth = 1e10};
  const Scaling scaling = predict_scaling(perceptron(), given, {}).value();
  EXPECT_DOUBLE_EQ(scaling.updates[0].total(), 0.02);
  EXPECT_EQ(scaling.updates[1].workers, 1000);
  EXPECT_EQ(scaling.compute_source, "given");
  EXPECT_EQ(scaling.network_source, "10.0 us, 10.00 GB/s, given");
}

TEST(PredictScaling, OfGpusTakesFiguresBetweenGpusAlone) {
  Explanation gpu = perceptron();
  gpu.backend = "cuda";
  Measurements kept = measured();
  kept.steps[0].backend = "cuda";
  // Messages between hosts say nothing about GPUs.
  EXPECT_EQ(predict_scaling(gpu, {}, kept)->updates.size(), 1u);
  EXPECT_EQ(
      message([&] { predict_scaling(gpu, {.workers = {2}}, kept); }),
      "explain: the time of a message is not known, so workers cannot be predicted; measure it (mpirun -n 2 pando "
      "bench network --backend cuda) or give latency and bandwidth");

  const Scaling given = predict_scaling(gpu, {.latency = 1e-5, .bandwidth = 1e11}, kept).value();
  ASSERT_EQ(given.updates.size(), 8u) << "1 to 8 GPUs";
  EXPECT_EQ(given.updates.back().workers, 8);
  EXPECT_NEAR(given.updates[1].sums, 2 * 1e-5 + million / 1e11, 1e-12);
  EXPECT_NEAR(given.updates.back().sums, 2 * 1e-5 + 2 * million * 7 / 8 / 1e11, 1e-12);
  EXPECT_DOUBLE_EQ(given.updates[1].waiting, given.updates[1].sums) << "nothing hides them";
  EXPECT_EQ(given.network_source, "between GPUs, 10.0 us, 100.00 GB/s, given; copies on a GPU are not counted");

  kept.gpu_network = MeasuredNetwork{
      .workers = 4, .hosts = 1, .latency = 2e-5, .bandwidth = 2e11, .copies = 1e12, .date = "2026-01-02"};
  const Scaling found = predict_scaling(gpu, {.workers = {2}}, kept).value();
  EXPECT_NEAR(found.updates[1].sums, 2 * 2e-5 + million / 2e11 + 3 * million / 1e12, 1e-12);
  EXPECT_EQ(found.network_source,
            "between GPUs, 20.0 us, 200.00 GB/s, measured with NCCL between 4 workers on 1 host, 2026-01-02");
}

TEST(PredictScaling, NeedsFigures) {
  EXPECT_FALSE(predict_scaling(perceptron(), {}, {}).has_value());
  Measurements no_network = measured();
  no_network.network.reset();
  EXPECT_EQ(predict_scaling(perceptron(), {}, no_network)->updates.size(), 1u);
  EXPECT_EQ(
      message([&] { predict_scaling(perceptron(), {.workers = {2}}, no_network); }),
      "explain: the time of a message is not known, so workers cannot be predicted; measure it (mpirun -n 2 pando "
      "bench network) or give latency and bandwidth");
  EXPECT_EQ(message([&] { predict_scaling(perceptron(), {.workers = {2}}, {}); }),
            "explain: the time of a step is not known, so workers cannot be predicted; measure it (pando bench MODEL, "
            "with the same batch size and tiles) or give it");
  EXPECT_EQ(message([&] { predict_scaling(perceptron(), {.latency = 1}, measured()); }),
            "explain: a network has a latency and a bandwidth; give both");
  EXPECT_EQ(message([&] { predict_scaling(perceptron(), {.workers = {0}}, measured()); }),
            "explain: 0 workers; give numbers from 1 on");
}

TEST(Measurements, AreReadAsTheyWereWritten) {
  const std::string path = testing::TempDir() + "/kept/measurements.json";
  setenv("PANDO_MEASUREMENTS", path.c_str(), 1);
  Measurements written = measured();
  written.gpu_network = written.network;
  written.gpu_network->latency = 2e-3;
  written.add({.model = "lenet", .batch_size = 8, .tiles = 2, .megaflops = 3.5, .weights = 12, .seconds = 1e-4});
  written.add({.model = "mlp", .batch_size = 64, .tiles = 1, .megaflops = 100, .weights = 1'000'000, .seconds = 0.02});
  EXPECT_EQ(write_measurements(written), path);
  const Measurements found = read_measurements();
  ASSERT_EQ(found.steps.size(), 2u);
  EXPECT_EQ(found.steps[0].model, "lenet");
  EXPECT_EQ(found.steps[1].seconds, 0.02);
  EXPECT_EQ(found.network.value().latency, 1e-3);
  EXPECT_EQ(found.network->copies, 1e10);
  EXPECT_EQ(found.gpu_network.value().latency, 2e-3);
  std::ofstream(path) << R"({"network": {"workers": 2, "hosts": 1, "latency": 0}})";
  EXPECT_EQ(message([] { read_measurements(); }),
            path + ": not what 'pando bench' writes: 'latency' is 0 but must be above 0; remove it and measure again");
  testing::internal::CaptureStderr();
  EXPECT_TRUE(kept_measurements().steps.empty());
  EXPECT_NE(testing::internal::GetCapturedStderr().find("remove it and measure again"), std::string::npos);
  unsetenv("PANDO_MEASUREMENTS");
}

}  // namespace
}  // namespace pando
