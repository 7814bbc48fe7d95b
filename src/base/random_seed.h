// SPDX-License-Identifier: Apache-2.0
// The seed that set_random_seed() was given last.
#pragma once
#include <cstdint>

namespace pando {

std::uint64_t random_seed();

}  // namespace pando
