// SPDX-License-Identifier: Apache-2.0
// The order of the samples of an epoch.
#pragma once
#include <cstdint>
#include <vector>

namespace pando {

// 0 to count - 1 in an order that the key alone decides.
std::vector<std::int64_t> shuffled_order(std::int64_t count, std::uint64_t key);

}  // namespace pando
