// SPDX-License-Identifier: Apache-2.0
// LocalGroup: a reduction over replicas that are threads of one process, in memory that all can see.
#pragma once
#include <pando/base/function.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/waiting.h"

namespace pando {

// Thrown in a waiting member when the group is stopped.
struct Stopped {};

class LocalGroup {
 public:
  // `first_barrier` is the initial count of barriers.
  explicit LocalGroup(int members, std::uint32_t first_barrier = 0)
      : members_(members), parts_(static_cast<std::size_t>(members)), generation_(first_barrier) {}

  // Returns when all members have arrived. Throws Stopped if the group is stopped.
  void barrier();
  // Members that wait, or come later, throw Stopped until restart(). Call restart() only while no member is in a call.
  void stop();
  void restart();
  // Every member gives the same number of values; afterwards each has their sum, or mean, over all members. The bits do
  // not depend on the order of arrival. Each member computes its share of the values.
  void all_reduce(int member, std::span<const std::span<float>> numbers, bool mean);
  // The same, but one member calls `reduce` for all of them.
  using Reduce = Function<void(std::span<const std::span<const std::span<float>>> parts)>;
  void all_reduce_by(int member, std::span<const std::span<float>> numbers, const Reduce& reduce);
  // As all_reduce for parts[member], done by the calling thread while no member is in a call.
  static void reduce_all(std::span<const std::span<const std::span<float>>> parts, bool mean);

 private:
  const int members_;
  std::vector<std::span<const std::span<float>>> parts_;
  std::atomic<std::uint32_t> arrived_ = 0;
  Awaited<std::uint32_t> generation_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace pando
