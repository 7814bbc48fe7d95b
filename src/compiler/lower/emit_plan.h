// SPDX-License-Identifier: Apache-2.0
// emit_plan: from a scheduled graph to the Plan.
#pragma once
#include "compiler/lower/schedule.h"
#include "plan/plan.h"

namespace pando {

Plan emit_plan(const Graph& graph, const Schedule& schedule, bool share_memory);

}  // namespace pando
