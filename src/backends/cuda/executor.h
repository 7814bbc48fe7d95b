// SPDX-License-Identifier: Apache-2.0
// Executor: runs a Plan on a GPU. The steps of its loop are CUDA graphs of up to 64 steps. They are captured when they
// are first needed, and then the host only launches them again and again. A graph counts its own steps, takes their
// rows of the feed from a ring on the device, or gathers samples that are there, and hands the results to the host.
// Rows are copied to that ring by a second stream while steps run. Kernels that do not depend on each other are
// branches of the graph.
#pragma once
#include <algorithm>
#include <optional>

#include "backends/cuda/arena.h"
#include "backends/cuda/step_kernels.h"
#include "backends/cuda/stream.h"
#include "base/machine/expected_time.h"
#include "base/thread.h"
#include "ops/index_range.h"
#include "runtime/backend.h"

namespace pando::cuda {

inline void* raw(const Place& place) { return reinterpret_cast<void*>(place.address); }

// Memory for the rows of a graph, and of a group that is copied ahead, if that is enough for one step.
inline constexpr std::size_t rows_bytes = std::size_t{32} << 20;

// How many pieces of that many bytes there is room for: at least 1, at most `most`.
inline std::int64_t as_many(std::size_t room, std::size_t bytes, std::int64_t most) {
  return bytes == 0 ? most : std::clamp<std::int64_t>(static_cast<std::int64_t>(room / bytes), 1, most);
}

class Executor final : public Executable {
 public:
  Executor(const Plan& plan, PlanKernels kernels, std::shared_ptr<const WorkingMemory> working, int gpu,
           const std::shared_ptr<Memory>& memory, const BindVariable& bind);

  std::int64_t run(const LoopPorts& ports) override;
  void step(const StepPorts& ports) override;
  void set_recorder(Recorder* recorder, std::int32_t plan) override;
  void read_output(std::size_t output, std::byte* to) const override;

 private:
  // A buffer in the steps of a graph: that of step i is at `first + i * stride`.
  struct StepBuffer {
    Place first = {};
    std::size_t stride = 0;
  };
  // The steps of a graph are numbered; a single step is none of them.
  static constexpr int single_step = -1;

  Place place_of(const Buffer& buffer, const BindVariable& bind);
  // Memory of its own, at a place that does not change.
  Place fixed(std::size_t bytes, const std::string& what);
  std::byte* pointer(std::int32_t buffer, int step) const;
  void write_state(const LoopState& state);
  LoopState* state() const { return static_cast<LoopState*>(raw(state_)); }
  // `follows_itself` as Operands have it.
  void enqueue(const PlanKernel& kernel, int step, std::size_t lane, bool follows_itself,
               std::optional<std::size_t> recorded_part = {});
  void enqueue_numerics(const PlanKernel& kernel, int step);
  // Enqueues all kernels as branches; only while a graph is captured. Takes the numbers of their pieces of work in the
  // step before, none for the first step of a graph, and returns those of this step.
  std::vector<std::size_t> enqueue_kernels(int step, std::span<const std::size_t> pieces_before, Branches& branches);
  std::vector<Access> accesses_of(const PlanKernel& kernel, int step, std::size_t lane) const;
  // Runs all kernels one after the other and tells the recorder.
  void recorded_kernels(int step);
  const KernelCall& call_of(const PlanKernel& kernel) const;
  // The range of the indices that the kernel takes; empty if it takes none that are checked.
  std::optional<IndexRange> indices_of(const PlanKernel& kernel) const;
  // Throws Error if a step met an index out of range, or made a NaN and numerics are checked; `update` is the last one.
  void report_failures(std::int64_t update);
  void copy_in(const StepPorts& ports);
  void copy_out(const StepPorts& ports);

  // The loop over steps.
  void prepare_loop();
  void place_kept_outputs(std::size_t steps);
  void use_feed(const FeedRing& feed);
  void begin_graph(int steps);
  // Where step `step` of a graph makes that one of kept_, and a copy to there of an output that is made elsewhere.
  std::byte* made_in(std::size_t kept, int step) const;
  void copy_output(std::size_t kept, std::int32_t buffer, int step);
  void end_graph(int steps);
  void capture_steps(int steps, StepGraph& graph);
  // How many steps hold the variables together. The host waits at the end of such a turn.
  std::int64_t steps_of_turn() const;
  // Runs up to `most` steps, the first of which has this row; returns how many.
  std::int64_t run_turn(const LoopPorts& ports, std::int64_t row, std::int64_t most);
  // Copies rows that are there, for the next steps, and returns how many.
  std::int64_t copy_rows(FeedRing& feed, std::int64_t row, std::int64_t most);
  void launch_steps(std::int64_t count);
  // Hands over what was kept of the steps [first, last) of an execution that began with step `base`.
  void fetch_kept(const LoopPorts& ports, std::int64_t base, std::int64_t first, std::int64_t last) const;

  Plan plan_;
  PlanKernels kernels_;
  bool checks_indices_ = false;
  std::shared_ptr<const WorkingMemory> working_;
  const int gpu_;
  std::shared_ptr<Memory> memory_;
  const ProcessMark process_;
  Stream compute_, copy_;
  // The host's side of small copies, while they run.
  Allocation pinned_;
  std::vector<Allocation> allocations_;
  // The row of the feed and the counter of a single step, which a Plan may lack, and the state of the loop.
  Place row_, counter_, state_;
  // Each buffer, in a single step and in the steps of a graph.
  std::vector<Place> places_;
  std::vector<StepBuffer> step_places_;
  VariableUse variables_;

  // Made by the first run(): the most steps of a graph, their rows and counters, and what is kept for every step.
  int steps_of_graph_ = 0;
  Place rows_, counters_;
  std::vector<KeptOutput> kept_;
  // Outputs that must be copied because no kernel makes them where they are kept: their numbers in kept_, and their
  // buffers.
  std::vector<std::pair<std::size_t, std::int32_t>> copied_outputs_;
  Allocation kept_memory_;
  std::int64_t room_ = 0;
  // What the device knows about the feed (a LoopFeed and its fields), and its ring: two groups of rows. One is copied
  // while the steps of the other run.
  Place feed_;
  std::vector<std::byte> described_;
  Place ring_;
  std::size_t ring_bytes_ = 0;
  std::int64_t rows_of_group_ = 1;
  // Groups of this execution so far, and the events of the last two.
  std::int64_t groups_ = 0;
  std::array<Event, 2> copied_, computed_;
  Event done_;
  // The state on the device once everything that was launched is done, unless something failed.
  LoopState next_;
  bool is_state_known_ = false;
  // Graphs of 1, 2, 4, ... steps.
  std::vector<std::unique_ptr<StepGraph>> loop_graphs_;
  StepGraph step_graph_;
  // The time of a step in the last turn, what the host expects of the next turn, and whether this turn made a graph.
  double seconds_per_step_ = 0;
  ExpectedTime expected_;
  bool made_graph_ = false;
  Recorder* recorder_ = nullptr;
  std::int32_t plan_number_ = 0;
  std::vector<std::unique_ptr<Event>> events_;
};

}  // namespace pando::cuda
