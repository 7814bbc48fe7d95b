// SPDX-License-Identifier: Apache-2.0
// How much memory this process may use, in one place: the machine has it, and a container or a limit may allow less.
#pragma once
#include <cstdint>
#include <string>

namespace pando {

// In bytes: the least of the machine's memory, the limits of the control groups of this process (also in a container)
// and its limit of address space (ulimit -v). Read once.
std::uint64_t usable_memory();

// The memory that reading one file from outside may take: a quarter of usable_memory().
std::uint64_t memory_for_a_file();

// The lowest limit of the control groups that the text of /proc/self/cgroup names, with their file systems under
// `root`; the largest number if there is no limit. Understands versions 1 and 2.
std::uint64_t control_group_limit(const std::string& groups, const std::string& root);

}  // namespace pando
