// SPDX-License-Identifier: Apache-2.0
// What the files of StepExecutor share: a device from the inside.
#pragma once
#include "runtime/step_executor.h"

namespace pando {

// Where an input of a program comes from, or an output goes: `offset` bytes into that block, of the same micro-batch.
struct StepExecutor::Route {
  enum class Block : std::uint8_t {
    host,      // what the host fed for this replica
    own,       // the stage's slot: activations from the stage before, gradients from the next, and its stash
    next,      // the slot of the next stage
    previous,  // the slot of the stage before
    exchange,  // what the stages of this replica exchange with each other
    result,    // what the host receives for this micro-batch and replica
  };
  Block block = Block::host;
  std::size_t offset = 0;
};

// One device: its programs, its ring of slots, and how far it is in this launch.
struct StepExecutor::Stage {
  int replica, index, device;
  LoadedStage loaded;
  std::size_t slot_bytes;
  std::int64_t slots;
  Allocation memory = {};
  // For each program.
  std::vector<std::vector<Route>> inputs = {}, outputs = {};
  // Rows of this launch whose forward, and backward, pass is done.
  Awaited<std::int64_t> forward_done = 0, backward_done = 0;
  // Rows of the updates that are done.
  std::int64_t rows = 0;
  // The update that it is in: its number in this launch, and how many rows it has.
  std::int64_t update_number = 0, rows_of_update = 0;
  // Whether it is the last update of the launch.
  bool is_last_update = false;
  // What it does in an update, and how far it is if one thread runs all stages.
  std::vector<PipelineAction> actions = {};
  std::size_t next_action = 0;
  bool is_reduced = false, is_over = false;
  Stage *previous = nullptr, *next = nullptr;
  // Used by run_program().
  std::vector<Place> input_places = {}, output_places = {};

  Place slot(std::int64_t row) const { return memory.place() + static_cast<std::size_t>(row % slots) * slot_bytes; }
};

// Tells the observer about an activity while it lives.
class StepExecutor::Watch {
 public:
  Watch(StepObserver* observer, const Stage& stage, Activity activity, std::int64_t number)
      : observer_(observer), device_(stage.device), activity_(activity), number_(number) {
    if (observer_ != nullptr) observer_->begin(device_, activity_, number_);
  }
  ~Watch() {
    if (observer_ != nullptr) observer_->end(device_, activity_, number_);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  StepObserver* observer_;
  const int device_;
  const Activity activity_;
  const std::int64_t number_;
};

}  // namespace pando
