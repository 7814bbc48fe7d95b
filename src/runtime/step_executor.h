// SPDX-License-Identifier: Apache-2.0
// StepExecutor: runs a StepPlan on several devices, the stages of all replicas of a model at the same time.
//
// Each device follows the schedule of its stage and waits only for its neighbours: for the activations of the stage
// before, the gradients of the next, and room in the slots of the next. At the end of an update the replicas of a stage
// add up their sums; then each stage updates its weights. An exception in a device stops all devices, and reaches the
// caller of run().
#pragma once
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>

#include "base/machine/crowding.h"
#include "base/waiting.h"
#include "comm/local_group.h"
#include "comm/worker_sums.h"
#include "plan/step_plan.h"
#include "runtime/backend.h"
#include "runtime/host_blocks.h"
#include "runtime/step_buckets.h"

namespace pando {

// What a device does when it is not waiting.
enum class Activity : std::uint8_t { forward, backward, exchange, update };

// Is told what a device does, on the device's thread. Profiles use it, and tests that disturb the timing.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void begin(int device, Activity activity, std::int64_t micro_batch) = 0;
  virtual void end(int device, Activity activity, std::int64_t micro_batch) = 0;
};

// One stage of one replica, on its device.
struct LoadedStage {
  // Where the device keeps what passes between its programs.
  std::shared_ptr<Memory> memory = {};
  // For each of StagePlan::all().
  LoadedPlans programs = {};
  // Added up, and averaged, over the replicas before an update.
  HostBlocks sums = {}, statistics = {};
  // Locks the statistics of this replica while they are averaged, because other threads may read them.
  VariableUse statistics_use = {};
  // Null if sums with other workers go through the host.
  std::shared_ptr<SumLink> link = {};
};

class StepExecutor {
 public:
  // devices[replica * stages + stage]; the plan must outlive this. If there are workers, these are the devices of an
  // equal share of the plan's replicas, the one of this worker. Throws Error if there is not enough memory or threads
  // cannot be started.
  StepExecutor(const StepPlan& plan, std::vector<LoadedStage> devices, std::shared_ptr<Workers> workers = nullptr);
  ~StepExecutor();
  StepExecutor(const StepExecutor&) = delete;
  StepExecutor& operator=(const StepExecutor&) = delete;

  struct Launch {
    std::int64_t rows = 1;
    // The numbers of the first row of the feed and of the first update.
    std::int64_t first_row = 0, first_update = 0;
    // Null if the plan has no inputs.
    FeedRing* feed = nullptr;
    // Room for the results of all rows and of the replicas of this worker.
    std::byte* results = nullptr;
  };
  // Returns the number of rows that were run: fewer if the feed ends. If it ends within an update, the update is made
  // from the rows that there are. Throws what the first failing device throws, and Error in a child made by fork(),
  // where the devices' threads do not exist.
  std::int64_t run(const Launch& launch);

  void set_observer(StepObserver* observer) { observer_ = observer; }
  // The programs of device i record kernels with recorders[i], numbered as StagePlan::all(); none without recorders.
  void set_recorders(const std::vector<Recorder*>& recorders);
  // The number of rows that may be in progress at once: the feed needs as many slots.
  int rows_in_flight() const;
  // The bytes that the device of a stage keeps between passes.
  std::size_t stash_bytes(int stage) const;
  std::size_t working_bytes(int stage) const;
  // The tiles that each device of a stage uses.
  int tiles(int stage) const;

 private:
  // In the order of StagePlan::all().
  enum Program : std::size_t { forward, backward_first, backward_next, update_values, update };
  struct Route;
  struct Stage;
  class Watch;

  void add_stage(int device, LoadedStage loaded);
  Route route_of(int stage, const Port& port, bool is_input) const;
  void serve(int device);
  void stop_threads();
  void run_device(int device);
  void fail(std::exception_ptr failure);
  std::exception_ptr take_failure();
  void wait_for(const Awaited<std::int64_t>& rows, std::int64_t wanted) const;
  // Runs all devices at once, each on its thread, or all on the calling thread, with the same results.
  std::int64_t run_part(const Launch& launch, bool together);
  void run_together();
  void run_alone();
  void begin_update(Stage& stage) const;
  bool run_update(Stage& stage);
  bool run_possible_actions(Stage& stage);
  bool can_run(const Stage& stage, const PipelineAction& action, std::int64_t row) const;
  std::int64_t next_row(const Stage& stage) const;
  bool reduce_alone(int index);
  bool is_turn_to_reduce(int index) const;
  bool update_alone(int index);
  void reduce(Stage& stage);
  void update_weights(Stage& stage);
  void end_update(Stage& stage) const;
  void wait_for_room(std::int64_t row) const;
  bool has_room(std::int64_t row) const;
  bool run_forward(Stage& stage, std::int64_t row);
  void run_backward(Stage& stage, std::int64_t row, bool first_of_update);
  void finish_row(Stage& stage, std::int64_t row);
  bool is_last_user(const Stage& stage) const;
  const Awaited<std::int64_t>& rows_done(const Stage& stage) const;
  void run_program(Stage& stage, Program program, const Place& host, std::int64_t row, const Progress& progress = {});
  void make_buckets();
  void connect_sums();
  Place find(const Stage& stage, const Route& route, const Place& host, std::int64_t row) const;
  Counter counter_of(const Stage& stage, std::int64_t row) const;
  // What the host fed; an empty Place at the end of the feed.
  Place fed(std::int64_t row) const;
  bool training() const { return plan_.has_backward(); }
  bool exchanges() const { return !plan_.exchange.list.empty(); }
  int stages() const { return static_cast<int>(plan_.stages.size()); }
  // The replicas of this worker, and the number of the first of them among those of all workers.
  int replicas() const { return static_cast<int>(stages_.size()) / stages(); }
  int first_replica() const { return workers_ ? workers_->rank() * replicas() : 0; }
  // The number of rows that run one after the other before an update ends.
  std::int64_t group() const { return training() ? plan_.rows_per_update : launch_.rows; }

  const StepPlan& plan_;
  const std::shared_ptr<Workers> workers_;
  std::vector<std::unique_ptr<Stage>> stages_;
  // The replicas of each stage, and the stages of each replica.
  std::vector<std::unique_ptr<LocalGroup>> replicas_of_stage_, stages_of_replica_;
  // For the sums of each stage over the workers.
  std::vector<SumScratch> sum_scratch_;
  // One for each stage; null where they go through the host.
  std::vector<std::unique_ptr<SumDevice>> sum_devices_;
  bool has_connected_ = false;
  // What the stages of a replica exchange.
  std::vector<Allocation> exchanged_;
  StepObserver* observer_ = nullptr;
  Launch launch_;
  std::int64_t actions_for_ = -1;
  const ProcessMark process_;
  Awaited<std::int64_t> launches_ = 0, finished_ = 0;
  std::atomic<bool> ending_ = false, stopped_ = false;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::vector<Thread> threads_;
  Crowding crowding_;
  // When the devices last worked together; 0 before that.
  double nanoseconds_of_group_ = 0;
  // For sums over several workers that are worth it. The last member: its thread uses the others.
  std::unique_ptr<StepBuckets> buckets_;
};

}  // namespace pando
