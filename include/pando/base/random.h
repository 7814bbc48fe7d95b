// The seed from which everything random is drawn: initial weights, drop-out, shuffling.
#pragma once
#include <pando/base/export.h>

#include <cstdint>

namespace pando {

// From here on layers, models and data sets draw as they did after the last call with this seed. Without a call the
// seed is 0: a program gives the same results every time it is run.
PANDO_API void set_random_seed(std::uint64_t seed);

// A number that differs from call to call and depends on the seed and on the calls since it was set only. Thread-safe.
PANDO_API std::uint64_t next_random_key();

}  // namespace pando
