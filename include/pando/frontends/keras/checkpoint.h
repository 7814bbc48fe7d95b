// Checkpoints of fit: all that a run needs to go on as if nothing had happened.
#pragma once
#include <cstdint>
#include <string>

namespace pando::keras {

// A run writes numbered files, checkpoint-00000001.safetensors and so on, into a folder of its own: at the end of each
// epoch, at the end, when it is interrupted, and as often as is said here. They are written beside the training; a file
// is there whole or not at all. A run that goes on from one ends with the same weights and the same History, bit for
// bit, as one that was never interrupted. docs/checkpoints.md has the details.
struct CheckpointOptions {
  // Made if it is not there; empty: no checkpoints.
  std::string directory = {};
  // 0: not by executions.
  std::int64_t every_executions = 0;
  // 0: not by time.
  double every_seconds = 30;
  // The newest files; older ones are removed when a new one is on the disk.
  int keep = 3;
  // Go on from the newest whole checkpoint if there is one. fit() throws Error if it is one of another model, optimizer
  // or data; without `resume`, if there is any.
  bool resume = false;
};

}  // namespace pando::keras
