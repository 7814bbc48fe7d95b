// SPDX-License-Identifier: Apache-2.0
// The steps of a sort: a network sorts short runs, and passes merge two neighbouring runs each. Functions of the host
// too, so that tests there follow them.
#pragma once
#include <cstdint>

#include "ops/sort_key.h"

namespace pando::cuda {

// The items that a block sorts at once.
inline constexpr int items_per_block = 2048;

// The smallest power of two that is at least `length`, up to items_per_block: the length of the runs to sort.
PANDO_HOST_DEVICE constexpr int run_length(std::int64_t length) {
  int run = 1;
  while (run < length && run < items_per_block) run *= 2;
  return run;
}

// Two items that a bitonic network puts in order.
struct Exchange {
  int first, second;
  bool ascends;
};

// Exchange `number` of the step that makes ascending and descending sequences of `sequence` items from halves; its
// items are `distance` apart. Sequences as long as a run ascend.
PANDO_HOST_DEVICE constexpr Exchange exchange_of(int number, int distance, int sequence, int run) {
  const int first = 2 * number - (number & (distance - 1));
  return {first, first + distance, (first & sequence & (run - 1)) == 0};
}

// Where item `index` of a row goes when the sorted runs of `run` items are merged by twos.
template <class Bits>
PANDO_HOST_DEVICE std::int64_t merged_place(const Placed<Bits>* row, std::int64_t length, std::int64_t run,
                                            std::int64_t index) {
  const std::int64_t own = index / run * run, both = index / (2 * run) * (2 * run);
  const std::int64_t other = own == both ? own + run : both;
  std::int64_t low = other < length ? other : length;
  std::int64_t high = other + run < length ? other + run : length;
  const std::int64_t begin = low;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (row[middle].is_before(row[index])) low = middle + 1;
    else high = middle;
  }
  return both + (index - own) + (low - begin);
}

}  // namespace pando::cuda
