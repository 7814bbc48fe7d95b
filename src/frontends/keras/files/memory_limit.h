// SPDX-License-Identifier: Apache-2.0
// MemoryLimit: a bound on the memory of a model that is made from a file from outside.
#pragma once
#include <pando/base/shape.h>

#include <cstdint>

namespace pando::keras {

// While it lives, the weights, constants, calls and outputs of layers on this thread may not need more than this many
// bytes in all.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::uint64_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  friend void charge_memory(std::uint64_t bytes);
  std::uint64_t bytes_, left_;
  MemoryLimit* outer_;
};

// Call it before taking memory; throws Error if there is a limit and less than that is left.
void charge_memory(std::uint64_t bytes);
// For float32 of this shape; where there is a limit, no tensor may have more than 2^32 elements.
void charge_memory(const Shape& shape);

}  // namespace pando::keras
