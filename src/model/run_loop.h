// SPDX-License-Identifier: Apache-2.0
// RunLoop: one pass over a source of batches with the program of a step, an execution at a time.
#pragma once
#include <pando/base/function.h>

#include "model/feeder.h"

namespace pando {

class RunLoop {
 public:
  // `first_update` is the number of the first update. The step must outlive it. Without a source, the program has no
  // feeds.
  RunLoop(Step& step, std::shared_ptr<BatchSource> source, std::int64_t first_update,
          const FeederOptions& options = {});

  // Runs about that many batches in one execution, in whole updates, at least one; returns how many it ran, 0 at the
  // end.
  std::int64_t run(std::int64_t batches);
  // Runs that many batches (negative: until the data ends), about `per_execution` in each execution. After each,
  // `after` takes the number of its first batch and how many there were; it ends the run by returning false. `before`
  // is called before each. Returns the number of batches that were run.
  std::int64_t run_all(std::int64_t batches, std::int64_t per_execution,
                       const Function<bool(std::int64_t first, std::int64_t count)>& after,
                       const Function<void()>& before = {});

  // The number of updates of the last execution, and of the next one's first update.
  std::int64_t updates() const { return updates_; }
  std::int64_t next_update() const { return next_update_; }
  // The values of each batch of the last execution, in order.
  Array output(const std::string& name) const;
  // How many samples that batch of the last execution had.
  std::int64_t samples_of(std::int64_t batch) const { return counts_->of_batch(first_batch_ + batch); }

 private:
  Step& step_;
  std::shared_ptr<SampleCounts> counts_;
  std::optional<Feed> feed_;
  std::int64_t next_update_;
  // Of the last execution: its first batch, and how many there were.
  std::int64_t first_batch_ = 0, batches_ = 0;
  std::int64_t updates_ = 0, rows_before_ = 0;
};

}  // namespace pando
