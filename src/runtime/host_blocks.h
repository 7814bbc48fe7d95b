// SPDX-License-Identifier: Apache-2.0
// HostBlocks: numbers of a device as the host sees them: in place if it can reach them, or in copies.
#pragma once
#include <span>
#include <vector>

#include "runtime/memory.h"

namespace pando {

class HostBlocks {
 public:
  // Adds `count` float32 numbers. Throws Error if there is not enough memory for a copy.
  void add(const Place& place, std::size_t count) {
    std::byte* data = host_pointer(place);
    if (data == nullptr) {
      copies_.push_back({place, host_memory()->allocate(count * sizeof(float), "the sums of a device"), count});
      data = host_pointer(copies_.back().on_host.place());
    }
    numbers_.emplace_back(reinterpret_cast<float*>(data), count);
  }

  std::span<const std::span<float>> numbers() const { return numbers_; }
  // Whether there are no copies.
  bool is_in_place() const { return copies_.empty(); }
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
    std::size_t count;
  };
  std::vector<std::span<float>> numbers_;
  std::vector<Copy> copies_;
};

}  // namespace pando
