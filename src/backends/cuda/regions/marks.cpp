// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/regions/marks.h"

#include <algorithm>

namespace pando::cuda {

namespace {

void add(std::vector<CallCycles>& calls, int call, std::uint64_t cycles) {
  const auto number = static_cast<std::size_t>(call);
  auto found = std::find_if(calls.begin(), calls.end(), [&](const CallCycles& own) { return own.number == number; });
  if (found == calls.end()) found = calls.insert(calls.end(), {number, 0});
  found->cycles += static_cast<double>(cycles);
}

}  // namespace

std::string marked(const std::string& source) { return "#define PANDO_MARKED\n" + source; }
std::vector<std::string> marked(std::vector<std::string> sources) {
  for (std::string& source : sources) source = marked(source);
  return sources;
}

std::size_t region_marks(const RegionProgram& program) {
  return 1 + program.marked_calls.size() * static_cast<std::size_t>(program.marked_samples);
}
std::size_t update_marks(const RegionProgram& program) { return 2 * program.calls_of_blocks.size(); }

std::vector<CallCycles> region_cycles(const RegionProgram& program, std::span<const std::uint64_t> marks) {
  const std::vector<int>& calls = program.marked_calls;
  std::vector<CallCycles> cycles;
  for (std::size_t i = 1; i < region_marks(program); ++i)
    add(cycles, calls[(i - 1) % calls.size()], marks[i] - marks[i - 1]);
  return cycles;
}

std::vector<CallCycles> update_cycles(const RegionProgram& program, std::span<const std::uint64_t> marks) {
  std::vector<CallCycles> cycles;
  for (std::size_t i = 0; i < program.calls_of_blocks.size(); ++i)
    add(cycles, program.calls_of_blocks[i], marks[2 * i + 1] - marks[2 * i]);
  return cycles;
}

}  // namespace pando::cuda
