// SPDX-License-Identifier: Apache-2.0
// ProcessName: tells a process from all others, so that another process of its machine can see whether it still runs.
#pragma once
#include <cstdint>
#include <string>

namespace pando {

struct ProcessName {
  // Equal for processes that see each other's numbers: those of one container, on a machine that was not restarted in
  // between.
  std::uint64_t system = 0;
  std::int64_t number = 0;
  // When it started, in ticks of its machine's clock: numbers are used again.
  std::uint64_t start = 0;
};
ProcessName this_process();

enum class Life { runs, ended, unknown };
// Unknown for a process of another system, and where there is no /proc.
Life life_of(const ProcessName& process);

// The name of this machine.
std::string host_name();

}  // namespace pando
