// SPDX-License-Identifier: Apache-2.0
// Which calls of a Plan a region can take: those that act on each sample alone, and sums over samples.
#pragma once
#include "backends/cuda/regions/values.h"

namespace pando::cuda {

enum class Membership : std::uint8_t {
  outside,
  local,    // acts on each sample alone
  sum,      // a sum over samples of what is made for each
  product,  // a product over samples, of two values with a row for each
  update,   // moves parameters along such sums
  advance,  // replaces a number that only updates read, such as the count of steps; they read what it was
  number,   // makes a number that only updates read, of what is there before the region; they make it for themselves
};

struct RegionCalls {
  std::int64_t batch = 0;
  // The membership of each call.
  std::vector<Membership> membership;
  // The calls outside that the region reads from.
  std::vector<bool> is_before;

  bool contains(int call) const { return membership[static_cast<std::size_t>(call)] != Membership::outside; }
  bool is(int call, Membership kind) const { return membership[static_cast<std::size_t>(call)] == kind; }
};

RegionCalls find_members(const Plan& plan, const PlanValues& values);

// Whether a call reads input `input` sample by sample, in a batch of that size.
bool reads_by_sample(const KernelCall& call, std::size_t input, std::int64_t batch);

}  // namespace pando::cuda
