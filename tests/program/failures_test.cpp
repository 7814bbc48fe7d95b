// SPDX-License-Identifier: Apache-2.0
// What goes wrong on one device reaches the caller of run(), ends all others, and leaves a program that runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "program/state.h"
#include "sum_step.h"
#include "tests/message.h"

namespace pando {
namespace {

class DividedFailures : public DividedTest {};
INSTANTIATE_TEST_SUITE_P(Threads, DividedFailures, testing::Bool(), name_of_threads);

// Two stages with a weight each; their slopes are scaled by the norm of both, so that stages exchange values, and a
// statistic is averaged over the replicas.
Graph two_stage_step() {
  Graph graph;
  const Value x = ops::input(graph, "x", DType::float32, {2});
  const Value a = ops::variable(graph, "a", DType::float32, {2}), b = ops::variable(graph, "b", DType::float32, {2});
  const Value mean = ops::variable(graph, "mean", DType::float32, {2}, VariableRole::statistic);
  graph.begin_stage(0);
  Value y;
  {
    const Graph::Scope scope(graph, "layer1/log");
    y = ops::log(x);
  }
  graph.assign(mean, ops::replica_mean((mean + y) * 0.5));
  y = y * (a + 1.0);
  graph.begin_stage(1);
  const Value loss = ops::reduce_sum(ops::square(y - b));
  graph.add_output("losses", loss, true);
  std::vector<Value> slopes = gradients(loss, {a, b}), squares;
  for (std::int32_t stage : {0, 1}) {
    graph.begin_stage(stage);
    Value& slope = slopes[static_cast<std::size_t>(stage)];
    slope = ops::update_sum(slope);
    squares.push_back(ops::reduce_sum(ops::square(slope)));
  }
  graph.begin_stage(any_stage);
  const Value factor = 0.1 / ops::sqrt(squares[0] + squares[1] + 1.0);
  graph.begin_stage(0);
  graph.assign(a, a - slopes[0] * factor);
  graph.begin_stage(1);
  graph.assign(b, b - slopes[1] * factor);
  return graph;
}

constexpr Division two_replicas = {.replicas = 2, .accumulation = 2};

// All of x is `number`, but for that of replica 1 in row `row`, which is `other`.
FillFeeds filled_with(float number, std::int64_t row = -1, float other = 0) {
  return [=](std::int64_t now, std::span<std::byte* const> feeds) {
    for (std::size_t replica = 0; replica < feeds.size(); ++replica)
      std::fill_n(reinterpret_cast<float*>(feeds[replica]), 2, now == row && replica == 1 ? other : number);
    return true;
  };
}

// Good data go through the program, and the replicas have the same bits afterwards. From the same weights on, it
// computes what a new program does.
void expect_that_it_runs(Program& program, Variables& variables) {
  Variables fresh;
  for (const char* name : {"a", "b", "mean"}) fresh.set(name, variables.get(name));
  Program other(two_stage_step(), devices(4), two_replicas, fresh);
  Feed feed(program, filled_with(2)), feed_of_other(other, filled_with(2));
  ASSERT_EQ(program.run(5, feed), 5);
  ASSERT_EQ(other.run(5, feed_of_other), 5);
  EXPECT_EQ(floats(program.output("losses")), floats(other.output("losses")));
  for (const char* name : {"a", "b", "mean"}) {
    const std::vector<float> expected = floats(fresh.get(name));
    EXPECT_NE(expected, (std::vector<float>{0, 0})) << name;
    for (int replica = 0; replica < 2; ++replica)
      EXPECT_EQ(floats(ProgramInside::variables_of_replica(program, replica).get(name)), expected) << name;
  }
}

TEST_P(DividedFailures, ANaNOnOneReplicaNamesItsNode) {
  for (std::int64_t row : {0, 1, 2, 5}) {
    Variables variables;
    Program program(two_stage_step(), devices(4), two_replicas, variables, {.check_numerics = true});
    Feed feed(program, filled_with(2, row, -1));
    EXPECT_EQ(message([&] { program.run(6, feed); }),
              "check_numerics: update " + std::to_string(row / two_replicas.accumulation) +
                  " made a NaN or an infinity in output 0 of log 'layer1/log', float32[2]; lower the learning rate or "
                  "look at its inputs");
    // What was not run has no results.
    EXPECT_EQ(program.output("losses").shape(), (Shape{0}));
    expect_that_it_runs(program, variables);
  }
}

TEST_P(DividedFailures, WhatAFillFunctionThrowsReachesTheCaller) {
  struct Broken {};
  for (std::int64_t row : {0, 1, 2, 7}) {
    Variables variables;
    Program program(two_stage_step(), devices(4), two_replicas, variables);
    Feed feed(program, [&, fill = filled_with(2)](std::int64_t now, std::span<std::byte* const> feeds) {
      if (now == row) throw Broken();
      return fill(now, feeds);
    });
    EXPECT_THROW(program.run(10, feed), Broken) << row;
    // It stays the end of the feed.
    EXPECT_THROW(program.run(1, feed), Broken);
    expect_that_it_runs(program, variables);
  }
}

// What fails in the tests below.
struct Failure {
  int device;
  Activity activity;
};

// Throws when a device begins something for the second time in a run, so that others are in the midst of theirs.
class FailingObserver final : public StepObserver {
 public:
  explicit FailingObserver(const Failure& failure) : failure_(failure) {}
  void begin(int device, Activity activity, std::int64_t) override {
    if (device == failure_.device && activity == failure_.activity && ++count_ == 2) throw failure_;
    ++open_;
  }
  void end(int, Activity, std::int64_t) override { --open_; }
  // What was begun and has not ended.
  int open() const { return open_; }

