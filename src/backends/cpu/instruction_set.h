// SPDX-License-Identifier: Apache-2.0
// The instruction sets that the CPU kernels are compiled for, and which of them this machine has.
#pragma once
#include <string_view>
#include <vector>

namespace pando::cpu {

enum class InstructionSet { portable, neon, avx2, avx512 };

std::string_view name(InstructionSet set);
// The compiled instruction sets that this machine can run, the slowest first.
const std::vector<InstructionSet>& available_instruction_sets();
// The best available one for an empty name; throws Error naming the available ones otherwise. The environment variable
// PANDO_INSTRUCTION_SET replaces an empty name.
InstructionSet choose_instruction_set(std::string_view name);

}  // namespace pando::cpu
