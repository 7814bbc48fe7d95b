// SPDX-License-Identifier: Apache-2.0
// The page about a training run.
#pragma once
#include <pando/report/report.h>

#include "cli/virtual_ipus.h"

namespace pando::cli {

// `trained` is the number of samples that it was trained on.
report::Run make_run_report(OpenedModel& opened, const Samples& samples, std::int64_t trained,
                            const keras::History& history, const TrainingRecipe& recipe);
// Throws Error if it cannot be written.
void save_report(const std::string& path, OpenedModel& opened, const Samples& samples, std::int64_t trained,
                 const keras::History& history, const TrainingRecipe& recipe);

}  // namespace pando::cli
