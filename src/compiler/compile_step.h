// compile_step: from the graph of a whole step to the StepPlan of its devices.
#pragma once
#include "compiler/compile.h"
#include "plan/step_plan.h"

namespace pando {

// `stages`: at least those of the graph, or 0 for as many; a stage without nodes passes on what the others need. Throws
// Error as compile() does, and if the graph cannot be divided so.
StepPlan compile_step(const Graph& step, const Division& division, const CompileOptions& options = {}, int stages = 0);

}  // namespace pando
