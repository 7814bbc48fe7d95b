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

std::string described(const IndexRange& range) {
  if (range.axis) return fmt::format("axis {} of size {}", *range.axis, range.size);
  return fmt::format("a table of {} row{}", range.size, range.size == 1 ? "" : "s");
}

}  // namespace

std::optional<IndexRange> index_range(const OpDefinition& op, const Attributes& attributes, const Shape& x) {
  if (!op.checks_indices) return std::nullopt;
  if (attributes.find("axis") == nullptr) return IndexRange{.size = x[0]};
  const std::int64_t axis = attributes.integer("axis");
  return IndexRange{.size = x[static_cast<int>(axis)], .axis = axis};
}

std::string index_out_of_range(std::string_view op, const std::string& name, const std::string& index,
                               const IndexRange& range) {
  const std::string who = who_says(op, name);
  if (range.size == 0)
    return fmt::format("{}: index {} is out of range; {}", who, index,
                       range.axis ? fmt::format("axis {} is empty", *range.axis) : "the table has no rows");
  return fmt::format("{}: index {} is out of range for {}; indices must be {}", who, index, described(range),
                     numbers_below(range.size));
}

std::string not_a_class(std::string_view loss, const std::string& name, const std::string& target, std::int64_t classes,
                        std::optional<std::int64_t> ignored) {
  return fmt::format("{}: target {} is not {}; targets must be {}{}", who_says(loss, name), target,
                     classes == 1 ? "the only class" : fmt::format("one of {} classes", classes),
                     numbers_below(classes), ignored ? fmt::format(", or {}, which is ignored", *ignored) : "");
}

}  // namespace pando
