// SPDX-License-Identifier: Apache-2.0
#include "comm/local_group.h"

#include "base/machine/subnormals.h"

namespace pando {

namespace {

void reduce_range(std::span<const std::span<const std::span<float>>> parts, std::size_t array, std::size_t first,
                  std::size_t last, bool mean) {
  const SubnormalsAreZero are_zero;
  const float scale = mean ? 1.0f / static_cast<float>(parts.size()) : 1.0f;
  for (std::size_t i = first; i < last; ++i) {
    // In the order of the members, so that no member's timing shows in the result.
    float sum = 0;
    for (const auto& part : parts) sum += part[array][i];
    sum *= scale;
    for (const auto& part : parts) part[array][i] = sum;
  }
}

}  // namespace

void LocalGroup::barrier() {
  const std::uint32_t generation = generation_.load(std::memory_order_acquire);
  if (stopped_.load()) throw Stopped();
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(members_)) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.store(generation + 1);
    generation_.notify_all();
    return;
  }
  // Compares by difference, because the count wraps around after 2^32 barriers.
  wait_while(generation_, generation);
  if (stopped_.load()) throw Stopped();
}

// A member that read the generation before this change either checks stopped_ afterwards or wakes up.
void LocalGroup::stop() {
  stopped_.store(true);
  generation_.fetch_add(1);
  generation_.notify_all();
}

void LocalGroup::restart() {
  arrived_.store(0);
  stopped_.store(false);
}

void LocalGroup::reduce_all(std::span<const std::span<const std::span<float>>> parts, bool mean) {
  for (std::size_t array = 0; parts.size() > 1 && array < parts[0].size(); ++array)
    reduce_range(parts, array, 0, parts[0][array].size(), mean);
}

void LocalGroup::all_reduce(int member, std::span<const std::span<float>> numbers, bool mean) {
  if (members_ == 1) return;
  parts_[static_cast<std::size_t>(member)] = numbers;
  barrier();
  const auto rank = static_cast<std::size_t>(member), count = static_cast<std::size_t>(members_);
  for (std::size_t array = 0; array < numbers.size(); ++array) {
    const std::size_t size = numbers[array].size();
    reduce_range(parts_, array, size * rank / count, size * (rank + 1) / count, mean);
  }
  barrier();
}

void LocalGroup::all_reduce_by(int member, std::span<const std::span<float>> numbers, const Reduce& reduce) {
  parts_[static_cast<std::size_t>(member)] = numbers;
  barrier();
  if (member == 0) reduce(parts_);
  barrier();
}

}  // namespace pando
