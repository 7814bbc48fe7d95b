// SPDX-License-Identifier: Apache-2.0
// What is said about an index that a table has no row for, by kernels and by checks of what is fed, and about a target
// that is not a class.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pando {

// "gather 'embedding': index 7 is out of range for a table of 5 rows; indices must be 0 to 4". `name` is that of the
// node, and may be empty.
std::string index_out_of_range(std::string_view op, const std::string& name, const std::string& index,
                               std::int64_t rows);

// "CrossEntropyLoss 'loss': target 7 is not one of 5 classes; targets must be 0 to 4, or -100, which is ignored".
std::string not_a_class(std::string_view loss, const std::string& name, const std::string& target, std::int64_t classes,
                        std::optional<std::int64_t> ignored);

}  // namespace pando
