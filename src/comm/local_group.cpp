#include "comm/local_group.h"

namespace pando {

namespace {

// About a microsecond: what a partner on another core needs that has all but arrived.
constexpr int spins = 200;

void reduce_range(std::span<const std::span<const std::span<float>>> parts, std::size_t array, std::size_t first,
                  std::size_t last, bool mean) {
  const float scale = mean ? 1.0f / static_cast<float>(parts.size()) : 1.0f;
  for (std::size_t i = first; i < last; ++i) {
    // In the order of the members, so that nobody's timing shows in the result.
    float sum = 0;
    for (const auto& part : parts) sum += part[array][i];
    sum *= scale;
    for (const auto& part : parts) part[array][i] = sum;
  }
}

}  // namespace

void wait_until_at_least(const std::atomic<std::uint32_t>& counter, std::uint32_t value) {
  for (int spin = 0; spin < spins; ++spin)
    if (counter.load(std::memory_order_acquire) >= value) return;
  for (std::uint32_t seen; (seen = counter.load(std::memory_order_acquire)) < value;)
    counter.wait(seen, std::memory_order_acquire);
}

void LocalGroup::barrier() {
  const std::uint32_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(members_)) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.store(generation + 1, std::memory_order_release);
    generation_.notify_all();
    return;
  }
  wait_until_at_least(generation_, generation + 1);
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

}  // namespace pando
