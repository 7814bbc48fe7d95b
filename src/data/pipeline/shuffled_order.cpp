// SPDX-License-Identifier: Apache-2.0
#include "data/pipeline/shuffled_order.h"

#include <numeric>
#include <utility>

#include "base/random_stream.h"

namespace pando {

std::vector<std::int64_t> shuffled_order(std::int64_t count, std::uint64_t key) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  RandomStream random(key);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

}  // namespace pando
