// SPDX-License-Identifier: Apache-2.0
#include "model/run_loop.h"

#include <algorithm>

#include "program/sample_feed.h"

namespace pando {

namespace {

// A single row needs no ring: the memory of a slot is touched when it is made.
int slots_for(std::int64_t batches, std::int64_t replicas) {
  return batches >= 0 && batches <= replicas ? 1 : default_feed_slots;
}

}  // namespace

RunLoop::RunLoop(Step& step, std::shared_ptr<BatchSource> source, std::int64_t first_update,
                 const FeederOptions& options)
    : step_(step), next_update_(first_update) {
  if (!source) return;
  Feeder feeder(step, std::move(source), options);
  counts_ = feeder.counts();
  if (const FeedSamples samples = feeder.samples(); samples.table) {
    Feeder numbered = feeder;
    numbered.leave_to_device(samples);
    if (std::optional<Feed> made = SampleFeed::make(step.program, samples, std::move(numbered)))
      feed_.emplace(std::move(*made));
  }
  if (!feed_) feed_.emplace(step.program, std::move(feeder), slots_for(options.most_batches, step.division.replicas));
}

std::int64_t RunLoop::run(std::int64_t batches) {
  const std::int64_t replicas = step_.division.replicas, rows_per_update = step_.division.accumulation;
  const std::int64_t rows = (batches + replicas - 1) / replicas;
  const Launch launch{.rows = std::max<std::int64_t>(1, rows / rows_per_update) * rows_per_update,
                      .first_update = next_update_};
  first_batch_ = rows_before_ * replicas;
  if (counts_) counts_->forget_before(first_batch_);
  const std::int64_t done = feed_ ? step_.program.run(launch, *feed_) : step_.program.run(launch);
  updates_ = (done + rows_per_update - 1) / rows_per_update;
  next_update_ += updates_;
  batches_ = done * replicas;
  // Spare replicas of the last row have no samples.
  while (counts_ && batches_ > 0 && samples_of(batches_ - 1) == 0) --batches_;
  rows_before_ += done;
  return batches_;
}

std::int64_t RunLoop::run_all(std::int64_t batches, std::int64_t per_execution,
                              const Function<bool(std::int64_t first, std::int64_t count)>& after,
                              const Function<void()>& before) {
  std::int64_t done = 0;
  while (batches < 0 || done < batches) {
    if (before) before();
    const std::int64_t count = run(batches < 0 ? per_execution : std::min(per_execution, batches - done));
    if (count == 0) break;
    done += count;
    if (!after(done - count, count)) break;
  }
  return done;
}

Array RunLoop::output(const std::string& name) const {
  const Array rows = step_.program.output(name);
  return rows.shape()[0] == batches_ ? rows : rows.slice(0, batches_);
}

}  // namespace pando
