// SPDX-License-Identifier: Apache-2.0
// Programs that several workers run together: the results, outputs and errors of one process with all replicas.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

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

// A chain of layers whose weights are more than one bucket, half of it in each stage.
Graph wide_step(int stages) {
  constexpr std::int64_t width = 300, layers = 5;
  Graph graph;
  graph.begin_stage(stages > 1 ? 0 : any_stage);
  Value x = ops::reshape(ops::input(graph, "x", DType::float32, {2}), {1, 2});
  std::vector<Value> weights;
  for (std::int64_t i = 0; i < layers; ++i) {
    if (stages > 1 && i == layers / 2) graph.begin_stage(1);
    weights.push_back(ops::variable(graph, "w" + std::to_string(i), DType::float32, {i == 0 ? 2 : width, width}));
    x = ops::tanh(ops::matmul(x, weights.back()));
  }
  const Value loss = ops::reduce_sum(x * x);
  graph.add_output("losses", loss, true);
  const std::vector<Value> all = gradients(loss, weights);
  for (std::size_t i = 0; i < all.size(); ++i) {
    graph.begin_stage(stages == 1 ? any_stage : static_cast<std::int64_t>(i) < layers / 2 ? 0 : 1);
    graph.assign(weights[i], weights[i] - ops::update_sum(all[i]) * 0.01);
  }
  return graph;
}

// Counts what another one exchanges for sums, and on which threads.
class CountingWorkers final : public Workers {
 public:
  explicit CountingWorkers(std::shared_ptr<Workers> other) : other_(std::move(other)) {}
  int rank() const override { return other_->rank(); }
  int count() const override { return other_->count(); }
  void exchange(int channel, std::span<const Sent> sent, std::span<const Received> received) override {
    if (channel < result_channel) {
      ++exchanges;
      if (std::this_thread::get_id() != own_) ++elsewhere;
    }
    other_->exchange(channel, sent, received);
  }
  void give_up(const std::string& why) noexcept override { other_->give_up(why); }

  std::atomic<int> exchanges = 0, elsewhere = 0;

 private:
  const std::shared_ptr<Workers> other_;
  const std::thread::id own_ = std::this_thread::get_id();
};

std::vector<float> run_wide(int stages, const Division& division, std::int64_t rows,
                            const std::shared_ptr<Workers>& workers = {}) {
  const int here = workers ? division.replicas / workers->count() : division.replicas;
  const Graph graph = wide_step(stages);
  Variables variables;
  Program program(graph, devices(stages * here), division, variables, {.workers = workers});
  for (const VariableInfo& variable : program.variables()) {
    Array value(DType::float32, variable.type.shape);
    for (std::int64_t i = 0; i < value.elements(); ++i)
      value.mutable_data<float>()[i] = std::sin(static_cast<float>(i)) * 0.1f;
    variables.set(variable.name, value);
  }
  Feed feed(program, waves(rows, workers ? workers->rank() * here : 0));
  EXPECT_EQ(program.run(rows + 1, feed), rows);
  std::vector<float> all = floats(program.output("losses"));
  for (const VariableInfo& variable : program.variables())
    for (const float value : floats(variables.get(variable.name))) all.push_back(value);
  return all;
}

// Also if the data ends within an update.
TEST_P(WorkersProgram, GivesTheSameBitsWhenBucketsAreSentDuringTheBackwardPass) {
  for (int stages : {1, 2})
    for (std::int64_t accumulation : {1, 3})
      for (int replicas : {1, 2}) {
        const Division division{.replicas = 2 * replicas, .accumulation = accumulation};
        const std::vector<float> alone = run_wide(stages, division, 5);
        ThreadWorkers(2).run([&](const std::shared_ptr<Workers>& worker) {
          const auto counting = std::make_shared<CountingWorkers>(worker);
          EXPECT_EQ(run_wide(stages, division, 5, counting), alone);
          // Sums that the host cannot reach are exchanged at the end.
          if (devices(1)[0].backend() != "cpu") return;
          const std::int64_t updates = accumulation == 1 ? 5 : 2;
          EXPECT_GE(counting->exchanges, 4 * updates) << "several buckets in each update";
          EXPECT_GT(counting->elsewhere, 0) << "on a thread of their own";
        });
      }
}

TEST_P(WorkersProgram, AFailureEndsBucketsToo) {
  std::vector<std::string> messages(2);
  ThreadWorkers(2).run([&](const std::shared_ptr<Workers>& worker) {
    Program program(wide_step(1), devices(1), {.replicas = 2}, Variables(), {.workers = worker});
    Feed feed(program, [&](std::int64_t row, std::span<std::byte* const> feeds) {
      if (row == 3 && worker->rank() == 1) throw Error("the disk is gone");
      return waves(100, worker->rank())(row, feeds);
    });
    messages[static_cast<std::size_t>(worker->rank())] = message([&] { program.run(50, feed); });
  });
  EXPECT_EQ(messages, (std::vector<std::string>{"worker 1 gave up: the disk is gone", "the disk is gone"}));
}

TEST(Workers, ReplicasMustBeSharedEqually) {
  ThreadWorkers two(2);
  EXPECT_EQ(
      message([&] { Program(sum_step(1), devices(3), {.replicas = 3}, Variables(), {.workers = two.worker(0)}); }),
      "a program of 3 replicas cannot be shared by 2 workers; give each the same number");
}

}  // namespace
}  // namespace pando
