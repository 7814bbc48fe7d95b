// SPDX-License-Identifier: Apache-2.0
// Asks the processor what it can do, once. The best instruction set is taken unless the user or the environment names
// another.
#include "backends/cpu/instruction_set.h"

#include <pando/base/error.h>

#include <cstdlib>
#include <string>

#include "base/text.h"

namespace pando::cpu {

std::string_view name(InstructionSet set) {
  switch (set) {
    case InstructionSet::portable: return "portable";
    case InstructionSet::neon: return "neon";
    case InstructionSet::avx2: return "avx2";
    case InstructionSet::avx512: return "avx512";
  }
  return "";
}

const std::vector<InstructionSet>& available_instruction_sets() {
  static const std::vector<InstructionSet> sets = [] {
    std::vector<InstructionSet> found;
#ifdef PANDO_PORTABLE_ROUTINES
    found.push_back(InstructionSet::portable);
#endif
#if defined(__aarch64__)
    found.push_back(InstructionSet::neon);
#elif defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(InstructionSet::avx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
      found.push_back(InstructionSet::avx512);
#endif
    return found;
  }();
  return sets;
}

InstructionSet choose_instruction_set(std::string_view wanted) {
  const char* from_environment = std::getenv("PANDO_INSTRUCTION_SET");
  if (wanted.empty() && from_environment != nullptr) wanted = from_environment;
  if (wanted.empty()) return available_instruction_sets().back();
  std::vector<std::string> known;
  for (InstructionSet set : available_instruction_sets()) {
    if (name(set) == wanted) return set;
    known.emplace_back(name(set));
  }
  throw Error("the instruction set '" + std::string(wanted) +
              "' is not available on this machine; available are: " + join(known, ", "));
}

}  // namespace pando::cpu
