// SPDX-License-Identifier: Apache-2.0
// explain: its text line by line, and its hints.
#include "report/explain/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace pando {
namespace {

Explanation plain_model() {
  return {.model = "sequential",
          .samples = 60'000,
          .batch_size = 32,
          .ipus = 1,
          .stages = {{"flatten .. dense_1", 6.5, {407'080, 814'160, 407'080, 20'992, 0, 102'400}}},
          .steps_per_execution = 1875,
          .cores = 2,
          .tiles_per_ipu = 2,
          .schedule = grouped_schedule(1, true)};
}

TEST(Explain, SaysHowManyTilesTheProgramUses) {
  Explanation explanation = plain_model();
  explanation.tiles_per_ipu = 16;
  explanation.cores = 16;
  explanation.stages[0].tiles = 4;
  EXPECT_NE(to_text(explanation).find("1 stage, 4 of 16 tiles, 16 cores"), std::string::npos) << to_text(explanation);
  explanation.stages[0].tiles = 16;
  EXPECT_NE(to_text(explanation).find("1 stage, 16 tiles, 16 cores"), std::string::npos) << to_text(explanation);
}

TEST(Explain, ShowsPredictions) {
  Explanation explanation = plain_model();
  explanation.scaling = Scaling{.updates = {{.compute = 0.002}}, .sum_bytes = 407'080, .compute_source = "given"};
  EXPECT_NE(to_text(explanation)
                .find("\nWorkers: the predicted time of an update\n"
                      "  workers     compute        sums     waiting      update    samples/s   linear\n"
                      "        1     2.00 ms           -           -     2.00 ms       16,000  100.0 %\n"
                      "  compute: given\n"
                      "  network: not known; 'mpirun -n 2 pando bench network' measures it\n"),
            std::string::npos)
      << to_text(explanation);
  explanation.scaling->updates.push_back(
      {.workers = 1000, .compute = 0.002, .sums = 0.0007, .waiting = 0.0004, .agreement = 0.0001});
  explanation.scaling->network_source = "measured";
  EXPECT_NE(to_text(explanation)
                .find("    1,000     2.00 ms    700.0 us    500.0 us     2.50 ms   12,800,000   80.0 %\n"
                      "  compute: given\n"
                      "  network: measured\n"
                      "  sums:    397.5 KiB for each replica\n"),
            std::string::npos)
      << to_text(explanation);
}

Explanation two_stages() {
  return {.model = "model",
          .samples = 60'000,
          .batch_size = 64,
          .ipus = 2,
          .stages = {{"conv2d .. conv2d_1", 905.3, {75'264, 0, 75'264, 3'366'912, 401'408, 401'408}},
                     {"max_pooling2d_1 .. dense", 6.1, {64'040, 0, 64'040, 824'320, 0, 2'560}}},
          .gradient_accumulation = 8,
          .reduction = "sum",
          .optimizer = "sgd",
          .learning_rate = 0.01,
          .steps_grow_with_gradients = true,
          .steps_per_execution = 936,
          .cores = 2,
          .schedule = grouped_schedule(2, true)};
}

Explanation many_ipus() {
  Explanation explanation{.model = "resnet",
                          .samples = 60'000,
                          .batch_size = 16,
                          .ipus = 64,
                          .replicas = 8,
                          .gradient_accumulation = 16,
                          .steps_per_execution = 1024,
                          .cores = 64,
                          .schedule = interleaved_schedule(8, true)};
  for (std::size_t i = 0; i < 8; ++i)
    explanation.stages.push_back({"block_" + std::to_string(i) + " .. add_" + std::to_string(i),
                                  100.0 + static_cast<double>(i),
                                  {2'000'000, 4'000'000, 2'000'000, 30'000'000, (7 - i) * 8'000'000, 65'536}});
  return explanation;
}

TEST(Explain, ShowsAPipelineOfTwoStages) {
  EXPECT_EQ(to_text(two_stages()), R"(Model "model", training

Devices      2 IPUs = 1 replica x 2 stages, 1 tile each, 2 cores
Micro-batch  64 samples
Update       512 samples = 64 x 8 accumulated x 1 replica (effective batch)
Reduction    sum of 8 gradients: the learning rate 0.01 acts as 0.08
Epoch        60,000 samples = 938 batches = 118 updates = 2 executions
Execution    117 updates = 936 batches; the last one 1 update = 2 batches
Last batch   32 samples, padded to 64 with samples that do not count
Last update  2 of 8 batches

Work of a micro-batch: 911.4 MFLOP
  stage 0   99.3 %  ########################  conv2d .. conv2d_1
  stage 1    0.7 %                            max_pooling2d_1 .. dense

Memory of each IPU; all 2 together 5.0 MiB
  stage                0          1
  weights       73.5 KiB   62.5 KiB
  gradients     73.5 KiB   62.5 KiB
  activations    3.2 MiB  805.0 KiB
  stash        392.0 KiB        0 B
  feeds        392.0 KiB    2.5 KiB
  total          4.1 MiB  932.6 KiB

Schedule Grouped: 8 micro-batches in 20 slots an update, bubble 20.0 %
  stage 0  F0 .  F1 .  F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 .  B6 .  B7
  stage 1  .  .  F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7 .  .
  F0 B0: forward and backward pass of micro-batch 0; .: idle

Hints
  - stage 0 (conv2d .. conv2d_1) does 99 % of the work, 2.0 times the mean, and
    the other stages wait for it; use fewer stages, or make it smaller
)");
}

TEST(Explain, SaysWhatTheReductionDoesToTheLearningRate) {
  Explanation explanation = two_stages();
  const auto line = [&] {
    const std::string text = to_text(explanation);
    const std::size_t begin = text.find("Reduction");
    return begin == std::string::npos ? "" : text.substr(begin, text.find("\nEpoch") - begin);
  };
  explanation.learning_rate.reset();
  EXPECT_EQ(line(),
            "Reduction    sum of 8 gradients: the schedule's learning rate acts as 8 times\n"
            "             itself");
  explanation.reduction = "mean";
  EXPECT_EQ(line(), "Reduction    mean of 8 gradients: the schedule's learning rate stays as it is");
  explanation.learning_rate = 0.5;
  EXPECT_EQ(line(), "Reduction    mean of 8 gradients: the learning rate 0.5 stays as it is");
  explanation.reduction = "sum";
  explanation.optimizer = "adam";
  explanation.steps_grow_with_gradients = false;
  EXPECT_EQ(line(),
            "Reduction    sum of 8 gradients: adam divides by their size, so the learning\n"
            "             rate 0.5 stays as it is");
  explanation.gradient_accumulation = 1;
  EXPECT_EQ(line(), "");
}

TEST(Explain, ShowsStagesThatShareAnIpu) {
  Explanation explanation = two_stages();
  explanation.ipus = 3;
  explanation.replicas = 3;
  explanation.device_mapping = {0, 0};
  const std::string text = to_text(explanation);
  EXPECT_NE(text.find("Devices      3 IPUs = 3 replicas x 1 IPU for 2 stages, 1 tile each, 2 cores\n"
                      "Mapping      IPU 0 has stages 0 1\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nMemory of each stage; all together 15.1 MiB\n"), std::string::npos) << text;
  EXPECT_NE(
      text.find("\nSchedule Grouped: 8 micro-batches in 20 slots an update; stages that share an IPU take turns\n"),
      std::string::npos)
      << text;
  EXPECT_EQ(hints(explanation).size(), 1u) << "that 3 IPUs share 2 cores";
}

TEST(Explain, ShowsReplicasOfALongPipeline) {
  EXPECT_EQ(to_text(many_ipus()), R"(Model "resnet", training

Devices      64 IPUs = 8 replicas x 8 stages, 1 tile each, 64 cores
Micro-batch  16 samples
Update       2,048 samples = 16 x 16 accumulated x 8 replicas (effective batch)
Epoch        60,000 samples = 3,750 batches = 30 updates = 4 executions
Execution    8 updates = 1,024 batches; the last one 6 updates = 678 batches
Last update  38 of 128 batches: 5 a replica, 2 of them empty

Work of a micro-batch: 828.0 MFLOP
  stage 0   12.1 %  ###                       block_0 .. add_0
  stage 1   12.2 %  ###                       block_1 .. add_1
  stage 2   12.3 %  ###                       block_2 .. add_2
  stage 3   12.4 %  ###                       block_3 .. add_3
  stage 4   12.6 %  ###                       block_4 .. add_4
  stage 5   12.7 %  ###                       block_5 .. add_5
  stage 6   12.8 %  ###                       block_6 .. add_6
  stage 7   12.9 %  ###                       block_7 .. add_7

Memory of each IPU; all 64 together 3.9 GiB
  stage weights optimizer gradients activations    stash    feeds    total
  0     1.9 MiB   3.8 MiB   1.9 MiB    28.6 MiB 53.4 MiB 64.0 KiB 89.7 MiB
  1     1.9 MiB   3.8 MiB   1.9 MiB    28.6 MiB 45.8 MiB 64.0 KiB 82.1 MiB
  2     1.9 MiB   3.8 MiB   1.9 MiB    28.6 MiB 38.1 MiB 64.0 KiB 74.4 MiB
  3     1.9 MiB   3.8 MiB   1.9 MiB    28.6 MiB 30.5 MiB 64.0 KiB 66.8 MiB
  4     1.9 MiB   3.8 MiB   1.9 MiB    28.6 MiB 22.9 MiB 64.0 KiB 59.2 MiB
  5     1.9 MiB   3.8 MiB   1.9 MiB    28.6 MiB 15.3 MiB 64.0 KiB 51.6 MiB
  6     1.9 MiB   3.8 MiB   1.9 MiB    28.6 MiB  7.6 MiB 64.0 KiB 43.9 MiB
  7     1.9 MiB   3.8 MiB   1.9 MiB    28.6 MiB      0 B 64.0 KiB 36.3 MiB

Schedule Interleaved: 16 micro-batches in 46 slots an update, bubble 30.4 %
  stage 0  0.1.2.3.4.5.6.7a8b9c0d1e2f3g4h ...
  stage 1  .0.1.2.3.4.5.6a7b8c9d0e1f2g3h4 ...
  stage 2  ..0.1.2.3.4.5a6b7c8d9e0f1g2h3i ...
  stage 3  ...0.1.2.3.4a5b6c7d8e9f0g1h2i3 ...
  stage 4  ....0.1.2.3a4b5c6d7e8f9g0h1i2j ...
  stage 5  .....0.1.2a3b4c5d6e7f8g9h0i1j2 ...
  stage 6  ......0.1a2b3c4d5e6f7g8h9i0j1a ...
  stage 7  .......0a1b2c3d4e5f6g7h8i9j0a1 ...
  0 1 2: forward, a b c: backward passes of micro-batches 0, 1, 2; .: idle

Hints
  - the pipeline is idle 30 % of the time with 16 accumulated micro-batches; 63
    accumulated micro-batches would bring it to 10 %
)");
}

TEST(Explain, ShowsAPlainModelOnOneIpu) {
  EXPECT_EQ(to_text(plain_model()), R"(Model "sequential", training

Devices      1 IPU = 1 replica x 1 stage, 2 tiles, 2 cores
Micro-batch  32 samples
Update       32 samples = 32 x 1 accumulated x 1 replica (effective batch)
Epoch        60,000 samples = 1,875 batches = 1,875 updates = 1 execution
Execution    1,875 updates = 1,875 batches
Padding      none

Memory of an IPU
  weights      397.5 KiB
  optimizer    795.1 KiB
  gradients    397.5 KiB
  activations   20.5 KiB
  feeds        100.0 KiB
  total          1.7 MiB
)");
}

TEST(Explain, ShowsAModelOnTheHost) {
  Explanation explanation = plain_model();
  explanation.ipus = 0;
  explanation.samples = 1000;
  EXPECT_EQ(to_text(explanation), R"(Model "sequential", training

Device       the host: 2 tiles, 2 cores
Micro-batch  32 samples
Update       32 samples = 32 x 1 accumulated x 1 replica (effective batch)
Epoch        1,000 samples = 32 batches = 32 updates = 1 execution
Execution    32 updates = 32 batches
Last batch   8 samples, padded to 32 with samples that do not count

Memory of the host
  weights      397.5 KiB
  optimizer    795.1 KiB
  gradients    397.5 KiB
  activations   20.5 KiB
  feeds        100.0 KiB
  total          1.7 MiB
)");
}

TEST(Explain, ShowsEvaluationWithoutUpdates) {
  Explanation explanation = two_stages();
  explanation.training = false;
  explanation.samples = 10'000;
  explanation.ipus = 4;
  explanation.replicas = 2;
  explanation.cores = 4;
  explanation.steps_per_execution = 48;
  explanation.schedule = grouped_schedule(2, false);
  for (ExplainedStage& stage : explanation.stages) {
    stage.megaflops = 151.9;
    stage.memory.gradients = stage.memory.stash = 0;
  }
  EXPECT_EQ(to_text(explanation), R"(Model "model", evaluation or prediction

Devices      4 IPUs = 2 replicas x 2 stages, 1 tile each, 4 cores
Micro-batch  64 samples
Epoch        10,000 samples = 157 batches = 4 executions
Execution    48 batches; the last one 13 batches
Last batch   16 samples, padded to 64 with samples that do not count
Last round   1 of 2 batches: 1 a replica, 1 of them empty

Work of a micro-batch: 303.8 MFLOP
  stage 0   50.0 %  ############              conv2d .. conv2d_1
  stage 1   50.0 %  ############              max_pooling2d_1 .. dense

Memory of each IPU; all 4 together 9.0 MiB
  stage                0          1
  weights       73.5 KiB   62.5 KiB
  activations    3.2 MiB  805.0 KiB
  feeds        392.0 KiB    2.5 KiB
  total          3.7 MiB  870.0 KiB

Schedule Grouped: 24 micro-batches in 25 slots an execution, bubble 4.0 %
  stage 0  F0 F1 F2 F3 F4 F5 F6 F7 F8 ...
  stage 1  .  F0 F1 F2 F3 F4 F5 F6 F7 ...
  F0 F1 F2: forward passes of micro-batches 0, 1, 2; .: idle
)");
}

TEST(Explain, LeavesOutTheEpochIfTheSamplesAreNotKnown) {
  Explanation explanation = plain_model();
  explanation.samples = 0;
  const std::string text = to_text(explanation);
  EXPECT_EQ(text.find("Epoch"), std::string::npos);
  EXPECT_EQ(text.find("Padding"), std::string::npos);
  EXPECT_EQ(hints(explanation), std::vector<std::string>{});
}

TEST(Explain, StaysUnder80Columns) {
  const auto widest = [](const Explanation& explanation) {
    std::istringstream lines(to_text(explanation));
    std::size_t columns = 0;
    for (std::string line; std::getline(lines, line);) columns = std::max(columns, line.size());
    return columns;
  };
  for (int stages : {1, 2, 4, 5, 8, 16})
    for (const auto& schedule_of : {grouped_schedule, interleaved_schedule, sequential_schedule})
      for (bool training : {true, false}) {
        Explanation explanation{.model = std::string(200, 'm'),
                                .samples = 123'456'789,
                                .batch_size = 1000,
                                .ipus = 1000 * stages + 1,
                                .replicas = 1000,
                                .gradient_accumulation = 999,
                                .cores = 2,
                                .tiles_per_ipu = 64,
                                .schedule = schedule_of(stages, training),
                                .training = training};
        constexpr std::size_t wide = 1'048'500;
        explanation.stages.assign(static_cast<std::size_t>(stages),
                                  {std::string(200, 'l'), 1e3, {wide, wide, wide, wide, wide, wide}});
        explanation.stages[0].megaflops = 9e9;
        ASSERT_LT(widest(explanation), 80) << to_text(explanation);
      }
}

TEST(ExplainCounts, SpareReplicasGetEmptyBatchesInTheLastUpdate) {
  const ExplainedCounts counts = counts_of(many_ipus());
  EXPECT_EQ(counts.effective_batch, 2048);
  EXPECT_EQ(counts.batches, 3750);
  EXPECT_EQ(counts.updates, 30);
  EXPECT_EQ(counts.executions, 4);
  EXPECT_EQ(counts.updates_in_last_execution, 6);
  EXPECT_EQ(counts.batches_in_last_update, 3750 - 29 * 128);
  EXPECT_EQ(counts.empty_batches, 5 * 8 - 38);
}

TEST(ExplainCounts, AnExecutionRunsWholeUpdatesAndAtLeastOne) {
  Explanation explanation = two_stages();
  for (const auto& [steps, updates] : {std::pair(1, 1), {7, 1}, {8, 1}, {15, 1}, {16, 2}, {936, 117}}) {
    explanation.steps_per_execution = steps;
    EXPECT_EQ(counts_of(explanation).updates_per_execution, updates) << steps;
  }
}

// Two stages of equal work, with nothing to point out.
Explanation balanced() {
  Explanation explanation = two_stages();
  for (ExplainedStage& stage : explanation.stages) stage.megaflops = 100;
  return explanation;
}

using Hints = std::vector<std::string>;

TEST(ExplainHints, NothingIsPointedOutWhereNothingIsWrong) {
  EXPECT_EQ(hints(plain_model()), Hints{});
  EXPECT_EQ(hints(balanced()), Hints{});
  EXPECT_EQ(hints(Explanation{}), Hints{});
}

TEST(ExplainHints, AnIpuStaysIdle) {
  Explanation explanation = balanced();
  explanation.cores = 8;
  explanation.ipus = 5;
  explanation.replicas = 2;
  EXPECT_EQ(hints(explanation),
            Hints{"1 of 5 IPUs stays idle: 2 replicas x 2 stages need 4; use 4 IPUs, or 6 for 3 replicas"});
  explanation.ipus = 4;
  EXPECT_EQ(hints(explanation), Hints{});
}

TEST(ExplainHints, AStageHasMoreThanItsShareOfTheWork) {
  Explanation explanation = balanced();
  explanation.stages[1].megaflops = 170;
  EXPECT_EQ(hints(explanation),
            Hints{"stage 1 (max_pooling2d_1 .. dense) does 63 % of the work, 1.3 times the mean, and the other stages "
                  "wait for it; use fewer stages, or make it smaller"});
  explanation.stages[1].megaflops = 166;
  EXPECT_EQ(hints(explanation), Hints{});
}

TEST(ExplainHints, TheAccumulationCountLeavesALargeBubble) {
  Explanation explanation = balanced();
  explanation.gradient_accumulation = 5;
  EXPECT_EQ(hints(explanation), Hints{"the pipeline is idle 29 % of the time with 5 accumulated micro-batches; 18 "
                                      "accumulated micro-batches would bring it to 10 %"});
  explanation.gradient_accumulation = 6;
  EXPECT_EQ(hints(explanation), Hints{});
  EXPECT_DOUBLE_EQ(explanation.schedule.bubble(18), 0.1);
}

TEST(ExplainHints, TheSequentialScheduleLeavesABubbleAtAnyCount) {
  Explanation explanation = balanced();
  explanation.schedule = sequential_schedule(2, true);
  EXPECT_EQ(hints(explanation),
            Hints{"the pipeline is idle 50 % of the time with the schedule Sequential, whatever the count; Interleaved "
                  "with 9 accumulated micro-batches would bring it to 10 %"});
  EXPECT_DOUBLE_EQ(interleaved_schedule(2, true).bubble(9), 0.1);
}

TEST(ExplainHints, EvaluationIsToldTheStepsOfAnExecution) {
  Explanation explanation = balanced();
  explanation.training = false;
  explanation.schedule = interleaved_schedule(2, false);
  explanation.steps_per_execution = 2;
  EXPECT_EQ(hints(explanation), Hints{"the pipeline is idle 33 % of the time with steps_per_execution = 2; "
                                      "steps_per_execution = 9 would bring it to 10 %"});
  explanation.steps_per_execution = 9;
  EXPECT_EQ(hints(explanation), Hints{});
}

TEST(ExplainHints, DevicesShareCores) {
  Explanation explanation = balanced();
  explanation.cores = 1;
  EXPECT_EQ(hints(explanation), Hints{"2 IPUs share 1 core: the results stay the same, but more devices add no speed"});
  explanation.cores = 2;
  explanation.tiles_per_ipu = 2;
  EXPECT_EQ(hints(explanation),
            Hints{"2 IPUs of 2 tiles share 2 cores: the results stay the same, but more devices add no speed"});
  explanation.cores = 4;
  EXPECT_EQ(hints(explanation), Hints{});
}

TEST(ExplainHints, AnExecutionIsSmallerThanAnUpdate) {
  Explanation explanation = balanced();
  explanation.steps_per_execution = 7;
  EXPECT_EQ(hints(explanation), Hints{"steps_per_execution = 7 is less than an update takes (8 batches), and an "
                                      "execution runs that at least; use a multiple of 8"});
  explanation.steps_per_execution = 8;
  EXPECT_EQ(hints(explanation), Hints{});
}

TEST(ExplainHints, EachStepIsAnExecution) {
  Explanation explanation = plain_model();
  explanation.steps_per_execution = 1;
  EXPECT_EQ(hints(explanation), Hints{"steps_per_execution = 1 starts 1875 executions an epoch; steps_per_execution = "
                                      "1875 runs an epoch in one"});
  explanation.steps_per_execution = 2;
  EXPECT_EQ(hints(explanation), Hints{});
  explanation.steps_per_execution = 1;
  explanation.samples = 32;
  EXPECT_EQ(hints(explanation), Hints{});
}

TEST(ExplainHints, TheEffectiveBatchIsLargerThanTheDataSet) {
  Explanation explanation = balanced();
  explanation.samples = 511;
  EXPECT_EQ(hints(explanation), Hints{"the effective batch of 512 is larger than the 511 samples: an epoch is one "
                                      "update, and not a full one"});
  explanation.samples = 512;
  EXPECT_EQ(hints(explanation), Hints{});
}

}  // namespace
}  // namespace pando
