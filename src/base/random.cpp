// SPDX-License-Identifier: Apache-2.0
#include <pando/base/random.h>

#include <atomic>

#include "base/philox.h"
#include "base/random_seed.h"

namespace pando {

namespace {

std::atomic<std::uint64_t> current_seed = 0;
std::atomic<std::uint32_t> draws = 0;

}  // namespace

void set_random_seed(std::uint64_t seed) {
  current_seed = seed;
  draws = 0;
}

std::uint64_t random_seed() { return current_seed; }

std::uint64_t next_random_key() {
  const philox::Block block = philox::block({.seed = current_seed, .stream = draws++, .update = 0, .sample = 0}, 0);
  return std::uint64_t{block.word[0]} << 32 | block.word[1];
}

}  // namespace pando
