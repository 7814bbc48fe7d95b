// SPDX-License-Identifier: Apache-2.0
// The seed from which everything random is drawn: initial weights, drop-out, shuffling.
#pragma once
#include <pando/base/export.h>

#include <cstdint>

namespace pando {

// Afterwards, layers, models and data sets draw the same numbers as after any other call with this seed. Without a call
// the seed is 0, so a program gives the same results every time it runs.
PANDO_API void set_random_seed(std::uint64_t seed);

// A number that differs from call to call. It depends only on the seed and on the calls since the seed was set.
// Thread-safe.
PANDO_API std::uint64_t next_random_key();

}  // namespace pando
