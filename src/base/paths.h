// SPDX-License-Identifier: Apache-2.0
// What a path names. A path that cannot be followed (a name too long, a link to itself, a folder without permission)
// names nothing; the code that opens it says why.
#pragma once
#include <filesystem>
#include <string>

namespace pando {

inline bool is_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

inline bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

inline bool path_exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace pando
