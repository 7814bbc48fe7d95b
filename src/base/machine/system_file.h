// SPDX-License-Identifier: Apache-2.0
// The files in which Linux says how a machine and its processes are: /proc, /sys/fs/cgroup.
#pragma once
#include <fstream>
#include <sstream>
#include <string>

namespace pando {

// The whole text; empty if there is no such file.
inline std::string system_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace pando
