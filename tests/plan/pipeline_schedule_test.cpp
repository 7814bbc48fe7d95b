// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules: what they keep, what they waste, and that every pass finds its input ready.
#include "plan/pipeline_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/message.h"

namespace pando {
namespace {

constexpr int most_stages = 8;
constexpr std::int64_t most_micro_batches = 20;

std::vector<PipelineSchedule> all_schedules(int stages, bool training) {
  return {grouped_schedule(stages, training), interleaved_schedule(stages, training),
          sequential_schedule(stages, training)};
}

// Calls back with each schedule of each number of stages and micro-batches, in training and without.
template <class Check>
void for_each_run(Check check) {
  for (int stages = 1; stages <= most_stages; ++stages)
    for (bool training : {true, false})
      for (const PipelineSchedule& schedule : all_schedules(stages, training))
        for (std::int64_t micro_batches = 1; micro_batches <= most_micro_batches; ++micro_batches) {
          SCOPED_TRACE(schedule.name + (training ? " training " : " inference ") + std::to_string(stages) + " stages " +
                       std::to_string(micro_batches) + " micro-batches");
          check(schedule, micro_batches);
        }
}

TEST(PipelineSchedule, KeepsAsManyActivationsAsItsKindNeeds) {
  for (int stages = 1; stages <= most_stages; ++stages)
    for (int i = 0; i < stages; ++i) {
      EXPECT_EQ(grouped_schedule(stages, true).stash_depth(i), 2 * (stages - 1 - i));
      EXPECT_EQ(interleaved_schedule(stages, true).stash_depth(i), stages - 1 - i);
      EXPECT_EQ(sequential_schedule(stages, true).stash_depth(i), 0);
      for (const PipelineSchedule& schedule : all_schedules(stages, false)) EXPECT_EQ(schedule.stash_depth(i), 0);
    }
}

TEST(PipelineSchedule, LeavesTheBubbleOfItsKind) {
  for (int stages = 1; stages <= most_stages; ++stages)
    for (std::int64_t count = 1; count <= most_micro_batches; ++count) {
      const double ramp = stages - 1, micro_batches = static_cast<double>(count);
      EXPECT_DOUBLE_EQ(1 - grouped_schedule(stages, true).bubble(count), 1 - 2 * ramp / (micro_batches + 2 * ramp));
      EXPECT_DOUBLE_EQ(1 - interleaved_schedule(stages, true).bubble(count), 1 - ramp / (micro_batches + ramp));
      for (bool training : {true, false})
        EXPECT_DOUBLE_EQ(sequential_schedule(stages, training).bubble(count), 1 - 1.0 / stages);
      EXPECT_DOUBLE_EQ(1 - grouped_schedule(stages, false).bubble(count), 1 - ramp / (micro_batches + ramp));
      EXPECT_DOUBLE_EQ(1 - interleaved_schedule(stages, false).bubble(count), 1 - ramp / (micro_batches + ramp));
    }
}

TEST(PipelineSchedule, WithoutMicroBatchesNothingRuns) {
  const PipelineSchedule schedule = grouped_schedule(3, true);
  EXPECT_EQ(schedule.slots(0), 0);
  EXPECT_EQ(schedule.bubble(0), 0);
  EXPECT_TRUE(actions_of_stage(schedule, 1, 0).empty());
}

TEST(PipelineSchedule, ListsTheActionsOfAStageInOrder) {
  std::string text;
  for (const PipelineAction& action : actions_of_stage(interleaved_schedule(3, true), 1, 3))
    text += (action.forward ? "F" : "B") + std::to_string(action.micro_batch) + "@" + std::to_string(action.slot) + " ";
  EXPECT_EQ(text, "F0@1 F1@3 B0@4 F2@5 B1@6 B2@8 ");
}

TEST(PipelineSchedule, EachMicroBatchPassesEachStageOnceForwardAndOnceBackward) {
  for_each_run([](const PipelineSchedule& schedule, std::int64_t micro_batches) {
    for (int stage = 0; stage < schedule.stages(); ++stage) {
      std::map<std::int64_t, int> forward, backward;
      for (const PipelineAction& action : actions_of_stage(schedule, stage, micro_batches))
        ++(action.forward ? forward : backward)[action.micro_batch];
      std::map<std::int64_t, int> once;
      for (std::int64_t m = 0; m < micro_batches; ++m) once[m] = 1;
      ASSERT_EQ(forward, once);
      ASSERT_EQ(backward, schedule.backward.empty() ? (std::map<std::int64_t, int>{}) : once);
    }
  });
}

TEST(PipelineSchedule, AStageDoesOnePassInASlotAndIsBusyButForTheBubble) {
  for_each_run([](const PipelineSchedule& schedule, std::int64_t micro_batches) {
    const std::int64_t slots = schedule.slots(micro_batches);
    std::int64_t last = 0, busy = 0;
    for (int stage = 0; stage < schedule.stages(); ++stage) {
      std::int64_t previous = -1;
      for (const PipelineAction& action : actions_of_stage(schedule, stage, micro_batches)) {
        ASSERT_GT(action.slot, previous) << "stage " << stage;
        previous = action.slot;
        ++busy;
      }
      last = std::max(last, previous);
    }
    ASSERT_EQ(last + 1, slots);
    const auto cells = static_cast<double>(slots * schedule.stages());
    ASSERT_NEAR(schedule.bubble(micro_batches), 1 - static_cast<double>(busy) / cells, 1e-12);
  });
}

// Walks through the slots with all stages at once. A pass that ends with a slot is of use from the next one on.
void expect_inputs_ready(const PipelineSchedule& schedule, std::int64_t micro_batches) {
  const int stages = schedule.stages();
  std::multimap<std::int64_t, std::pair<int, PipelineAction>> by_slot;
  for (int stage = 0; stage < stages; ++stage)
    for (const PipelineAction& action : actions_of_stage(schedule, stage, micro_batches))
      by_slot.insert({action.slot, {stage, action}});
  std::map<std::pair<int, std::int64_t>, std::int64_t> forward_end, backward_end;
  for (const auto& [slot, work] : by_slot) {
    const auto& [stage, action] = work;
    const auto ended = [slot = slot, micro_batch = action.micro_batch](const auto& ends, int other) {
      const auto found = ends.find({other, micro_batch});
      return found != ends.end() && found->second <= slot;
    };
    if (action.forward) {
      ASSERT_TRUE(stage == 0 || ended(forward_end, stage - 1)) << "forward pass in slot " << slot;
      forward_end[{stage, action.micro_batch}] = slot + 1;
    } else {
      ASSERT_TRUE(ended(forward_end, stage)) << "backward pass in slot " << slot;
      ASSERT_TRUE(stage == stages - 1 || ended(backward_end, stage + 1)) << "backward pass in slot " << slot;
      backward_end[{stage, action.micro_batch}] = slot + 1;
    }
  }
}

TEST(PipelineSchedule, EachPassBeginsWhenItsInputsAreReady) { for_each_run(expect_inputs_ready); }

TEST(PipelineSchedule, AStageHoldsNoMoreMicroBatchesThanItsStashAndTheOneAtWork) {
  for_each_run([](const PipelineSchedule& schedule, std::int64_t micro_batches) {
    if (schedule.backward.empty()) return;
    for (int stage = 0; stage < schedule.stages(); ++stage) {
      std::int64_t held = 0, most = 0;
      for (const PipelineAction& action : actions_of_stage(schedule, stage, micro_batches)) {
        held += action.forward ? 1 : -1;
        most = std::max(most, held);
      }
      ASSERT_EQ(held, 0);
      ASSERT_EQ(most, std::min(micro_batches, schedule.stash_depth(stage) + 1)) << "stage " << stage;
    }
  });
}

TEST(VerifySchedule, AcceptsAllThatAreBuiltIn) {
  for_each_run([](const PipelineSchedule& schedule, std::int64_t) { ASSERT_NO_THROW(verify(schedule)); });
}

std::string refusal(std::int64_t period, std::vector<std::int64_t> forward, std::vector<std::int64_t> backward) {
  const PipelineSchedule schedule{"mine", period, std::move(forward), std::move(backward)};
  return message([&] { verify(schedule); });
}

TEST(VerifySchedule, RefusesAScheduleWithoutStagesOrPeriod) {
  const std::string expected = "the schedule 'mine' is wrong at stage 0: it has no stages, or a period below 1";
  EXPECT_EQ(refusal(1, {}, {}), expected);
  EXPECT_EQ(refusal(0, {0, 1}, {}), expected);
}

TEST(VerifySchedule, RefusesBackwardPassesOfSomeStagesOnly) {
  EXPECT_EQ(refusal(2, {0, 1}, {3}), "the schedule 'mine' is wrong at stage 0: some stages have no backward pass");
}

TEST(VerifySchedule, RefusesNegativeOffsets) {
  EXPECT_EQ(refusal(2, {-1, 0}, {}), "the schedule 'mine' is wrong at stage 0: an offset is negative");
  EXPECT_EQ(refusal(2, {0, -1}, {}), "the schedule 'mine' is wrong at stage 1: an offset is negative");
}

TEST(VerifySchedule, RefusesAForwardPassBeforeItsInput) {
  const std::string expected =
      "the schedule 'mine' is wrong at stage 2: its forward pass begins before its input is ready";
  EXPECT_EQ(refusal(2, {0, 1, 1}, {7, 6, 4}), expected);
  EXPECT_EQ(refusal(1, {0, 2, 1}, {}), expected);
}

TEST(VerifySchedule, RefusesABackwardPassBeforeTheForwardPassHasEnded) {
  const std::string expected =
      "the schedule 'mine' is wrong at stage 1: its backward pass begins before its forward pass has ended";
  EXPECT_EQ(refusal(2, {0, 3}, {5, 2}), expected);
  EXPECT_EQ(refusal(2, {0, 3}, {5, 3}), expected);
}

TEST(VerifySchedule, RefusesABackwardPassBeforeItsGradient) {
  const std::string expected =
      "the schedule 'mine' is wrong at stage 0: its backward pass begins before its gradient is ready";
  EXPECT_EQ(refusal(2, {0, 2}, {5, 5}), expected);
  EXPECT_EQ(refusal(2, {0, 2}, {3, 5}), expected);
}

TEST(VerifySchedule, RefusesTwoPassesInOneSlot) {
  EXPECT_EQ(refusal(2, {0, 1}, {4, 2}), "the schedule 'mine' is wrong at stage 0: it does two passes in one slot");
  EXPECT_EQ(refusal(2, {0, 1}, {5, 3}), "the schedule 'mine' is wrong at stage 1: it does two passes in one slot");
  EXPECT_EQ(refusal(1, {0}, {1}), "the schedule 'mine' is wrong at stage 0: it does two passes in one slot");
}

}  // namespace
}  // namespace pando
