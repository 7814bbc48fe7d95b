// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/files/memory_limit.h"

#include <pando/base/error.h>

#include <fmt/format.h>

#include "base/text.h"

namespace pando::keras {

namespace {

thread_local MemoryLimit* innermost_limit = nullptr;

}  // namespace

MemoryLimit::MemoryLimit(std::uint64_t bytes) : bytes_(bytes), left_(bytes), outer_(innermost_limit) {
  innermost_limit = this;
}
MemoryLimit::~MemoryLimit() { innermost_limit = outer_; }

void charge_memory(std::uint64_t bytes) {
  if (innermost_limit == nullptr) return;
  if (bytes > innermost_limit->left_)
    throw Error(fmt::format("the model needs more than the {} of memory that there are; make it smaller",
                            bytes_text(innermost_limit->bytes_)));
  innermost_limit->left_ -= bytes;
}

void charge_memory(const Shape& shape) {
  if (innermost_limit == nullptr) return;
  // This keeps the sizes of later layers within 64 bits.
  constexpr std::int64_t most_elements = std::int64_t{1} << 32;
  if (shape.elements() > most_elements)
    throw Error(fmt::format("a tensor of shape {} has more than 2^32 elements; make it smaller", to_string(shape)));
  charge_memory(static_cast<std::uint64_t>(shape.elements()) * sizeof(float));
}

}  // namespace pando::keras
