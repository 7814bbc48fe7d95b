// SPDX-License-Identifier: Apache-2.0
#include "ops/index_range.h"

#include <fmt/format.h>

namespace pando {

namespace {

std::string who_says(std::string_view op, const std::string& name) {
  return name.empty() ? std::string(op) : fmt::format("{} '{}'", op, name);
}

// "0 to 4" or "0".
std::string numbers_below(std::int64_t count) { return count == 1 ? "0" : fmt::format("0 to {}", count - 1); }

}  // namespace

std::string index_out_of_range(std::string_view op, const std::string& name, const std::string& index,
                               std::int64_t rows) {
  const std::string who = who_says(op, name);
  if (rows == 0) return fmt::format("{}: index {} is out of range; the table has no rows", who, index);
  return fmt::format("{}: index {} is out of range for a table of {} row{}; indices must be {}", who, index, rows,
                     rows == 1 ? "" : "s", numbers_below(rows));
}

std::string not_a_class(std::string_view loss, const std::string& name, const std::string& target, std::int64_t classes,
                        std::optional<std::int64_t> ignored) {
  return fmt::format("{}: target {} is not {}; targets must be {}{}", who_says(loss, name), target,
                     classes == 1 ? "the only class" : fmt::format("one of {} classes", classes),
                     numbers_below(classes), ignored ? fmt::format(", or {}, which is ignored", *ignored) : "");
}

}  // namespace pando
