// SPDX-License-Identifier: Apache-2.0
// Reads the text forms of a Plan and of a StepPlan back.
#pragma once
#include <string_view>

#include "graph/parse.h"
#include "plan/step_plan.h"

namespace pando {

// What to_string(Plan) prints, except constants of more than 16 elements. Throws Error naming the line.
Plan parse_plan(std::string_view text, FindOp find_op);
StepPlan parse_step_plan(std::string_view text, FindOp find_op);

}  // namespace pando
