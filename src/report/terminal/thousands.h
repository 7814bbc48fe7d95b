// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace pando {

// "60,000".
inline std::string grouped_by_thousands(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  for (std::size_t i = digits.size(); i > 3;) digits.insert(i -= 3, ",");
  return digits;
}

}  // namespace pando
