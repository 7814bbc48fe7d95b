// SPDX-License-Identifier: Apache-2.0
// What every front end can say about a program before it runs.
#pragma once
#include <pando/program/program.h>

#include "report/explain/explain.h"

namespace pando {

// The stages of a program, without the names of their layers.
std::vector<ExplainedStage> explain_stages(const Program& program);

// "conv1 .. relu2": the first and the last of the layers.
std::string layers_text(const std::vector<std::string>& layers);

}  // namespace pando
