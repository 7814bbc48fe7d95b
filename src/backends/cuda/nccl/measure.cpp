// SPDX-License-Identifier: Apache-2.0
// The sums are those of training, so what is measured has all that they cost: copies, launches, messages.
#include "backends/cuda/nccl/measure.h"

#include <pando/base/error.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "comm/worker_sums.h"

namespace pando::cuda {

namespace {

constexpr std::size_t large = std::size_t{64} << 20;
constexpr int repeats = 20;

// The median of the slowest workers: what waits for a sum waits for all of them.
double seconds_of(Workers& workers, const auto& work) {
  std::vector<double> times;
  // The first ones open connections and find memory.
  for (int i = -3; i < repeats; ++i) {
    bits_of_any_worker(workers, sums_channel, 0);
    const auto begin = std::chrono::steady_clock::now();
    work();
    const double own = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const std::vector<std::byte> all = gather_from_workers(workers, sums_channel, std::as_bytes(std::span(&own, 1)));
    std::vector<double> of_workers(all.size() / sizeof own);
    std::memcpy(of_workers.data(), all.data(), all.size());
    if (i >= 0) times.push_back(*std::max_element(of_workers.begin(), of_workers.end()));
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[repeats / 2];
}

}  // namespace

MeasuredSums measure_sums(const std::shared_ptr<Workers>& workers, const CudaBackend& gpu) {
  SumLink* const link = gpu.sum_link().get();
  const std::vector<std::unique_ptr<SumDevice>> devices = connect_devices(workers, {&link, 1});
  if (devices[0] == nullptr)
    throw Error(
        "NCCL cannot connect the GPUs of the workers, so their sums go through the host; pando doctor says more");
  SumDevice& device = *devices[0];
  const Allocation memory = gpu.memory()->allocate(large, "measured sums");
  gpu.memory()->set_zero(memory.place(), large);
  auto* const data = reinterpret_cast<float*>(memory.place().address);
  const auto sum = [&](std::size_t numbers) {
    const std::span<float> array(data, numbers);
    const std::span<const std::span<float>> part(&array, 1);
    return seconds_of(*workers, [&] { reduce_on_device(device, {&part, 1}, false); });
  };
  MeasuredSums found{.large_sum = sum(large / sizeof(float))};
  float* const to = device.room(SumDevice::Room::received, large / sizeof(float));
  found.copies = static_cast<double>(large) / seconds_of(*workers, [&] {
                   device.copy(to, data, large / sizeof(float));
                   device.finish();
                 });
  if (workers->count() == 1) return found;
  found.latency = sum(1);
  // Two rounds, in which each share goes to, and comes from, every other worker.
  const double all = workers->count(), bytes = 2 * static_cast<double>(large) * (all - 1) / all;
  const double rest = found.large_sum - 2 * found.latency - 3 * static_cast<double>(large) / found.copies;
  found.bandwidth = bytes / std::max(rest, found.large_sum / 10);
  return found;
}

}  // namespace pando::cuda
