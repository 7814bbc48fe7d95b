// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/branches.h"

#include <algorithm>

namespace pando::cuda {

namespace {

constexpr std::size_t word_bits = 64;

bool meet(std::span<const Access> some, std::span<const Access> others) {
  return std::any_of(some.begin(), some.end(), [&](const Access& a) {
    return std::any_of(others.begin(), others.end(),
                       [&](const Access& b) { return (a.writes || b.writes) && a.begin < b.end && b.begin < a.end; });
  });
}

bool has_bit(const std::vector<std::uint64_t>& words, std::size_t bit) {
  return (words[bit / word_bits] >> bit % word_bits & 1) != 0;
}

}  // namespace

std::vector<std::size_t> WorkOrder::add(std::span<const Access> accesses) {
  Work work{.accesses = {accesses.begin(), accesses.end()},
            .before = std::vector<std::uint64_t>(works_.size() / word_bits + 1)};
  std::vector<std::size_t> waits;
  // The latest first: what it waits for need not be looked at.
  for (std::size_t i = works_.size(); i-- > 0;) {
    Work& earlier = works_[i];
    if (has_bit(work.before, i) || !meet(accesses, earlier.accesses)) continue;
    waits.push_back(i);
    earlier.is_last = false;
    work.before[i / word_bits] |= std::uint64_t{1} << i % word_bits;
    for (std::size_t word = 0; word < earlier.before.size(); ++word) work.before[word] |= earlier.before[word];
  }
  works_.push_back(std::move(work));
  std::reverse(waits.begin(), waits.end());
  return waits;
}

std::vector<std::size_t> WorkOrder::last() const {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < works_.size(); ++i)
    if (works_[i].is_last) numbers.push_back(i);
  return numbers;
}

}  // namespace pando::cuda
