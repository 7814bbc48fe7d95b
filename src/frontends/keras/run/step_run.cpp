#include "frontends/keras/run/step_run.h"

#include <algorithm>

namespace pando::keras {

StepRun::StepRun(Step& step, const ModelDivision& division, StepFeeder feeder, std::int64_t first_update)
    : step_(step),
      replicas_(division.replicas),
      rows_per_update_(step.request.mode == Mode::train ? division.accumulation : 1),
      counts_(feeder.counts()),
      feed_(step.program, std::move(feeder)),
      next_update_(first_update) {}

std::int64_t StepRun::run(std::int64_t batches) {
  const std::int64_t rows = (batches + replicas_ - 1) / replicas_;
  const std::int64_t whole = std::max<std::int64_t>(1, rows / rows_per_update_) * rows_per_update_;
  const std::int64_t done = step_.program.run({.rows = whole, .first_update = next_update_}, feed_);
  updates_ = (done + rows_per_update_ - 1) / rows_per_update_;
  next_update_ += updates_;
  batches_ = done * replicas_;
  // Spare replicas of the last row have no samples.
  while (batches_ > 0 && counts_->of_batch(rows_before_ * replicas_ + batches_ - 1) == 0) --batches_;
  rows_before_ += done;
  return batches_;
}

Array StepRun::output(const std::string& name) const {
  const Array rows = step_.program.output(name);
  return rows.shape()[0] == batches_ ? rows : rows.slice(0, batches_);
}

}  // namespace pando::keras
