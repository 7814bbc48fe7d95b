// SPDX-License-Identifier: Apache-2.0
#include "io/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace pando {

namespace {

// Multiplying by an odd number and folding the upper half onto the lower can both be undone.
std::uint64_t mixed(std::uint64_t state, std::uint64_t word) {
  state = (state ^ word) * 0x9e3779b97f4a7c15;
  return state ^ (state >> 32);
}

}  // namespace

void Fingerprint::add_block(const std::byte* block) {
  std::array<std::uint64_t, lanes> words;
  std::memcpy(words.data(), block, block_size);
  // The lanes do not wait for each other.
  for (std::size_t i = 0; i < lanes; ++i) lanes_[i] = mixed(lanes_[i], words[i]);
}

void Fingerprint::add(std::span<const std::byte> bytes) {
  bytes_ += bytes.size();
  for (; bytes.size() >= block_size; bytes = bytes.subspan(block_size)) add_block(bytes.data());
  if (bytes.empty()) return;
  std::array<std::byte, block_size> last = {};
  std::copy(bytes.begin(), bytes.end(), last.begin());
  add_block(last.data());
}

std::string Fingerprint::digits() const {
  std::uint64_t sum = bytes_;
  for (const std::uint64_t lane : lanes_) sum = mixed(sum, lane);
  return fmt::format("{:016x}", sum);
}

}  // namespace pando
