// SPDX-License-Identifier: Apache-2.0
// Sums over the replicas of all workers, of numbers that stay on devices: GPUs exchange them without the host.
//
// As in worker_sums, each worker adds up one share of the numbers in the order of all replicas, and gives the sums to
// the others. Messages only carry numbers, and no library adds them in an order of its own. So the bits are those of
// one process that has all replicas.
#pragma once
#include <pando/comm/workers.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace pando {

// A device that is connected with one device of each other worker, as these sums use it. Pointers are the device's.
// Calls may return before they are done; the device does them in their order.
class SumDevice {
 public:
  virtual ~SumDevice() = default;

  // The number of workers.
  virtual int count() const = 0;
  // Memory for this many numbers, which is kept from one sum to the next; it may contain anything.
  enum class Room : std::uint8_t { packed, received, sums };
  virtual float* room(Room room, std::size_t numbers) = 0;
  virtual void copy(float* to, const float* from, std::size_t numbers) = 0;
  // `all` gets the numbers of every worker, in the order of their ranks.
  virtual void all_gather(const float* own, float* all, std::size_t numbers) = 0;
  // Worker i gets the numbers at sent + i * numbers; those of worker i come to received + i * numbers.
  virtual void all_to_all(const float* sent, float* received, std::size_t numbers) = 0;
  // sums[i] = (0 + rows[0][i] + rows[1][i] + ...) * scale, added in this order.
  virtual void add(const float* rows, std::size_t count, std::size_t numbers, float scale, float* sums) = 0;
  // Returns when all of that is done. Throws Error if the device, or another worker, fails.
  virtual void finish() = 0;
};

// parts[replica][array], on the device, the same sizes on all workers. Afterwards every part has the sums, or means,
// over the replicas of all workers.
void reduce_on_device(SumDevice& device, std::span<const std::span<const std::span<float>>> parts, bool mean);

// What a worker tells the others about a device, so that all of them decide the same. It is sent as it is.
struct SumOffer {
  // Why it cannot be connected, in words that end a message; empty if it can.
  std::array<char, 240> problem = {};
  // Identifies the device among all others.
  std::array<std::uint8_t, 16> device = {};
  // The version of the library that would connect the devices.
  std::int32_t version = 0;
  // Whether the host cannot reach its numbers.
  std::int32_t is_far = 0;

  static SumOffer refusal(const std::string& why, bool is_far = true);
};

// A device that may be connected with those of other workers.
class SumLink {
 public:
  virtual ~SumLink() = default;
  virtual SumOffer offer() const = 0;
  // All workers call it at the same time, with the same channel. Throws Error with the remedy.
  virtual std::unique_ptr<SumDevice> connect(const std::shared_ptr<Workers>& workers, int channel) = 0;
};

// Why the devices that the workers offer, one each in the order of their ranks, cannot be connected; empty if they can.
std::string why_not_connected(std::span<const SumOffer> offers);

// Connects devices of this worker, one of each stage of a pipeline, with those of the same stages of the others; null
// for those that are not connected. All workers call it; those whose sums go through the host give null links. The
// first worker tells the user which way the sums take.
std::vector<std::unique_ptr<SumDevice>> connect_devices(const std::shared_ptr<Workers>& workers,
                                                        std::span<SumLink* const> links);

}  // namespace pando
