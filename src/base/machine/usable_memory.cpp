// SPDX-License-Identifier: Apache-2.0
#include "base/machine/usable_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>
#include <string_view>

#include "base/machine/system_file.h"

namespace pando {

namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

// A number of bytes; "max" or a missing file means no limit.
std::uint64_t limit_in(const std::string& path) {
  const std::string text = system_text(path);
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  return error == std::errc() ? bytes : unlimited;
}

// The lowest limit of a group and of the groups that contain it. In a container the path may name groups that are
// visible only from outside; their files are missing, and the root is the container's own group.
std::uint64_t least_limit(const std::string& root, std::string group, const char* file) {
  std::uint64_t least = limit_in(root + "/" + file);
  for (; group.size() > 1; group.erase(group.rfind('/'))) least = std::min(least, limit_in(root + group + "/" + file));
  return least;
}

}  // namespace

std::uint64_t control_group_limit(const std::string& groups, const std::string& root) {
  std::uint64_t least = unlimited;
  std::istringstream lines(groups);
  // "0::/user.slice" is version 2, "4:cpu,memory:/docker/1f" version 1.
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (!group.starts_with('/')) continue;
    if (controllers == ",,") least = std::min(least, least_limit(root, group, "memory.max"));
    else if (controllers.find(",memory,") != std::string::npos)
      least = std::min(least, least_limit(root + "/memory", group, "memory.limit_in_bytes"));
  }
  return least;
}

std::uint64_t usable_memory() {
  static const std::uint64_t bytes = [] {
    std::uint64_t least = control_group_limit(system_text("/proc/self/cgroup"), "/sys/fs/cgroup");
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
    if (pages > 0 && page > 0)
      least = std::min(least, static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page));
    rlimit space = {};
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
      least = std::min<std::uint64_t>(least, space.rlim_cur);
    return least;
  }();
  return bytes;
}

std::uint64_t memory_for_a_file() { return usable_memory() / 4; }

}  // namespace pando
