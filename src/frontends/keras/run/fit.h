// SPDX-License-Identifier: Apache-2.0
// Fit: a run of fit, from its first or any later execution to its end.
#pragma once
#include "comm/worker_sums.h"
#include "frontends/keras/files/checkpoint.h"
#include "frontends/keras/run/job.h"
#include "model/interrupt_delay.h"

namespace pando::keras {

class Fit {
 public:
  // All arguments must outlive it; `validation` may be null. Throws Error if options do not fit the model, or there is
  // a checkpoint to resume from and it does not match.
  Fit(Job& job, Job* validation, const FitOptions& options);
  History run();

 private:
  // Throws Error if a callback needs a log that no epoch will have.
  void check_callbacks();
  // Checks the checkpoint that the run resumes from, and takes its position.
  void resume(const RunCheckpoints::Resumed& resumed);
  RunSettings settings_here() const;
  void restore_data(const RunPosition& position);
  // Restores the callbacks, and what they may have changed when they began.
  void restore_state();
  bool is_over();

  void run_epoch();
  // Returns whether the data ended too early.
  bool train(ProgressBar& bar);
  // `batches` were run since train() began.
  void after_execution(const RunLoop& loop, RunningMeans& means, std::int64_t batches);
  // Adds to the logs; returns false if it was interrupted.
  bool validate(Logs& logs);
  // `seconds`: how long its training took.
  void end_epoch(Logs& logs, double seconds);

  // The position in the data, `batches` after train() began.
  void locate(std::int64_t batches);
  // All but the states of the callbacks, which may not have begun yet.
  RunState describe() const;
  RunState capture() const;
  // Writes a checkpoint, unless there is one of this position.
  void checkpoint();
  // Failures to write are reported and do not end the run.
  void save_profile(const report::Timeline& timeline) const;
  // Shown once per process.
  void tell_about_steps_per_execution() const;
  void tell_about_learning_rate() const;
  void tell_of_the_end();
  void for_callbacks(const Function<void(Callback&)>& tell) const;
  // Finds out whether the run was interrupted; true if any worker was asked to `stop`, or was interrupted.
  bool agree_to_stop(bool stop);
  // Throws Error unless all workers start from the same weights and random numbers.
  void check_workers() const;
  // What to resume from, if anything. The first worker finds it, as only that one has the folder.
  std::optional<RunCheckpoints::Resumed> find_resumed();
  // Whether this process tells about the run.
  bool tells() const { return options_.verbose != 0 && is_first_worker(); }

  Job& job_;
  Job* validation_;
  Model& model_;
  const Samples& samples_;
  const FitOptions& options_;
  std::optional<RunCheckpoints> checkpoints_;
  std::optional<InterruptDelay> interrupt_;
  RunPosition position_;
  // For runs with checkpoints.
  RunSubject subject_;
  RunSettings settings_;
  // What the run resumes from, until that is restored.
  std::optional<RunState> resumed_;
  // The batches of the epoch that an earlier run did.
  std::int64_t batches_before_ = 0;
  // The steps of all epochs that an earlier run did; 0 if the length of an epoch is not known.
  std::int64_t steps_before_ = 0;
  bool over_ = false;
  // Whether this worker, or any other, was interrupted.
  bool interrupted_ = false;
  // Whether an interrupt or stop_training() ended the run within an epoch: a later run can resume from there.
  bool stopped_inside_ = false;
  // Epoch and batches of the last checkpoint, or of the beginning.
  std::pair<std::int64_t, std::int64_t> checkpoint_at_;
};

}  // namespace pando::keras
