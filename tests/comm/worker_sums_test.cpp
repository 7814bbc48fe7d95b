// SPDX-License-Identifier: Apache-2.0
// Sums over workers: the bits of one process, for any number of workers, replicas and numbers.
#include "comm/worker_sums.h"

#include <gtest/gtest.h>

#include <cmath>

#include "comm/local_group.h"
#include "tests/comm/thread_workers.h"

namespace pando {
namespace {

using Numbers = std::vector<std::vector<float>>;

// Numbers whose sum depends on the order of the additions.
Numbers numbers_of(int replica, const std::vector<std::size_t>& sizes) {
  Numbers arrays;
  for (std::size_t size : sizes) {
    std::vector<float>& array = arrays.emplace_back(size);
    for (std::size_t i = 0; i < size; ++i)
      array[i] = std::ldexp(std::sin(static_cast<float>(i + 1) * static_cast<float>(replica + 1)), replica * 5 % 17);
  }
  return arrays;
}

std::vector<std::span<float>> views_of(Numbers& arrays) { return {arrays.begin(), arrays.end()}; }

// What one process with all replicas computes.
Numbers expected(int replicas, const std::vector<std::size_t>& sizes, bool mean) {
  std::vector<Numbers> all;
  for (int replica = 0; replica < replicas; ++replica) all.push_back(numbers_of(replica, sizes));
  std::vector<std::vector<std::span<float>>> spans;
  for (Numbers& arrays : all) spans.push_back(views_of(arrays));
  const std::vector<std::span<const std::span<float>>> parts(spans.begin(), spans.end());
  LocalGroup::reduce_all(parts, mean);
  return all.front();
}

void check_sums(int workers, int replicas_of_worker, const std::vector<std::size_t>& sizes, bool mean) {
  const Numbers wanted = expected(workers * replicas_of_worker, sizes, mean);
  ThreadWorkers(workers).run([&](const std::shared_ptr<Workers>& worker) {
    std::vector<Numbers> own;
    for (int i = 0; i < replicas_of_worker; ++i)
      own.push_back(numbers_of(worker->rank() * replicas_of_worker + i, sizes));
    std::vector<std::vector<std::span<float>>> spans;
    for (Numbers& arrays : own) spans.push_back(views_of(arrays));
    const std::vector<std::span<const std::span<float>>> parts(spans.begin(), spans.end());
    SumScratch scratch;
    reduce_over_workers(*worker, 3, parts, mean, scratch);
    for (const Numbers& arrays : own) EXPECT_EQ(arrays, wanted);
  });
}

TEST(WorkerSums, HaveTheBitsOfOneProcess) {
  // Few numbers, which go to all workers at once; more of them in shares, over the borders of arrays; none; and fewer
  // than there are workers.
  for (const std::vector<std::size_t>& sizes :
       std::vector<std::vector<std::size_t>>{{1}, {7, 0, 90}, {4000, 1, 5000, 333}, {100'003}, {}, {0}, {2}})
    for (int workers : {2, 3, 5})
      for (int replicas : {1, 2, 3})
        for (bool mean : {false, true}) {
          if (sizes.empty() || sizes == std::vector<std::size_t>{0}) {
            ThreadWorkers(workers).run([&](const std::shared_ptr<Workers>& worker) {
              const std::vector<std::span<float>> none;
              const std::vector<std::span<const std::span<float>>> parts(static_cast<std::size_t>(replicas), none);
              SumScratch scratch;
              reduce_over_workers(*worker, 0, parts, mean, scratch);
            });
          } else {
            check_sums(workers, replicas, sizes, mean);
          }
        }
}

// What earlier sums left in their scratch does not count.
TEST(WorkerSums, MayUseTheSameScratchForSumsOfAnySize) {
  ThreadWorkers(3).run([](const std::shared_ptr<Workers>& worker) {
    SumScratch scratch;
    for (const std::size_t size : {9000U, 3U, 20'000U, 5000U, 8192U, 0U, 1U}) {
      Numbers own = numbers_of(worker->rank(), {size});
      const std::vector<std::span<float>> arrays = views_of(own);
      const std::vector<std::span<const std::span<float>>> parts{arrays};
      reduce_over_workers(*worker, 0, parts, false, scratch);
      EXPECT_EQ(own, expected(3, {size}, false)) << size;
    }
  });
}

TEST(WorkerSums, ResultsComeInTheOrderOfRanks) {
  ThreadWorkers(4).run([](const std::shared_ptr<Workers>& worker) {
    const std::vector<std::byte> own(3, std::byte(worker->rank() + 1));
    const std::vector<std::byte> all = gather_from_workers(*worker, 1, own);
    ASSERT_EQ(all.size(), 12U);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], std::byte(i / 3 + 1));
    EXPECT_TRUE(gather_from_workers(*worker, 1, {}).empty());
  });
}

TEST(WorkerSums, OneWorkerIsEnoughToStopAll) {
  for (int wanting : {-1, 0, 2})
    ThreadWorkers(3).run([&](const std::shared_ptr<Workers>& worker) {
      const std::uint8_t here = worker->rank() == wanting ? 2 : 0;
      EXPECT_EQ(bits_of_any_worker(*worker, 1, here), wanting >= 0 ? 2 : 0);
    });
}

TEST(WorkerSums, AllWorkersGetWhatTheFirstHas) {
  for (std::size_t size : {0, 1, 100'000})
    ThreadWorkers(3).run([&](const std::shared_ptr<Workers>& worker) {
      const std::vector<std::byte> wanted(size, std::byte{7}), other(5);
      EXPECT_EQ(from_first_worker(*worker, 1, worker->rank() == 0 ? wanted : other), wanted);
    });
}

TEST(WorkerSums, AWorkerThatGivesUpEndsTheOthers) {
  ThreadWorkers three(3);
  std::vector<std::string> messages(3);
  three.run([&](const std::shared_ptr<Workers>& worker) {
    if (worker->rank() == 1) return worker->give_up("its data ended");
    try {
      gather_from_workers(*worker, 1, std::vector<std::byte>(1));
    } catch (const WorkerFailure& failure) {
      EXPECT_EQ(failure.rank(), 1);
      messages[static_cast<std::size_t>(worker->rank())] = failure.what();
    }
  });
  EXPECT_EQ(messages,
            (std::vector<std::string>{"worker 1 gave up: its data ended", "", "worker 1 gave up: its data ended"}));
}

}  // namespace
}  // namespace pando
