// poptorch.Options: how a model runs on virtual IPUs.
#pragma once
#include <pando/base/dtype.h>
#include <pando/base/export.h>
#include <pando/graph/division.h>

#include <memory>

namespace pando::poptorch {

// Which batches a call returns the outputs of: the last of each replica, all, the sum for each replica, or every N-th.
// Default: Final for training, All for inference.
enum class OutputMode { Default, Final, All, Sum, EveryN };
using AnchorMode = OutputMode;

// What the gradients of an update's micro-batches and replicas become.
enum class ReductionType { Mean, Sum };

// Blocks on several IPUs run at the same time, each on another micro-batch.
struct PipelinedExecution {
  PipelineOrder schedule = PipelineOrder::grouped;
};
// Blocks on several IPUs run one after the other.
struct ShardedExecution {};

struct OptionsState;

class PANDO_API TrainingOptions {
 public:
  // Micro-batches of an update, for each replica. Throws Error unless it is positive.
  TrainingOptions& gradientAccumulation(std::int64_t count);
  TrainingOptions& accumulationAndReplicationReductionType(ReductionType type);

 private:
  friend class Options;
  std::shared_ptr<OptionsState> state_;
};

class PANDO_API PrecisionOptions {
 public:
  // Stop with an Error that names the op when a value becomes NaN or infinite. Slow; on one IPU only.
  PrecisionOptions& enableFloatingPointExceptions(bool enable);
  // Sums within ops are float32: throws Error for anything else.
  PrecisionOptions& setPartialsType(DType dtype);
  // Rounding is to nearest: throws Error if it is to be stochastic.
  PrecisionOptions& enableStochasticRounding(bool enable);

 private:
  friend class Options;
  std::shared_ptr<OptionsState> state_;
};

// Copies are the same options. They are frozen when a model is compiled with them: changing them throws Error then.
class PANDO_API Options {
 public:
  Options();
  // Others with the same values, not frozen.
  Options clone() const;

  // Micro-batches of a call, times those of an update.
  Options& deviceIterations(std::int64_t count);
  Options& replicationFactor(int count);
  Options& outputMode(OutputMode mode, std::int64_t period = 1);
  Options& anchorMode(OutputMode mode, std::int64_t period = 1) { return outputMode(mode, period); }
  // What drop-out draws depends on it alone: equal models draw the same. Without it each module has a seed of its own.
  Options& randomSeed(std::uint64_t seed);
  Options& setExecutionStrategy(const PipelinedExecution& strategy);
  Options& setExecutionStrategy(const ShardedExecution& strategy);
  // Accepted, with a notice: compiling takes milliseconds, and every IPU is a virtual one.
  Options& enableExecutableCaching(const std::string& path);
  Options& useIpuModel(bool use);

  TrainingOptions Training;
  PrecisionOptions Precision;

  const OptionsState& state() const { return *state_; }
  void freeze() const;

 private:
  std::shared_ptr<OptionsState> state_;
};

}  // namespace pando::poptorch
