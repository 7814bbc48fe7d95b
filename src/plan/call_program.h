// SPDX-License-Identifier: Apache-2.0
// The elementwise program of a kernel call: a fused one has it, and a single op is a program of one instruction.
#pragma once
#include "graph/elementwise_program.h"
#include "plan/plan.h"

namespace pando {

ElementwiseProgram program_of(const KernelCall& call);

}  // namespace pando
