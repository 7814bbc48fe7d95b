// SPDX-License-Identifier: Apache-2.0
// How many tiles make plans run fastest, as an estimate from the plans alone.
#pragma once
#include <span>

#include "backends/cpu/instruction_set.h"
#include "plan/plan.h"

namespace pando::cpu {

// Microseconds of a step on that many tiles of a machine with that many cores.
double estimated_time(const Plan& plan, InstructionSet set, int tiles, int cores);
// The number of tiles, at most `most`. Plans may be null.
int suggested_tiles(std::span<const Plan* const> plans, InstructionSet set, int most);

}  // namespace pando::cpu
