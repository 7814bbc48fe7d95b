// SPDX-License-Identifier: Apache-2.0
#include "cli/run_report.h"

#include <pando/frontends/keras/report.h>

#include <fmt/format.h>

namespace pando::cli {

report::Run make_run_report(OpenedModel& opened, const Samples& samples, std::int64_t trained,
                            const keras::History& history, const TrainingRecipe& recipe) {
  const std::string title = fmt::format("{} on {}", opened.model.name(), samples.kind.dataset);
  return keras::make_report(
      opened.model, history, as_input(opened, samples.test.x), samples.test.y,
      {.title = title, .class_names = samples.kind.class_names, .batch_size = recipe.batch_size, .samples = trained});
}

void save_report(const std::string& path, OpenedModel& opened, const Samples& samples, std::int64_t trained,
                 const keras::History& history, const TrainingRecipe& recipe) {
  report::save(make_run_report(opened, samples, trained, history, recipe), path);
}

}  // namespace pando::cli
