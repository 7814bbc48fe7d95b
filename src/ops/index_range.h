// SPDX-License-Identifier: Apache-2.0
// What is said about an index that a table has no row for, by kernels and by checks of what is fed.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace pando {

// "gather 'embedding': index 7 is out of range for a table of 5 rows; indices must be 0 to 4". `name` is that of the
// node, and may be empty.
std::string index_out_of_range(std::string_view op, const std::string& name, const std::string& index,
                               std::int64_t rows);

}  // namespace pando
