// SPDX-License-Identifier: Apache-2.0
// Sums on devices that are connected with those of other workers: the bits of sums that go through the host, and of one
// process.
#include "comm/device_sums.h"

#include <gtest/gtest.h>

#include <cmath>

#include "comm/local_group.h"
#include "tests/comm/emulated_sums.h"
#include "tests/comm/thread_workers.h"

namespace pando {
namespace {

// The numbers of a replica, whose sums depend on the order of the additions, and the replicas as sums want them.
class Replicas {
 public:
  Replicas(int first, int count, const std::vector<std::size_t>& sizes) {
    for (int replica = first; replica < first + count; ++replica) {
      auto& arrays = arrays_.emplace_back();
      for (const std::size_t size : sizes) {
        std::vector<float>& array = arrays.emplace_back(size);
        for (std::size_t i = 0; i < size; ++i)
          array[i] =
              std::ldexp(std::sin(static_cast<float>(i + 1) * static_cast<float>(replica + 1)), replica * 5 % 17);
      }
    }
    for (auto& arrays : arrays_) spans_.emplace_back(arrays.begin(), arrays.end());
    parts_.assign(spans_.begin(), spans_.end());
  }
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  std::span<const std::span<const std::span<float>>> parts() const { return parts_; }
  const std::vector<std::vector<std::vector<float>>>& arrays() const { return arrays_; }

 private:
  std::vector<std::vector<std::vector<float>>> arrays_;
  std::vector<std::vector<std::span<float>>> spans_;
  std::vector<std::span<const std::span<float>>> parts_;
};

void expect_bits_of_the_host(int workers, int replicas, const std::vector<std::size_t>& sizes, bool mean) {
  // LocalGroup leaves the numbers of a single replica alone, where the others add them to 0.
  const Replicas one_process(0, workers * replicas, sizes);
  LocalGroup::reduce_all(one_process.parts(), mean);
  ThreadWorkers(workers).run([&](const std::shared_ptr<Workers>& worker) {
    const Replicas on_host(worker->rank() * replicas, replicas, sizes);
    const Replicas on_device(worker->rank() * replicas, replicas, sizes);
    SumScratch scratch;
    reduce_over_workers(*worker, 0, on_host.parts(), mean, scratch);
    EmulatedSumDevice device(worker, 0);
    reduce_on_device(device, on_device.parts(), mean);
    EXPECT_EQ(on_device.arrays(), on_host.arrays());
    for (const auto& arrays : on_device.arrays()) EXPECT_EQ(arrays, one_process.arrays().front());
  });
}

TEST(DeviceSums, HaveTheBitsOfTheHostAndOfOneProcess) {
  // None; fewer than workers; few, which go to all at once; the most of them and one more; shares over the borders of
  // arrays; and numbers that do not divide into equal shares.
  for (const std::vector<std::size_t>& sizes : std::vector<std::vector<std::size_t>>{
           {}, {0}, {1}, {2}, {7, 0, 90}, {4096}, {4097}, {4000, 1, 5000, 333}, {0, 100'003, 0}})
    for (int workers : {1, 2, 3, 4})
      for (int replicas : {1, 2, 3})
        for (bool mean : {false, true}) {
          SCOPED_TRACE(testing::Message() << workers << " workers of " << replicas << " replicas");
          expect_bits_of_the_host(workers, replicas, sizes, mean);
        }
}

// With five workers and 4,101 numbers, the last share has fewer numbers than the others.
TEST(DeviceSums, TheLastShareMayBeShorterOrEmpty) {
  for (const std::size_t size : {4097U, 4101U, 4104U})
    for (int workers : {5, 7}) expect_bits_of_the_host(workers, 1, {size}, false);
}

TEST(DeviceSums, OneDeviceAddsUpSumsOfAnySize) {
  ThreadWorkers(3).run([](const std::shared_ptr<Workers>& worker) {
    EmulatedSumDevice device(worker, 0);
    for (const std::size_t size : {9000U, 3U, 20'000U, 5000U, 0U, 1U}) {
      const Replicas own(worker->rank(), 1, {size}), all(0, 3, {size});
      LocalGroup::reduce_all(all.parts(), false);
      reduce_on_device(device, own.parts(), false);
      EXPECT_EQ(own.arrays().front(), all.arrays().front()) << size;
    }
  });
}

TEST(DeviceSums, DevicesAreConnectedOnlyIfAllCanBe) {
  const EmulatedSumLink link;
  const SumOffer first = link.offer(), second = link.offer();
  SumOffer newer = second;
  newer.version = 2;
  EXPECT_EQ(why_not_connected(std::vector{first}), "");
  EXPECT_EQ(why_not_connected(std::vector{first, second}), "");
  EXPECT_EQ(why_not_connected(std::vector{first, second, first}),
            "workers 0 and 2 share a GPU; start at most as many workers on a machine as it has GPUs, or give each its "
            "own with CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(why_not_connected(std::vector{first, newer}),
            "workers 0 and 1 have different versions of NCCL; install the same on all machines");
  EXPECT_EQ(why_not_connected(std::vector{first, SumOffer::refusal("it has none; install it")}),
            "worker 1: it has none; install it");
  EXPECT_EQ(why_not_connected(std::vector{SumOffer::refusal(std::string(1000, 'x'))}),
            "worker 0: " + std::string(239, 'x'));
}

// One stage is connected; of another, one worker has no link, so that none of the workers may use theirs.
TEST(DeviceSums, WorkersAgreeForEachStage) {
  ThreadWorkers(2).run([](const std::shared_ptr<Workers>& worker) {
    EmulatedSumLink link, other;
    const std::vector<SumLink*> links{&link, worker->rank() == 1 ? nullptr : &other};
    const auto devices = connect_devices(worker, links);
    ASSERT_EQ(devices.size(), 2U);
    EXPECT_NE(devices[0], nullptr);
    EXPECT_EQ(devices[1], nullptr);
  });
}

}  // namespace
}  // namespace pando
