// SPDX-License-Identifier: Apache-2.0
// Executor: runs a Plan on a GPU. A step is one CUDA graph, captured when it is first needed; the graph counts its own
// steps, takes its row of the feed from a ring on the device and keeps its results there, so the host only launches it
// again and again. Rows are copied to that ring by a second stream while steps run.
#pragma once
#include "backends/cuda/arena.h"
#include "backends/cuda/step_kernels.h"
#include "backends/cuda/stream.h"
#include "base/thread.h"
#include "runtime/backend.h"

namespace pando::cuda {

inline void* raw(const Place& place) { return reinterpret_cast<void*>(place.address); }

class Executor final : public Executable {
 public:
  Executor(const Plan& plan, PlanKernels kernels, std::shared_ptr<const WorkingMemory> working, int gpu,
           const std::shared_ptr<Memory>& memory, const BindVariable& bind);

  std::int64_t run(const LoopPorts& ports) override;
  void step(const StepPorts& ports) override;
  void set_recorder(Recorder* recorder, std::int32_t plan) override;
  void read_output(std::size_t output, std::byte* to) const override;

 private:
  Place place_of(const Buffer& buffer, const BindVariable& bind);
  // Memory of its own, at a place that does not change.
  Place fixed(std::size_t bytes, const std::string& what);
  std::byte* pointer(std::int32_t buffer) const;
  void write_state(const LoopState& state);
  // Enqueues all kernels; with events, one is recorded before each of them and one at the end.
  void enqueue_kernels(const std::vector<std::unique_ptr<Event>>* events = nullptr);
  void enqueue_numerics(std::size_t superstep);
  // Runs all kernels and tells the recorder.
  void recorded_kernels();
  // Throws Error if the last step made a NaN.
  void report_numerics(std::int64_t update);
  void copy_in(const StepPorts& ports);
  void copy_out(const StepPorts& ports);

  // The loop over steps.
  void prepare_loop();
  void enqueue_loop_step(const Function<void()>& kernels);
  // How many steps hold the variables together. The host waits at the end of such a turn.
  std::int64_t steps_of_turn() const;
  // Runs up to `most` steps, the first of which is number `first` of the execution and has this row; returns how many.
  std::int64_t run_turn(const LoopPorts& ports, std::int64_t row, std::int64_t first, std::int64_t most);
  // Copies rows that are there, for the steps from `step` on, and returns how many.
  std::int64_t copy_rows(FeedRing& feed, std::int64_t row, std::int64_t step, std::int64_t most);
  void launch_steps(std::int64_t count);
  void fetch_kept(const LoopPorts& ports, std::int64_t first, std::int64_t last) const;

  Plan plan_;
  PlanKernels kernels_;
  std::shared_ptr<const WorkingMemory> working_;
  const int gpu_;
  std::shared_ptr<Memory> memory_;
  const ProcessMark process_;
  Stream compute_, copy_;
  // The host's side of small copies, while they run.
  Allocation pinned_;
  std::vector<Allocation> allocations_;
  // The row of the feed that kernels read, the counter and the state of the loop; a Plan may lack the first two.
  Place row_, counter_, state_;
  // Each buffer.
  std::vector<Place> places_;
  VariableUse variables_;
  // Made by the first run(): rows that are copied ahead, in two groups, and what is kept for every step.
  bool is_loop_ready_ = false;
  Place ring_;
  std::int64_t rows_of_group_ = 1;
  std::vector<KeptOutput> kept_;
  std::int64_t room_ = 0;
  // Groups of this execution so far, and the events of the last two.
  std::int64_t groups_ = 0;
  std::array<Event, 2> copied_, computed_;
  Event done_;
  StepGraph loop_graph_, step_graph_;
  double seconds_per_step_ = 0;
  Recorder* recorder_ = nullptr;
  std::int32_t plan_number_ = 0;
  std::vector<std::unique_ptr<Event>> events_;
};

}  // namespace pando::cuda
