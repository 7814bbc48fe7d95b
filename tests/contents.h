// SPDX-License-Identifier: Apache-2.0
// contents: the bytes of a file that a test looks at.
#pragma once
#include <fstream>
#include <iterator>
#include <string>

namespace pando {

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace pando
