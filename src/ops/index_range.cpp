// SPDX-License-Identifier: Apache-2.0
#include "ops/index_range.h"

#include <fmt/format.h>

namespace pando {

std::string index_out_of_range(std::string_view op, const std::string& name, const std::string& index,
                               std::int64_t rows) {
  const std::string who = name.empty() ? std::string(op) : fmt::format("{} '{}'", op, name);
  if (rows == 0) return fmt::format("{}: index {} is out of range; the table has no rows", who, index);
  return fmt::format("{}: index {} is out of range for a table of {} row{}; indices must be 0{}", who, index, rows,
                     rows == 1 ? "" : "s", rows == 1 ? "" : fmt::format(" to {}", rows - 1));
}

}  // namespace pando
