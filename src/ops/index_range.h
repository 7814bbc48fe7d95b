// SPDX-License-Identifier: Apache-2.0
// Which indices an op takes, and what is said about another one, by kernels and by checks of what is fed, and about a
// target that is not a class.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "graph/op_definition.h"

namespace pando {

// Indices from 0 to size - 1, along an axis or, without one, of the rows of a table.
struct IndexRange {
  std::int64_t size = 0;
  std::optional<std::int64_t> axis = {};
};

// The range of the indices of an op whose input 0 has the shape `x`; empty if it takes none that it checks.
std::optional<IndexRange> index_range(const OpDefinition& op, const Attributes& attributes, const Shape& x);

// "gather 'embedding': index 7 is out of range for a table of 5 rows; indices must be 0 to 4", or "for axis 1 of size
// 5". `name` is that of the node, and may be empty.
std::string index_out_of_range(std::string_view op, const std::string& name, const std::string& index,
                               const IndexRange& range);

// "CrossEntropyLoss 'loss': target 7 is not one of 5 classes; targets must be 0 to 4, or -100, which is ignored".
std::string not_a_class(std::string_view loss, const std::string& name, const std::string& target, std::int64_t classes,
                        std::optional<std::int64_t> ignored);

}  // namespace pando
