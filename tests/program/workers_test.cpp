// SPDX-License-Identifier: Apache-2.0
// Programs that several workers run together: the results, outputs and errors of one process with all replicas.
#include <gtest/gtest.h>

#include <cmath>

#include "program/state.h"
#include "sum_step.h"
#include "tests/comm/thread_workers.h"
#include "tests/message.h"

namespace pando {
namespace {

class WorkersProgram : public DividedTest {};
INSTANTIATE_TEST_SUITE_P(Threads, WorkersProgram, testing::Bool(), name_of_threads);

// x = {sin(row + 7 replica), cos(...)}, for replicas from `first` on.
FillFeeds waves(std::int64_t rows, int first) {
  return [rows, first](std::int64_t row, std::span<std::byte* const> feeds) {
    if (row == rows) return false;
    for (std::size_t replica = 0; replica < feeds.size(); ++replica) {
      const auto angle = static_cast<float>(row) + 7.0f * static_cast<float>(static_cast<int>(replica) + first);
      auto* x = reinterpret_cast<float*>(feeds[replica]);
      x[0] = std::sin(angle);
      x[1] = std::cos(angle) * 1000.0f;
    }
    return true;
  };
}

struct Outcome {
  std::int64_t rows = 0;
  std::vector<float> w, losses, last_sum;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome run(int stages, const Division& division, std::int64_t rows, const std::shared_ptr<Workers>& workers = {}) {
  const int here = workers ? division.replicas / workers->count() : division.replicas;
  Variables variables;
  Program program(sum_step(stages), devices(stages * here), division, variables, {.workers = workers});
  Feed feed(program, waves(rows, workers ? workers->rank() * here : 0));
  Outcome outcome;
  outcome.rows = program.run(rows + 3, feed);
  outcome.w = floats(variables.get("w"));
  outcome.losses = floats(program.output("losses"));
  outcome.last_sum = floats(program.output("last_sum"));
  return outcome;
}

TEST_P(WorkersProgram, GivesTheBitsOfOneProcess) {
  for (int stages : {1, 3})
    for (int workers : {2, 3})
      for (int replicas : {1, 2}) {
        const Division division{.replicas = workers * replicas, .accumulation = 2, .order = PipelineOrder::interleaved};
        const Outcome alone = run(stages, division, 11);
        EXPECT_EQ(alone.rows, 11);
        ThreadWorkers(workers).run(
            [&](const std::shared_ptr<Workers>& worker) { EXPECT_EQ(run(stages, division, 11, worker), alone); });
      }
}

TEST_P(WorkersProgram, AFailureOfOneEndsAll) {
  std::vector<std::string> messages(3);
  ThreadWorkers(3).run([&](const std::shared_ptr<Workers>& worker) {
    Program program(sum_step(1), devices(1), {.replicas = 3}, Variables(), {.workers = worker});
    Feed feed(program, [&](std::int64_t row, std::span<std::byte* const> feeds) {
      if (row == 5 && worker->rank() == 2) throw Error("the disk is gone");
      return waves(100, worker->rank())(row, feeds);
    });
    messages[static_cast<std::size_t>(worker->rank())] = message([&] { program.run(50, feed); });
  });
  EXPECT_EQ(messages, (std::vector<std::string>{"worker 2 gave up: the disk is gone",
                                                "worker 2 gave up: the disk is gone", "the disk is gone"}));
}

TEST_P(WorkersProgram, WorkersWithDataOfDifferentLengthsAreTold) {
  std::vector<std::string> messages(2);
  ThreadWorkers(2).run([&](const std::shared_ptr<Workers>& worker) {
    Program program(sum_step(1), devices(1), {.replicas = 2, .accumulation = 4}, Variables(), {.workers = worker});
    Feed feed(program, waves(worker->rank() == 0 ? 7 : 8, worker->rank()));
    messages[static_cast<std::size_t>(worker->rank())] = message([&] { program.run(8, feed); });
  });
  EXPECT_EQ(messages[0], "worker 0 ran 7 rows and worker 1 ran 8; all workers must be given the same data");
}

TEST(Workers, ReplicasMustBeSharedEqually) {
  ThreadWorkers two(2);
  EXPECT_EQ(
      message([&] { Program(sum_step(1), devices(3), {.replicas = 3}, Variables(), {.workers = two.worker(0)}); }),
      "a program of 3 replicas cannot be shared by 2 workers; give each the same number");
}

}  // namespace
}  // namespace pando
