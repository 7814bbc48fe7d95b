// SPDX-License-Identifier: Apache-2.0
#include "base/machine/cores.h"

#include <sched.h>

#include <algorithm>
#include <sstream>

#include "base/machine/system_file.h"

namespace pando {

namespace {

int cores_of_affinity_mask() {
  // A machine with more cores than a cpu_set_t has bits needs a larger mask.
  for (int cores = CPU_SETSIZE; cores <= 1 << 20; cores *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(cores));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cores));
    if (set == nullptr) break;
    CPU_ZERO_S(bytes, set);
    const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return 1;
}

// A quota for less than a core still lets one thread run.
int whole_cores(double quota, double period) {
  return quota > 0 && period > 0 ? std::max(1, static_cast<int>(quota / period)) : 0;
}

// "200000 100000" or "max 100000" in cgroup 2, one number per file in cgroup 1.
int cores_of_folder(const std::string& folder) {
  double quota = 0, period = 0;
  if (std::istringstream both(system_text(folder + "/cpu.max")); both >> quota >> period)
    return whole_cores(quota, period);
  std::istringstream(system_text(folder + "/cpu.cfs_quota_us")) >> quota;
  std::istringstream(system_text(folder + "/cpu.cfs_period_us")) >> period;
  return whole_cores(quota, period);
}

// A line of a membership, "4:cpu,cpuacct:/jobs/7" or "0::/jobs/7": where its controllers are mounted, and the cgroup.
struct Membership {
  std::string mount, group;
  bool has_cpu = false;
};

Membership parse(const std::string& line, const std::string& root) {
  const std::size_t first = line.find(':'), second = line.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return {};
  const std::string controllers = line.substr(first + 1, second - first - 1);
  Membership membership{root, line.substr(second + 1), controllers.empty()};
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');) membership.has_cpu |= name == "cpu";
  if (!controllers.empty()) membership.mount += "/" + controllers;
  return membership;
}

}  // namespace

int quota_cores(const std::string& membership, const std::string& root) {
  int least = 0;
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    Membership place = parse(line, root);
    // The quotas of all levels above apply too. In a container the path may be that of the host; then only the mount's
    // own folder exists here.
    while (place.has_cpu) {
      const int cores = cores_of_folder(place.mount + place.group);
      if (cores > 0) least = least == 0 ? cores : std::min(least, cores);
      const std::size_t slash = place.group.rfind('/');
      if (place.group.empty() || slash == std::string::npos) break;
      place.group.resize(slash);
    }
  }
  return least;
}

int usable_cores() {
  const int allowed = cores_of_affinity_mask(),
            granted = quota_cores(system_text("/proc/self/cgroup"), "/sys/fs/cgroup");
  return granted == 0 ? allowed : std::min(allowed, granted);
}

}  // namespace pando
