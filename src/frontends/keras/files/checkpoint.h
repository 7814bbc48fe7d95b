// SPDX-License-Identifier: Apache-2.0
// RunCheckpoints: the checkpoints of one run of fit, written while training goes on.
#pragma once
#include <pando/frontends/keras/checkpoint.h>

#include <chrono>
#include <mutex>
#include <set>

#include "io/background_writer.h"
#include "model/checkpoint_files.h"
#include "frontends/keras/files/run_state.h"

namespace pando::keras {

class RunCheckpoints {
 public:
  // `who` begins messages: "fit". Throws Error if the options make no sense, the folder cannot be used, or it has
  // checkpoints and `resume` is not set.
  RunCheckpoints(const std::string& who, const CheckpointOptions& options);

  struct Resumed {
    std::string path;
    RunState state;
  };
  // What to resume from, if anything. Damaged checkpoints are named on standard error.
  std::optional<Resumed> resumed();

  // Counts an execution; returns whether a checkpoint should follow it.
  bool is_due();
  // Returns at once and replaces a checkpoint that still waits to be written. Failures are reported on standard error,
  // each cause once, and do not end the run.
  void write(RunState state);

  // Waits for the last write.
  struct Outcome {
    // The path of the last checkpoint that was written; empty if there is none.
    std::string path;
    // Why the last one could not be written; empty if it was.
    std::string failure;
  };
  Outcome wait();

 private:
  void write_now(const RunState& state) noexcept;
  void warn_once(const std::string& problem);
  void warn_if_moved();

  std::string who_;
  CheckpointOptions options_;
  data::CheckpointFolder folder_;
  std::int64_t executions_ = 0;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();

  std::mutex mutex_;
  Outcome outcome_;
  std::set<std::string> told_;
  // The last member: its thread uses the others.
  BackgroundWriter writer_;
};

}  // namespace pando::keras
