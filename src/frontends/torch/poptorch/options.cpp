// SPDX-License-Identifier: Apache-2.0
#include "frontends/torch/poptorch/options.h"

#include <fmt/format.h>

#include "base/notice.h"
#include "pando/frontends/torch/poptorch/data_loader.h"

namespace pando::poptorch {

namespace {

OptionsState& changeable(const std::shared_ptr<OptionsState>& state, const char* option) {
  if (state->frozen)
    throw Error(
        fmt::format("Options: {} can no longer be changed: a model was compiled with these options; change "
                    "a clone() of them and make a new model",
                    option));
  return *state;
}

void check_positive(const char* option, std::int64_t number) {
  if (number < 1) throw Error(fmt::format("Options: {} is {} but must be at least 1", option, number));
}

void notice(const std::string& text) { notify("poptorch", "Notice: " + text); }

}  // namespace

Options::Options() : state_(std::make_shared<OptionsState>()) {
  Training.state_ = Precision.state_ = Distributed.state_ = state_;
}

Options Options::clone() const {
  Options copy;
  *copy.state_ = *state_;
  copy.state_->frozen = false;
  return copy;
}

void Options::freeze() const { state_->frozen = true; }

Options& Options::deviceIterations(std::int64_t count) {
  check_positive("deviceIterations", count);
  changeable(state_, "deviceIterations").device_iterations = count;
  return *this;
}

Options& Options::replicationFactor(int count) {
  check_positive("replicationFactor", count);
  changeable(state_, "replicationFactor").replicas = count;
  return *this;
}

Options& Options::outputMode(OutputMode mode, std::int64_t period) {
  check_positive("the period of outputMode", period);
  if (mode != OutputMode::EveryN && period != 1)
    throw Error(fmt::format("Options: outputMode has the period {}, which only EveryN takes", period));
  OptionsState& state = changeable(state_, "outputMode");
  state.output_mode = mode;
  state.output_period = period;
  return *this;
}

Options& Options::randomSeed(std::uint64_t seed) {
  changeable(state_, "randomSeed").random_seed = seed;
  return *this;
}

Options& Options::setExecutionStrategy(const PipelinedExecution& strategy) {
  if (strategy.stages < 0)
    throw Error(fmt::format("Options: stages of a PipelinedExecution is {} but must not be negative", strategy.stages));
  OptionsState& state = changeable(state_, "setExecutionStrategy");
  state.order = strategy.schedule;
  state.stages = strategy.stages;
  return *this;
}

Options& Options::setExecutionStrategy(const ShardedExecution&) {
  OptionsState& state = changeable(state_, "setExecutionStrategy");
  state.order = PipelineOrder::sequential;
  state.stages = 0;
  return *this;
}

Options& Options::enableExecutableCaching(const std::string& path) {
  changeable(state_, "enableExecutableCaching");
  notice(fmt::format("enableExecutableCaching(\"{}\") has no effect: models compile in milliseconds.", path));
  return *this;
}

Options& Options::useIpuModel(bool use) {
  changeable(state_, "useIpuModel");
  if (use) notice("useIpuModel has no effect: all IPUs are virtual.");
  return *this;
}

TrainingOptions& TrainingOptions::gradientAccumulation(std::int64_t count) {
  check_positive("gradientAccumulation", count);
  changeable(state_, "gradientAccumulation").accumulation = count;
  return *this;
}

TrainingOptions& TrainingOptions::accumulationAndReplicationReductionType(ReductionType type) {
  changeable(state_, "accumulationAndReplicationReductionType").reduction = type;
  return *this;
}

DistributedOptions& DistributedOptions::configureProcessId(int process_id, int num_processes) {
  OptionsState& state = changeable(state_, "Distributed.configureProcessId");
  check_positive("the number of processes", num_processes);
  std::shared_ptr<Workers> workers;
  if (num_processes > 1) workers = mpi_workers();
  const int rank = workers ? workers->rank() : 0, count = workers ? workers->count() : 1;
  if (process_id != rank || num_processes != count)
    throw Error(fmt::format("Options: configureProcessId({}, {}) was called in process {} of {}", process_id,
                            num_processes, rank, count));
  state.workers = std::move(workers);
  return *this;
}

int DistributedOptions::numProcesses() const { return state_->workers ? state_->workers->count() : 1; }
int DistributedOptions::processId() const { return state_->workers ? state_->workers->rank() : 0; }

PrecisionOptions& PrecisionOptions::enableFloatingPointExceptions(bool enable) {
  changeable(state_, "enableFloatingPointExceptions").check_numerics = enable;
  return *this;
}

PrecisionOptions& PrecisionOptions::setPartialsType(DType dtype) {
  changeable(state_, "setPartialsType");
  if (dtype != DType::float32)
    throw Error("Options: setPartialsType takes float32 only; sums within ops are kept in it");
  return *this;
}

PrecisionOptions& PrecisionOptions::enableStochasticRounding(bool enable) {
  changeable(state_, "enableStochasticRounding");
  if (enable) throw Error("Options: stochastic rounding is not supported; weights are float32 and round to nearest");
  return *this;
}

torch::utils::data::DataLoaderOptions combined(torch::utils::data::DataLoaderOptions options,
                                               const Options& model_options) {
  const OptionsState& state = model_options.state();
  if (options.batch_size > 0) options.batch_size *= state.device_iterations * state.accumulation * state.all_replicas();
  return options;
}

}  // namespace pando::poptorch
