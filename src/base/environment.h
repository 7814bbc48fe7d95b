// SPDX-License-Identifier: Apache-2.0
// Variables of the environment.
#pragma once
#include <cstdlib>
#include <string>

namespace pando {

// Empty if the variable is not set.
inline std::string environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

}  // namespace pando
