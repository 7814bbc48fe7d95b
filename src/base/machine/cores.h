// SPDX-License-Identifier: Apache-2.0
// The cores that this process may use: the one place that counts them.
#pragma once
#include <string>

namespace pando {

// As many as the affinity mask allows (taskset, cpusets), but no more than the cgroups grant processor time for
// (containers, batch systems); at least 1. Asks the system each time.
int usable_cores();

// The whole cores that the CPU quotas of a process's cgroups grant, the least of all levels; 0 without a quota.
// `membership` is the text of its /proc/self/cgroup, `root` the folder in which cgroups are mounted.
int quota_cores(const std::string& membership, const std::string& root);

}  // namespace pando
