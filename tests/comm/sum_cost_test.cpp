// SPDX-License-Identifier: Apache-2.0
// The formulas count what reduce_over_workers sends: rounds, messages and bytes.
#include "comm/sum_cost.h"

#include <gtest/gtest.h>

#include <limits>

#include "comm/worker_sums.h"
#include "tests/comm/emulated_sums.h"
#include "tests/comm/thread_workers.h"

namespace pando {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

struct Traffic {
  int rounds = 0;
  std::size_t messages = 0;
  double bytes = 0;
};

class CountedWorkers final : public Workers {
 public:
  explicit CountedWorkers(Workers& workers) : workers_(workers) {}
  int rank() const override { return workers_.rank(); }
  int count() const override { return workers_.count(); }
  void exchange(int channel, std::span<const Sent> sent, std::span<const Received> received) override {
    ++traffic.rounds;
    traffic.messages += sent.size();
    for (const Sent& one : sent) traffic.bytes += static_cast<double>(one.bytes.size());
    workers_.exchange(channel, sent, received);
  }
  void give_up(const std::string& why) noexcept override { workers_.give_up(why); }

  Traffic traffic;

 private:
  Workers& workers_;
};

void expect_counted(int workers, int replicas, std::size_t count) {
  const std::size_t bytes = count * sizeof(float);
  ThreadWorkers(workers).run([&](const std::shared_ptr<Workers>& worker) {
    std::vector<std::vector<float>> numbers(static_cast<std::size_t>(replicas), std::vector<float>(count, 1.0f));
    std::vector<std::vector<std::span<float>>> spans;
    for (std::vector<float>& one : numbers) spans.push_back({std::span(one)});
    const std::vector<std::span<const std::span<float>>> parts(spans.begin(), spans.end());
    CountedWorkers counted(*worker);
    SumScratch scratch;
    reduce_over_workers(counted, 1, parts, false, scratch);
    const auto seconds = [&](const NetworkCost& network) { return sum_seconds(network, workers, replicas, bytes); };
    const int rounds = counted.traffic.rounds;
    EXPECT_EQ(seconds({.latency = 1, .bandwidth = never, .copies = never}), rounds);
    const double messages = static_cast<double>(counted.traffic.messages) - rounds;
    EXPECT_EQ(seconds({.per_message = 1, .bandwidth = never, .copies = never}), messages);
    // Shares differ by the rounding of their borders.
    EXPECT_NEAR(seconds({.bandwidth = 1, .copies = never}), counted.traffic.bytes, 8.0 * workers * replicas);
  });
}

TEST(SumCost, CountsWhatIsSent) {
  for (const int workers : {2, 3, 5})
    for (const int replicas : {1, 2})
      for (const std::size_t count : {10u, 4096u, 4097u, 100'000u}) {
        SCOPED_TRACE(testing::Message() << workers << " workers, " << replicas << " replicas, " << count);
        expect_counted(workers, replicas, count);
      }
}

// The same for sums on devices, whose messages of a round travel together.
TEST(SumCost, CountsWhatDevicesSend) {
  for (const int workers : {2, 3, 5})
    for (const int replicas : {1, 2})
      for (const std::size_t count : {10U, 4096U, 4097U, 100'000U})
        ThreadWorkers(workers).run([&](const std::shared_ptr<Workers>& worker) {
          const auto own = static_cast<std::size_t>(replicas);
          std::vector<std::vector<float>> numbers(own, std::vector<float>(count, 1.0f));
          std::vector<std::span<float>> arrays(numbers.begin(), numbers.end());
          std::vector<std::span<const std::span<float>>> parts;
          for (const std::span<float>& array : arrays) parts.emplace_back(&array, 1);
          const auto counted = std::make_shared<CountedWorkers>(*worker);
          EmulatedSumDevice device(counted, 1);
          reduce_on_device(device, parts, false);
          const auto seconds = [&](const NetworkCost& network) {
            return device_sum_seconds(network, workers, replicas, count * sizeof(float));
          };
          EXPECT_EQ(seconds({.latency = 1, .bandwidth = never, .copies = never}), counted->traffic.rounds);
          EXPECT_NEAR(seconds({.bandwidth = 1, .copies = never}), counted->traffic.bytes, 8.0 * workers * replicas);
          // Replicas are packed; rows, which are all or as many as there are replicas here, added; replicas written.
          const double rows = count <= 4096 ? workers : 1;
          EXPECT_NEAR(seconds({.bandwidth = never, .copies = 1}),
                      (2 + rows) * replicas * static_cast<double>(count) * sizeof(float), 1e-6);
        });
}

TEST(SumCost, IsNothingForOneWorker) {
  const NetworkCost network = {.latency = 1, .per_message = 1, .bandwidth = 1, .copies = 1};
  EXPECT_EQ(sum_seconds(network, 1, 4, 1'000'000), 0);
  EXPECT_EQ(sum_seconds(network, 4, 4, 0), 0);
  EXPECT_EQ(device_sum_seconds(network, 1, 4, 1'000'000), 0);
  EXPECT_EQ(device_sum_seconds(network, 4, 4, 0), 0);
  EXPECT_EQ(round_seconds(network, 1, 100), 0);
}

TEST(SumCost, HidesBucketsInTheBackwardPass) {
  const NetworkCost network = {.latency = 0, .per_message = 0, .bandwidth = 1e6, .copies = never};
  // Two workers, 4 buckets of 1,000,000 bytes: each takes a second.
  const SumTimes late = bucket_seconds(network, 2, 1, 4'000'000, 1'000'000, 0);
  EXPECT_DOUBLE_EQ(late.all, 4);
  EXPECT_DOUBLE_EQ(late.after, 4);
  // They are ready after 10, 20, 30 and 40 s: only the last one is waited for.
  EXPECT_DOUBLE_EQ(bucket_seconds(network, 2, 1, 4'000'000, 1'000'000, 40).after, 1);
  // They are ready after 0.5, 1, 1.5 and 2 s, and done after 1.5, 2.5, 3.5 and 4.5 s.
  EXPECT_DOUBLE_EQ(bucket_seconds(network, 2, 1, 4'000'000, 1'000'000, 2).after, 2.5);
}

}  // namespace
}  // namespace pando
