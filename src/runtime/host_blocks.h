// SPDX-License-Identifier: Apache-2.0
// HostBlocks: numbers of a device, as the host and as the device's kernels see them. The host sees them in place if it
// can reach them, and in copies otherwise.
#pragma once
#include <span>
#include <vector>

#include "runtime/memory.h"

namespace pando {

class HostBlocks {
 public:
  // Adds `count` float32 numbers.
  void add(const Place& place, std::size_t count) {
    std::byte* const data = host_pointer(place);
    if (data == nullptr) copies_.push_back({place, {}, count, numbers_.size()});
    numbers_.emplace_back(reinterpret_cast<float*>(data), data == nullptr ? 0 : count);
    on_device_.emplace_back(reinterpret_cast<float*>(place.memory->kernel_pointer(place)), count);
  }

  bool is_empty() const { return numbers_.empty(); }
  // Whether there are no copies.
  bool is_in_place() const { return copies_.empty(); }
  // Makes the copies; without it only the device sees the numbers. Throws Error if there is not enough memory.
  void make_copies() {
    for (Copy& copy : copies_) {
      copy.on_host = host_memory()->allocate(copy.count * sizeof(float), "the sums of a device");
      numbers_[copy.number] = {reinterpret_cast<float*>(host_pointer(copy.on_host.place())), copy.count};
    }
  }
  std::span<const std::span<float>> numbers() const { return numbers_; }
  // Where the kernels of the device find them.
  std::span<const std::span<float>> on_device() const { return on_device_; }
  // Brings copies up to date before the host uses the numbers, and the device's after it changed them.
  void fetch() const {
    for (const Copy& copy : copies_) copy_bytes(copy.on_host.place(), copy.on_device, copy.count * sizeof(float));
  }
  void store() const {
    for (const Copy& copy : copies_) copy_bytes(copy.on_device, copy.on_host.place(), copy.count * sizeof(float));
  }

 private:
  struct Copy {
    Place on_device;
    Allocation on_host;
    std::size_t count, number;
  };
  std::vector<std::span<float>> numbers_, on_device_;
  std::vector<Copy> copies_;
};

}  // namespace pando
