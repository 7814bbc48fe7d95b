// SPDX-License-Identifier: Apache-2.0
// RandomStream: numbers one after the other from one key, for work on the host.
#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/philox.h"

namespace pando {

class RandomStream {
 public:
  explicit RandomStream(std::uint64_t key, std::uint32_t stream = 0) : key_{key, stream, 0, 0} {}

  std::uint32_t word() {
    if (used_ == 4) {
      block_ = philox::block(key_, key_index_++);
      used_ = 0;
    }
    return block_.word[used_++];
  }
  // In [0, 1).
  double uniform() { return philox::uniform(word()); }
  // Below `limit`, each equally likely.
  std::uint64_t below(std::uint64_t limit) {
    const std::uint64_t bits = std::uint64_t{word()} << 32 | word();
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * limit) >> 64);
  }
  double normal() {
    // 1 - uniform() is never 0.
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  philox::Key key_;
  philox::Block block_ = {};
  std::uint32_t key_index_ = 0;
  int used_ = 4;
};

}  // namespace pando
