// SPDX-License-Identifier: Apache-2.0
// poptorch.Options: how a model runs on virtual IPUs.
#pragma once
#include <pando/base/dtype.h>
#include <pando/base/export.h>
#include <pando/graph/division.h>

#include <memory>

namespace pando::poptorch {

// Which batches' outputs a call returns: the last of each replica, all, the sum for each replica, or every N-th.
// Default: Final for training, All for inference.
enum class OutputMode { Default, Final, All, Sum, EveryN };
using AnchorMode = OutputMode;

// How the gradients of an update's micro-batches and replicas are combined.
enum class ReductionType { Mean, Sum };

// Blocks on several IPUs run at the same time, each on another micro-batch.
struct PipelinedExecution {
  PipelineOrder schedule = PipelineOrder::grouped;
  // Splits a model without blocks into that many stages of about equal work; with 0, its blocks are the stages.
  int stages = 0;
};
// Blocks on several IPUs run one after the other.
struct ShardedExecution {};

struct OptionsState;

// What only training models use: Options::Training.
class PANDO_API TrainingOptions {
 public:
  // The number of micro-batches of an update, for each replica. Throws Error unless it is positive.
  TrainingOptions& gradientAccumulation(std::int64_t count);
  TrainingOptions& accumulationAndReplicationReductionType(ReductionType type);

 private:
  friend class Options;
  std::shared_ptr<OptionsState> state_;
};

// How numbers are computed: Options::Precision.
class PANDO_API PrecisionOptions {
 public:
  // Stop with an Error that names the module when a value becomes NaN or infinite, on any IPU. Slow.
  PrecisionOptions& enableFloatingPointExceptions(bool enable);
  // Sums within ops are float32: throws Error for anything else.
  PrecisionOptions& setPartialsType(DType dtype);
  // Rounding is always to nearest: throws Error for stochastic rounding.
  PrecisionOptions& enableStochasticRounding(bool enable);

 private:
  friend class Options;
  std::shared_ptr<OptionsState> state_;
};

// Several processes that share the work: Options::Distributed. Every process makes the same calls with the same samples
// and computes those of its own replicas; outputs are those of all, as in one process with as many replicas.
class PANDO_API DistributedOptions {
 public:
  // Joins the processes that `mpirun` or `srun` started together with this one; each has its own replicationFactor
  // replicas. Throws Error if this process has another number, or there are not as many.
  DistributedOptions& configureProcessId(int process_id, int num_processes);
  int numProcesses() const;
  int processId() const;

 private:
  friend class Options;
  std::shared_ptr<OptionsState> state_;
};

// Copies are the same options. They are frozen once a model is compiled with them: changing them then throws Error.
class PANDO_API Options {
 public:
  Options();
  // New options with the same values, not frozen.
  Options clone() const;

  // The number of updates in a call; for inference, the number of micro-batches for each replica.
  Options& deviceIterations(std::int64_t count);
  Options& replicationFactor(int count);
  Options& outputMode(OutputMode mode, std::int64_t period = 1);
  Options& anchorMode(OutputMode mode, std::int64_t period = 1) { return outputMode(mode, period); }
  // Dropout draws depend only on this seed: equal models draw the same numbers. Without it, each module has its own
  // seed.
  Options& randomSeed(std::uint64_t seed);
  Options& setExecutionStrategy(const PipelinedExecution& strategy);
  Options& setExecutionStrategy(const ShardedExecution& strategy);
  // Accepted, with a notice: compiling takes milliseconds, and every IPU is a virtual one.
  Options& enableExecutableCaching(const std::string& path);
  Options& useIpuModel(bool use);

  TrainingOptions Training;
  PrecisionOptions Precision;
  DistributedOptions Distributed;

  const OptionsState& state() const { return *state_; }
  void freeze() const;

 private:
  std::shared_ptr<OptionsState> state_;
};

}  // namespace pando::poptorch
