// SPDX-License-Identifier: Apache-2.0
// FedIndices: a column of the samples that chooses rows of a table as it is, such as the words that an Embedding looks
// up. The host checks it before it is fed, so that no device meets an index out of range.
#pragma once
#include <pando/graph/graph.h>

namespace pando {

struct FedIndices {
  std::size_t column = 0;
  DType dtype = DType::int32;
  std::int64_t rows = 0;
  // The op and its node, for messages.
  std::string op = {}, name = {};

  // Throws Error naming the first of the values that is not the number of a row.
  void check(const std::byte* values, std::int64_t count) const;
};

// The columns whose values are indices of the graph's ops; a number may be cast, and the shape changed, on the way.
std::vector<FedIndices> find_fed_indices(const Graph& step, const std::vector<std::string>& columns);

}  // namespace pando