 private:
  const Failure failure_;
  int count_ = 0;
  std::atomic<int> open_ = 0;
};

TEST_P(DividedFailures, EveryActivityOfEveryDeviceMayFail) {
  for (int device = 0; device < 4; ++device)
    for (Activity activity : {Activity::forward, Activity::backward, Activity::exchange, Activity::update}) {
      SCOPED_TRACE("device " + std::to_string(device) + " activity " + std::to_string(static_cast<int>(activity)));
      Variables variables;
      Program program(two_stage_step(), devices(4), two_replicas, variables);
      FailingObserver observer({device, activity});
      ProgramInside::set_observer(program, &observer);
      Feed feed(program, filled_with(2));
      try {
        program.run(20, feed);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const Failure& failure) {
        EXPECT_EQ(failure.device, device);
        EXPECT_EQ(failure.activity, activity);
      }
      EXPECT_EQ(observer.open(), 0);
      ProgramInside::set_observer(program, nullptr);
      expect_that_it_runs(program, variables);
    }
}

// Replica 1 fails in its first row, but not before replica 0 has used all rows that the feed has room for.
class LateObserver final : public StepObserver {
 public:
  void begin(int device, Activity activity, std::int64_t row) override {
    if (activity != Activity::backward) return;
    if (device == 0) {
      row_ = row;
      row_.notify_all();
      return;
    }
    for (std::int64_t seen; (seen = row_.load()) < last_row;) row_.wait(seen);
    throw Failure{device, activity};
  }
  void end(int, Activity, std::int64_t) override {}

 private:
  // Of those that two replicas of one stage work on at once.
  static constexpr std::int64_t last_row = 3;
  std::atomic<std::int64_t> row_ = -1;
};

// The first run of a program has a thread for each device, however crowded the machine is.
TEST(Failures, AReplicaThatIsAheadDoesNotWaitForOneThatFailed) {
  Variables variables;
  Program program(sum_step(1), devices(2), {.replicas = 2, .accumulation = 64}, variables);
  LateObserver observer;
  ProgramInside::set_observer(program, &observer);
  Feed feed(program, rows_of_x(1000), 1);
  EXPECT_THROW(program.run(64, feed), Failure);
  ProgramInside::set_observer(program, nullptr);
  EXPECT_EQ(floats(variables.get("w")), (std::vector<float>{0, 0}));
  EXPECT_EQ(program.run(64, feed), 64);
}

// Two failures at once: one of them is thrown.
TEST_P(DividedFailures, AllDevicesMayFail) {
  class Observer final : public StepObserver {
   public:
    void begin(int device, Activity activity, std::int64_t) override { throw Failure{device, activity}; }
    void end(int, Activity, std::int64_t) override {}
  };
  Variables variables;
  Program program(two_stage_step(), devices(4), two_replicas, variables);
  Observer observer;
  for (int repetition = 0; repetition < 10; ++repetition) {
    ProgramInside::set_observer(program, &observer);
    Feed feed(program, filled_with(2));
    EXPECT_THROW(program.run(4, feed), Failure);
    ProgramInside::set_observer(program, nullptr);
  }
  expect_that_it_runs(program, variables);
}

// In a child: no run of this process begins after it.
TEST(StopAllRuns, WaitsForThoseGoingOnAndRefusesLaterOnes) {
  // A new process: one made by fork() cannot use the GPU of its parent.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto in_a_child = [] {
    Program program(sum_step(1), devices(1)[0], Variables());
    std::atomic<bool> running = false, over = false;
    Feed feed(program, [&](std::int64_t row, std::span<std::byte* const> feeds) {
      std::fill_n(feeds[0], 2 * sizeof(float), std::byte{});
      // The feed is filled ahead, before there is a run.
      running = row > 10 * default_feed_slots;
      return !over;
    });
    std::thread trainer([&] { program.run(1 << 22, feed); });
    while (!running) std::this_thread::yield();
    std::thread ender([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      over = true;
    });
    stop_all_runs();
    const bool waited = over;
    const std::string refusal = message([&] { program.run(1, feed); });
    ender.join();
    trainer.join();
    std::_Exit(waited && refusal == "run: the process is ending, and no program runs any more" ? 42 : 1);
  };
  EXPECT_EXIT(in_a_child(), testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace pando
