// SPDX-License-Identifier: Apache-2.0
// FedIndices: a column of the samples whose values are indices as they are, such as the words that an Embedding looks
// up. The host checks it before it is fed, so that no device meets an index out of range.
#pragma once
#include <pando/graph/graph.h>

#include "ops/index_range.h"

namespace pando {

struct FedIndices {
  std::size_t column = 0;
  DType dtype = DType::int32;
  IndexRange range = {};
  // The op and its node, for messages.
  std::string op = {}, name = {};

  // Throws Error naming the first of the values that is not an index of the range.
  void check(const std::byte* values, std::int64_t count) const;
};

// The columns whose values are indices of the graph's ops; a number may be cast, and the shape changed, on the way.
std::vector<FedIndices> find_fed_indices(const Graph& step, const std::vector<std::string>& columns);

}  // namespace pando
