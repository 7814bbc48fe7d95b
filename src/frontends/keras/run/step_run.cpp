#include "frontends/keras/run/step_run.h"

#include <algorithm>

namespace pando::keras {

StepRun::StepRun(Step& step, const Division& division, StepFeeder feeder, std::int64_t first_update)
    : step_(step), division_(division), counts_(feeder.counts()), next_update_(first_update) {
  if (step.program) feed_.emplace(*step.program, std::move(feeder));
  else parallel_feed_.emplace(*step.parallel, std::move(feeder));
}

std::int64_t StepRun::run(std::int64_t batches) {
  batches_ = step_.program ? step_.program->run(batches, *feed_) : run_rows(batches);
  if (step_.program) updates_ = batches_;
  next_update_ += updates_;
  return batches_;
}

std::int64_t StepRun::run_rows(std::int64_t batches) {
  const std::int64_t replicas = division_.replicas, rows = (batches + replicas - 1) / replicas;
  // Without updates all rows are one group.
  const bool training = step_.request.mode == Mode::train;
  const std::int64_t rows_per_update = training ? division_.accumulation : rows;
  const std::int64_t done = step_.parallel->run({.rows_per_update = rows_per_update,
                                                 .updates = std::max<std::int64_t>(1, rows / rows_per_update),
                                                 .first_update = next_update_},
                                                *parallel_feed_);
  updates_ = (done + rows_per_update - 1) / rows_per_update;
  std::int64_t real = 0;
  for (std::int64_t i = 0; i < done * replicas; ++i)
    if (counts_->of_batch(rows_before_ * replicas + i) > 0) ++real;
  rows_before_ += done;
  return real;
}

Array StepRun::output(const std::string& name) const {
  if (step_.program) return step_.program->output(name);
  const Array rows = step_.parallel->result(name);
  Shape shape = {rows.shape()[0] * rows.shape()[1]};
  for (int axis = 2; axis < rows.shape().rank(); ++axis) shape.append(rows.shape()[axis]);
  return rows.reshape(shape).slice(0, batches_);
}

}  // namespace pando::keras
