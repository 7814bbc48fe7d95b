// From the graphs of a divided step to a program on several virtual IPUs.
#pragma once
#include <pando/program/program.h>

namespace pando {

// A step of one stage. Inputs and outputs are connected by their names:
//   "activation/N": an output of `forward` that the stage behind takes; an input from the stage before, in both passes
//   "stash/N":      an output of `forward` that `backward` takes
//   "gradient/N":   an input of `backward`, of activation N that the stage gives; an output, of activation N that it
//   takes
// Other inputs are fed by the host, but for the "counter" of `update`; other outputs are results.
struct StageGraphs {
  // Has no nodes in the last stage of training, where `backward` does both passes.
  Graph forward = {};
  // `first` sets the variables in which gradients are summed, `next` adds to them.
  Graph backward_first = {}, backward_next = {};
  // Once an update, when the gradients of all replicas are summed.
  Graph update = {};
  // Variables of `backward` that are summed over the replicas before an update, and of `forward` that are averaged.
  std::vector<std::string> gradients = {}, statistics = {};
};

enum class PipelineOrder { grouped, interleaved, sequential };

struct ParallelOptions {
  int replicas = 1;
  PipelineOrder order = PipelineOrder::grouped;
  bool training = true;
  Precision precision = Precision::float32;
};

class ParallelFeed;
class PipelineObserver;

// A row is one micro-batch for each replica. One thread at a time uses a program: a run while another thread is in one
// throws Error.
class PANDO_API ParallelProgram {
 public:
  // `devices` has the stages of the first replica, then those of the next, ... The first replica works on `variables`;
  // the others have copies of their own, which follow what is set there.
  ParallelProgram(const std::vector<StageGraphs>& stages, const std::vector<Device>& devices,
                  const Variables& variables, const ParallelOptions& options);
  ~ParallelProgram();
  ParallelProgram(ParallelProgram&&) noexcept;

  // What the host feeds for each replica.
  std::vector<PortInfo> feeds() const;

  struct Run {
    std::int64_t rows_per_update = 1;
    std::int64_t updates = 1;
    // The number of the first update, which the counter of `update` begins with.
    std::int64_t first_update = 0;
  };
  // Returns the number of rows that were run: fewer if the feed ends. The update that it ends in is made of what there
  // is.
  std::int64_t run(const Run& run, ParallelFeed& feed);
  // The result of the last run, [rows, replicas, ...].
  Array result(const std::string& name) const;

  // Those of a replica, to look at.
  Variables replica_variables(int replica) const;
  // Of the device of a stage: what its programs work in, and what waits between passes.
  std::size_t working_bytes(int stage) const;
  std::size_t stash_bytes(int stage) const;
  // What a ParallelFeed holds for each replica.
  std::size_t feed_bytes() const;
  double megaflops(int stage) const;
  void set_observer(PipelineObserver* observer);

 private:
  friend class ParallelFeed;
  friend class Profiler;
  struct State;
  std::unique_ptr<State> state_;
};

// Writes a row: for each replica the feeds in the order of ParallelProgram::feeds().
class PANDO_API ParallelFeed {
 public:
  ParallelFeed(const ParallelProgram& program, FillFeeds fill);
  ~ParallelFeed();

 private:
  friend class ParallelProgram;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pando
