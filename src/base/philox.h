// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 (Salmon et al., 2011): random numbers as a pure function of a counter and a key, so that the numbers
// drawn for a sample do not depend on batch size, replica, stage, thread or device.
#pragma once
#include <cstdint>

#include "base/host_device.h"

namespace pando::philox {
PANDO_KERNEL_BEGIN

struct Block {
  std::uint32_t word[4];
};

PANDO_HOST_DEVICE inline Block generate(Block counter, std::uint32_t key_low, std::uint32_t key_high) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter.word[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter.word[2];
    counter = {{static_cast<std::uint32_t>(b >> 32) ^ counter.word[1] ^ key_low, static_cast<std::uint32_t>(b),
                static_cast<std::uint32_t>(a >> 32) ^ counter.word[3] ^ key_high, static_cast<std::uint32_t>(a)}};
    key_low += 0x9E3779B9u;
    key_high += 0xBB67AE85u;
  }
  return counter;
}

// Uniform in [0, 1) with 24 bits.
PANDO_HOST_DEVICE inline float uniform(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

// What a random op draws: the op's stream, the update and the sample choose the sequence, `element` the place in it.
// The stream is the number of the random op within a call of its layer (Keras) or within forward() (PyTorch), so it
// does not depend on how many nodes there are.
struct Key {
  std::uint64_t seed;
  std::uint32_t stream, update, sample;
};

PANDO_HOST_DEVICE inline Block block(const Key& key, std::uint32_t index) {
  return generate({{index, key.sample, key.update, key.stream}}, static_cast<std::uint32_t>(key.seed),
                  static_cast<std::uint32_t>(key.seed >> 32));
}

PANDO_KERNEL_END
}  // namespace pando::philox
