// How much memory this process may use, in one place: the machine has it, and a container or a limit may allow less.
#pragma once
#include <cstdint>
#include <string>

namespace pando {

// Bytes: the least of the machine's memory, the limits of the control groups of this process (also of a container) and
// its own limit of address space (ulimit -v). Read once.
std::uint64_t usable_memory();

// What one file of somebody else may take when it is read: a quarter of it.
std::uint64_t memory_for_a_file();

// The least limit of the control groups that are named in the text of /proc/self/cgroup, the file systems of which lie
// under `root`; the largest number if there is none. Version 2 and version 1 are understood.
std::uint64_t control_group_limit(const std::string& groups, const std::string& root);

}  // namespace pando
