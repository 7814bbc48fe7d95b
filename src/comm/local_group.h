// LocalGroup: replicas that are threads of one process reduce what each has, in memory that all can see.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pando {

// What ends a member that waits when the group is stopped.
struct Stopped {};

class LocalGroup {
 public:
  // `first_barrier`: what the count of barriers begins with.
  explicit LocalGroup(int members, std::uint32_t first_barrier = 0)
      : members_(members), parts_(static_cast<std::size_t>(members)), generation_(first_barrier) {}

  // Returns when all members have arrived. Throws Stopped if the group is stopped.
  void barrier();
  // Members that wait, or come later, throw Stopped, until restart(), which is for a time when no member is in a call.
  void stop();
  void restart();
  // Every member gives as many numbers; afterwards each has their sum, or mean, over all members: the same bits,
  // whoever comes first. Each member computes its share of the numbers.
  void all_reduce(int member, std::span<const std::span<float>> numbers, bool mean);
  // The same for parts[member], done by the calling thread while no member is in a call.
  static void reduce_all(std::span<const std::span<const std::span<float>>> parts, bool mean);

 private:
  const int members_;
  std::vector<std::span<const std::span<float>>> parts_;
  std::atomic<std::uint32_t> arrived_ = 0;
  std::atomic<std::uint32_t> generation_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace pando
