// MemoryLimit: a bound on what a model may need that is made of somebody's file.
#pragma once
#include <pando/base/shape.h>

#include <cstdint>

namespace pando::keras {

// While it lives, the weights, constants, calls and outputs of layers on this thread may not need more bytes in all.
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

// To be called before the memory is taken; throws Error if there is a limit, and less of it is left.
void charge_memory(std::uint64_t bytes);
// For float32 of this shape; where there is a limit, no tensor may have more than 2^32 elements.
void charge_memory(const Shape& shape);

}  // namespace pando::keras
