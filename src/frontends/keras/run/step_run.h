// StepRun: one pass over samples with the program of a step.
#pragma once
#include "frontends/keras/run/samples.h"

namespace pando::keras {

class StepRun {
 public:
  StepRun(Step& step, const ModelDivision& division, StepFeeder feeder, std::int64_t first_update);

  // Runs about that many batches, at least one update; returns how many it ran, 0 at the end.
  std::int64_t run(std::int64_t batches);
  // The number of weight updates of the last run.
  std::int64_t updates() const { return updates_; }
  // The values of each batch of the last run, in order.
  Array output(const std::string& name) const;
  // How many samples batch number `batch`, counted from the beginning of the pass, had.
  std::int64_t samples_of(std::int64_t batch) const { return counts_->of_batch(batch); }

 private:
  Step& step_;
  const std::int64_t replicas_, rows_per_update_;
  std::shared_ptr<const SampleCounts> counts_;
  Feed feed_;
  std::int64_t next_update_;
  std::int64_t batches_ = 0, updates_ = 0, rows_before_ = 0;
};

}  // namespace pando::keras
