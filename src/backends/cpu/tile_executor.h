// SPDX-License-Identifier: Apache-2.0
// TileExecutor: runs a Plan whose kernels are host functions on a group of tiles.
#pragma once
#include <atomic>
#include <string>

#include "backends/cpu/kernel.h"
#include "backends/cpu/tiles.h"
#include "runtime/backend.h"
#include "runtime/input_copies.h"

namespace pando {

// The kernels of a Plan: [s][k] belongs to plan.supersteps[s][k].
using PlanKernels = std::vector<std::vector<std::unique_ptr<Kernel>>>;

// What the Plans of a device work in, one at a time.
class WorkingMemory {
 public:
  // Enough for each of the plans on that many tiles; plans may be null.
  WorkingMemory(std::span<const Plan* const> plans, std::span<const PlanKernels> kernels, int tiles,
                const std::shared_ptr<Memory>& memory);

  std::size_t bytes() const { return bytes_; }
  Place arena() const { return arena_; }
  std::byte* scratch_of(int tile) const { return scratch_ + scratch_bytes_ * static_cast<std::size_t>(tile); }
  // What the tiles share: enough for all kernels of a superstep, one after the other.
  std::byte* shared() const { return shared_; }

 private:
  std::size_t scratch_bytes_ = 0, bytes_ = 0;
  // The scratch of all tiles, what they share, then the arena. They are one allocation because that is more often large
  // enough for large pages.
  Allocation allocation_;
  std::byte *scratch_ = nullptr, *shared_ = nullptr;
  Place arena_;
};

// The constructor allocates everything: an execution allocates nothing and, unless it has to wait for others, makes no
// system call. It holds its variables for a step at a time.
class TileExecutor final : public Executable {
 public:
  // Uses the first `tile_count` tiles of the group.
  TileExecutor(const Plan& plan, PlanKernels kernels, std::shared_ptr<TileGroup> tiles, int tile_count,
               std::shared_ptr<const WorkingMemory> working, const std::shared_ptr<Memory>& memory,
               const BindVariable& bind);

  std::int64_t run(const LoopPorts& ports) override;
  void step(const StepPorts& ports) override;
  void set_recorder(Recorder* recorder, std::int32_t plan) override;
  void read_output(std::size_t output, std::byte* to) const override;

 private:
  struct EveryStep {
    std::int32_t buffer;
    std::size_t bytes;
  };
  struct Execution {
    LoopPorts ports = {};
    // The counter of its first step.
    Counter counter = {};
    Progress progress = {};
    std::int64_t first_row = 0, done = 0;
    bool stopped = false;
    // How often the tiles are halved in this step; those that are left do the work of all.
    int halvings = 0;
  };

  Place place_of(const Buffer& buffer, const BindVariable& bind);
  Place constant_place(std::size_t index);
  void execute(const Execution& execution);
  // The loop of a tile, or of all where one thread does their work.
  void run_tiles(int first, int last);
  // What tile 0 does before a step: the feed, and how many tiles share the step.
  void prepare_step(int halvings, bool has_others);
  // Does the shares of these tiles of both parts of a superstep, and waits after each part. `number` is the number of
  // its first kernel.
  void run_superstep(std::size_t superstep, std::int64_t number, int first, int last, const auto& wait_for_others);
  template <class Work>
  void timed(int tile, RecordedEvent::Kind kind, std::int64_t number, const Work& work);
  void set_input(std::size_t input, const Place& place);
  // Whether the next row of the feed is not there yet.
  bool is_late() const;
  bool begin_step();
  void end_step();
  // Tells that this many supersteps are done.
  void tell_progress(std::size_t supersteps);
  void check_numerics(const Superstep& superstep);
  // The message about the first index of the superstep that is out of range.
  std::string index_failure(const Superstep& superstep) const;
  std::byte*& pointer(std::int32_t buffer) { return buffers_[static_cast<std::size_t>(buffer)]; }
  const Place& place(std::int32_t buffer) const { return places_[static_cast<std::size_t>(buffer)]; }

  Plan plan_;
  PlanKernels kernels_;
  // The shared memory of each kernel, null if it has none; and whether a kernel of the superstep has a second part.
  std::vector<std::vector<std::byte*>> shared_;
  std::vector<bool> has_second_part_;
  std::shared_ptr<TileGroup> tiles_;
  int tile_count_;
  std::shared_ptr<const WorkingMemory> working_;
  std::shared_ptr<Memory> memory_;
  // For constants that kernels cannot reach on the host.
  std::vector<Allocation> constants_;
  // Each buffer, and where kernels find it.
  std::vector<Place> places_;
  std::vector<std::byte*> buffers_;
  // For the Plan's counter, if it has one.
  Allocation counter_;
  VariableUse variables_;
  InputCopies inputs_;
  std::vector<EveryStep> every_step_;
  // For each output, whether kernels can write it straight to where a step() wants it: it lies in the arena, and no
  // other output lies there.
  std::vector<bool> movable_;
  Execution execution_;
  Recorder* recorder_ = nullptr;
  std::int32_t plan_number_ = 0;
  std::string failure_;
  // The superstep in which a tile met an index out of range, after which no tile goes on. A tile that is ahead of
  // others may write a later one before they have passed theirs.
  std::atomic<std::size_t> failed_superstep_ = no_superstep;
  static constexpr std::size_t no_superstep = static_cast<std::size_t>(-1);
};

}  // namespace pando
