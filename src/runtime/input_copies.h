// SPDX-License-Identifier: Apache-2.0
// InputCopies: a device's own memory for inputs of a Plan that its kernels cannot reach where they are.
#pragma once
#include <vector>

#include "plan/plan.h"
#include "runtime/memory.h"

namespace pando {

class InputCopies {
 public:
  // Throws Error if there is not enough memory.
  InputCopies(const std::shared_ptr<Memory>& memory, const std::vector<Port>& inputs)
      : memory_(memory), copies_(inputs.size()) {
    static constexpr std::byte on_host{};
    const bool reaches_host = memory->kernel_pointer(host_place(&on_host)) != nullptr;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      bytes_.push_back(inputs[i].type.bytes());
      if (!reaches_host) allocate(i);
    }
  }

  // Where kernels find the value of input number `input` that is at `place`: there, or in a copy that is made now.
  // Throws Error if there is not enough memory for the first copy from another device.
  Place reachable(std::size_t input, const Place& place) {
    if (memory_->kernel_pointer(place) != nullptr) return place;
    if (!copies_[input].place()) allocate(input);
    const Place copy = copies_[input].place();
    copy_bytes(copy, place, bytes_[input]);
    return copy;
  }

 private:
  void allocate(std::size_t input) { copies_[input] = memory_->allocate(bytes_[input], "the feeds of a device"); }

  std::shared_ptr<Memory> memory_;
  std::vector<std::size_t> bytes_;
  std::vector<Allocation> copies_;
};

}  // namespace pando
