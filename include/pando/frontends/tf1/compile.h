// SPDX-License-Identifier: Apache-2.0
// Computations for IPUs: compiled steps, loops, queues and pipelines.
#pragma once
#include <pando/frontends/ipu/config.h>
#include <pando/frontends/ipu/pipelining.h>
#include <pando/frontends/tf1/session.h>
#include <pando/frontends/tf1/train.h>

namespace pando {
struct Target;
}

namespace pando::ipu {

namespace scopes {

// What is compiled while it lives runs on the device. Throws Error if there is no such device.
class PANDO_API ipu_scope {
 public:
  explicit ipu_scope(const std::string& device);
  ~ipu_scope();
  ipu_scope(const ipu_scope&) = delete;
  ipu_scope& operator=(const ipu_scope&) = delete;

 private:
  std::shared_ptr<const Target> target_;
};

}  // namespace scopes

namespace ipu_compiler {

// Traces the function on the inputs, and compiles it for the device of the scope around. The host computes the inputs
// before each run; the device computes everything else that the function uses of the session's graph. Throws Error
// outside of a scope.
PANDO_API tf1::Compiled compile(const tf1::TracedFunction& computation, const std::vector<Tensor>& inputs = {});

}  // namespace ipu_compiler

struct InfeedState;
struct OutfeedState;

// Feeds the elements of a data set to the steps of loops, ahead of them. Copies are the same queue.
class PANDO_API IPUInfeedQueue {
 public:
  // Throws Error if the data set is empty.
  explicit IPUInfeedQueue(const data::Dataset& dataset);
  // Starts at the first element.
  tf1::Operation initializer() const;
  const std::shared_ptr<InfeedState>& state() const { return state_; }

 private:
  std::shared_ptr<InfeedState> state_;
};

// Whether a queue keeps what every step put in, or only what the last one did.
enum class IPUOutfeedMode { ALL, LAST };
struct OutfeedOptions {
  IPUOutfeedMode outfeed_mode = IPUOutfeedMode::ALL;
};

// Keeps what the steps of loops put into it. Copies are the same queue.
class PANDO_API IPUOutfeedQueue {
 public:
  explicit IPUOutfeedQueue(const OutfeedOptions& options = {});
  // To be called in the body of a loop.
  tf1::Operation enqueue(const std::vector<Tensor>& tensors) const;
  // ALL: everything since the last dequeue, along a new first axis. LAST: what the last step put in.
  tf1::Fetch dequeue() const;
  const std::shared_ptr<OutfeedState>& state() const { return state_; }

 private:
  std::shared_ptr<OutfeedState> state_;
};

namespace loops {

// Runs the body `count` times on the device, without the host in between. The body takes the values that it returned
// the last time (`inputs` the first time), then the columns of the infeed queue's next element, and returns new values
// and operations. Returns the values after the last iteration.
PANDO_API tf1::Outputs repeat(std::int64_t count, const tf1::TracedFunction& body,
                              const std::vector<Tensor>& inputs = {},
                              const std::optional<IPUInfeedQueue>& infeed_queue = {});
// Repeats the body as long as the condition on the values, a tensor of one bool, is true.
PANDO_API tf1::Outputs while_loop(const tf1::TracedFunction& condition, const tf1::TracedFunction& body,
                                  const std::vector<Tensor>& inputs,
                                  const std::optional<IPUInfeedQueue>& infeed_queue = {});

}  // namespace loops

namespace pipelining_ops {

// What a pipeline minimises, and how.
struct OptimizerFunctionOutput {
  tf1::train::Optimizer optimizer;
  Tensor loss;
};

struct PipelineOptions {
  std::int64_t gradient_accumulation_count = 1;
  // The number of updates in one run.
  std::int64_t repeat_count = 1;
  std::optional<IPUInfeedQueue> infeed_queue = {};
  // Takes what the last stage returns for every micro-batch.
  std::optional<IPUOutfeedQueue> outfeed_queue = {};
  // Maps what the last stage returns to the loss to minimise; without it, the pipeline is for inference.
  Function<OptimizerFunctionOutput(const tf1::Outputs& outputs)> optimizer_function = {};
  PipelineSchedule pipeline_schedule = PipelineSchedule::Grouped;
  // The IPU of the replica that each stage runs on; stages may share one. If empty, stage i runs on IPU i; functions
  // for which there are not enough IPUs then become stages of about equal work, one for each IPU.
  std::vector<int> device_mapping = {};
  bool recomputation = false;
  GradientReduction reduction_method = GradientReduction::Sum;
};

// Each stage takes what the stage before it returns; the first takes the columns of the infeed queue. The number of
// replicas is as many as the device has IPUs for.
PANDO_API tf1::Operation pipeline(const std::vector<tf1::TracedFunction>& computational_stages,
                                  const PipelineOptions& options);

}  // namespace pipelining_ops

// The older way to say which IPUs are used.
namespace utils {

// A configuration without IPUs.
PANDO_API IPUConfig create_ipu_config();
// The configuration with that many IPUs.
PANDO_API IPUConfig auto_select_ipus(IPUConfig config, const Counts& num_ipus);
// The configuration with the IPUs of these numbers, each a device of its own.
PANDO_API IPUConfig select_ipus(IPUConfig config, const Counts& indices);
// The same as config.configure_ipu_system().
PANDO_API void configure_ipu_system(const IPUConfig& config);

}  // namespace utils

}  // namespace pando::ipu
