// TileExecutor: runs a Plan whose kernels are host functions on a group of tiles.
#pragma once
#include <string>

#include "runtime/backend.h"
#include "backends/cpu/kernel.h"
#include "backends/cpu/tiles.h"

namespace pando {

// The constructor allocates everything: an execution allocates nothing and, unless it has to wait for others, makes no
// system call. It holds its variables for a step at a time.
class TileExecutor final : public Executable {
 public:
  // kernels[s][k] belongs to plan.supersteps[s][k].
  TileExecutor(const Plan& plan, std::vector<std::vector<std::unique_ptr<Kernel>>> kernels,
               std::shared_ptr<TileGroup> tiles, const BindVariable& bind);

  std::int64_t run(std::int64_t steps, std::int64_t first_update, Feeds* feeds,
                   std::span<std::byte* const> every_step) override;
  void step(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
            const Counter& counter) override;
  void set_recorder(Recorder* recorder, std::int32_t plan) override;
  void read_output(std::size_t output, std::byte* to) const override;
  std::size_t working_bytes() const override {
    return plan_.arena_bytes + scratch_bytes_ * static_cast<std::size_t>(tiles_->count());
  }

 private:
  struct EveryStep {
    std::int32_t buffer;
    std::size_t bytes;
  };
  struct Execution {
    std::int64_t steps = 0;
    // The counter of its first step.
    Counter counter = {};
    Feeds* feeds = nullptr;
    std::span<std::byte* const> every_step = {};
    // Set by a single step(), which also takes the outputs.
    bool is_fed = false;
    std::int64_t done = 0;
    bool stopped = false;
  };

  // Does the work of the tiles [first, last): of one tile or of all.
  void run_tiles(int first, int last);
  std::byte* scratch_of(int tile) const { return memory_.get() + scratch_bytes_ * static_cast<std::size_t>(tile); }
  template <class Work>
  void timed(int tile, RecordedEvent::Kind kind, std::int64_t number, const Work& work);
  bool begin_step();
  void end_step();
  void check_numerics(const Superstep& superstep);

  Plan plan_;
  std::vector<std::vector<std::unique_ptr<Kernel>>> kernels_;
  std::shared_ptr<TileGroup> tiles_;
  std::size_t scratch_bytes_ = 0;
  // The scratch of all tiles, then the arena: together they are more often large enough for large pages.
  HostMemory memory_;
  std::byte* arena_ = nullptr;
  std::vector<std::byte*> buffers_;
  // The value of the Plan's counter in this step.
  std::int64_t counter_[2] = {0, 0};
  VariableUse variables_;
  std::vector<std::pair<std::int32_t, std::size_t>> feed_offsets_;
  std::vector<EveryStep> every_step_;
  // For each output, whether kernels can write it where a step() wants it: it is in the arena, and no other output.
  std::vector<bool> movable_;
  Execution execution_;
  Recorder* recorder_ = nullptr;
  std::int32_t plan_number_ = 0;
  std::string failure_;
};

}  // namespace pando
