// PipelineExecutor: runs the stages of all replicas of a model at the same time, each on its own device.
#pragma once
#include <atomic>
#include <functional>
#include <memory>

#include "base/crowding.h"
#include "comm/local_group.h"
#include "plan/pipeline_schedule.h"
#include "runtime/backend.h"
#include "runtime/feed.h"

namespace pando {

// Where a program's feed comes from, or its output goes: `offset` bytes into that place, of the same micro-batch.
struct PortRoute {
  enum class Place : std::uint8_t {
    host,      // what the host fed for this replica
    own,       // the stage's slot: activations from the stage before, gradients from the stage behind, and its stash
    next,      // the slot of the stage behind
    previous,  // the slot of the stage before
    result,    // what the host is told of this micro-batch and replica
    counter,   // the number of the update
  };
  Place place = Place::host;
  std::size_t offset = 0;
};

struct RoutedProgram {
  // None: nothing is to be done.
  std::unique_ptr<Executable> executable = {};
  std::vector<PortRoute> feeds = {}, outputs = {};
};

// What one device runs: one stage of one replica. The last stage of a training pipeline does both passes in its
// backward program.
struct DeviceProgram {
  RoutedProgram forward, backward_first, backward_next, update;
  // Summed over the replicas before an update; and averaged after it.
  std::vector<std::span<float>> gradients, statistics;
  // Holds the statistics of this replica, which others may read, while they are averaged.
  VariableUse statistics_use = {};
};

struct PipelineLayout {
  int replicas = 1;
  PipelineSchedule schedule;
  // Bytes of a slot of each stage, of one replica's part of a row that the host feeds, and of the results of a
  // micro-batch of one replica.
  std::vector<std::size_t> slot_bytes;
  std::size_t host_bytes = 0, result_bytes = 0;
};

// Told what a device does, on its thread; for profiles and for tests that disturb the timing.
class PipelineObserver {
 public:
  enum class Kind : std::uint8_t { forward, backward, exchange, update };
  virtual ~PipelineObserver() = default;
  virtual void begin(int device, Kind kind, std::int64_t micro_batch) = 0;
  virtual void end(int device, Kind kind, std::int64_t micro_batch) = 0;
};

class PipelineExecutor {
 public:
  // devices[replica * stages + stage]. Throws Error if memory or threads cannot be had.
  PipelineExecutor(PipelineLayout layout, std::vector<DeviceProgram> devices);
  ~PipelineExecutor();
  PipelineExecutor(const PipelineExecutor&) = delete;
  PipelineExecutor& operator=(const PipelineExecutor&) = delete;

  struct Run {
    // Rows of micro-batches, one for each replica, that make an update; and how many updates.
    std::int64_t rows_per_update = 1, updates = 1;
    // The numbers of the first row of the feed and of the first update.
    std::int64_t first_row = 0, first_update = 0;
    FeedRing* feed = nullptr;
    // Room for the results of all rows and replicas.
    std::byte* results = nullptr;
  };
  // Returns the number of rows that were run: fewer if the feed ends. Throws Error in a child made by fork(), where the
  // devices' threads do not exist.
  std::int64_t run(const Run& run);

  void set_observer(PipelineObserver* observer) { observer_ = observer; }
  // The programs of device i record kernels with recorders[i], numbered in the order in which DeviceProgram has them;
  // none without recorders.
  void set_recorders(const std::vector<Recorder*>& recorders);
  // Rows that may be on their way at once: the feed needs as many slots.
  int rows_in_flight() const;

 private:
  struct Stage;

  void serve(int device);
  void stop();
  void run_device(int device);
  // All devices at once, each on its thread; or all on the calling thread, with the same results.
  std::int64_t run_part(const Run& run, bool together);
  void run_together();
  void run_alone();
  void begin_update(Stage& stage);
  bool run_possible_actions(Stage& stage);
  bool can_run(const Stage& stage, const PipelineAction& action, std::int64_t row) const;
  std::int64_t next_row(const Stage& stage) const;
  bool end_update_alone(int index);
  void update_weights(Stage& stage, std::int64_t update);
  bool run_update(Stage& stage, std::int64_t update);
  bool run_forward(Stage& stage, std::int64_t row);
  void run_backward(Stage& stage, std::int64_t row, bool first_of_update);
  void finish_row(Stage& stage, std::int64_t row);
  void run_program(Stage& stage, RoutedProgram& program, const std::byte* host, std::int64_t row);
  const std::byte* find(const Stage& stage, const PortRoute& route, const std::byte* host, std::int64_t row) const;
  bool training() const { return !layout_.schedule.backward.empty(); }
  int stages() const { return layout_.schedule.stages(); }

  PipelineLayout layout_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<std::unique_ptr<LocalGroup>> groups_;
  PipelineObserver* observer_ = nullptr;
  Run run_;
  const ProcessMark process_;
  std::atomic<std::int64_t> launches_ = 0, finished_ = 0;
  std::atomic<bool> stopping_ = false;
  std::vector<Thread> threads_;
  Crowding crowding_;
  // When the devices last worked together; 0 before that.
  double nanoseconds_of_update_ = 0;
};

}  // namespace pando
