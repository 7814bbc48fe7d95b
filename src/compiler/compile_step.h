// SPDX-License-Identifier: Apache-2.0
// compile_step: from the graph of a whole step to the StepPlan of its devices.
#pragma once
#include "compiler/compile.h"
#include "plan/step_plan.h"

namespace pando {

// `stages` is at least the number of stages of the graph; 0 takes that number. A stage without nodes passes on what the
// others need. Throws Error as compile() does, and if the graph cannot be divided into these stages.
StepPlan compile_step(const Graph& step, const Division& division, const CompileOptions& options = {}, int stages = 0);

}  // namespace pando
