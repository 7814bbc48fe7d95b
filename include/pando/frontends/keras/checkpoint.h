// SPDX-License-Identifier: Apache-2.0
// Checkpoints of fit: all that a run needs to resume as if it had not been interrupted.
#pragma once
#include <cstdint>
#include <string>

namespace pando::keras {

// A run writes numbered files, checkpoint-00000001.safetensors and so on, into its own folder: at the end of each
// epoch, at the end of the run, when it is interrupted, and as often as these options say. Training continues while
// they are written; a file is there whole or not at all. A run that resumes from one ends with the same weights and the
// same History, bit for bit, as one that was never interrupted. docs/checkpoints.md has the details.
struct CheckpointOptions {
  // The folder, which is made if it does not exist. If empty, no checkpoints are written.
  std::string directory = {};
  // Also writes a checkpoint after every this many executions, if not 0.
  std::int64_t every_executions = 0;
  // Also writes a checkpoint every this many seconds, if not 0.
  double every_seconds = 30;
  // How many of the newest files to keep; older ones are removed once a new one is on the disk.
  int keep = 3;
  // Resume from the newest whole checkpoint if there is one. fit() throws Error if the checkpoint is of another model,
  // optimizer or data set. Without `resume`, fit() throws Error if the folder has any checkpoint.
  bool resume = false;
};

}  // namespace pando::keras
