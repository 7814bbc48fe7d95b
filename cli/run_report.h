// The page about a training run.
#pragma once
#include "cli/virtual_ipus.h"

namespace pando::cli {

// Throws Error if it cannot be written.
void save_report(const std::string& path, OpenedModel& opened, const Samples& samples, const keras::History& history,
                 const TrainingRecipe& recipe);

}  // namespace pando::cli
