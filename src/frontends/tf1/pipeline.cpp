// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <numeric>

#include "frontends/ipu/placement.h"
#include "frontends/tf1/loops.h"
#include "frontends/tf1/train.h"
#include "graph/rewrite.h"
#include "model/balance_stages.h"
#include "model/explain.h"
#include "model/objective.h"

namespace pando::tf1 {

namespace {

using ipu::pipelining_ops::OptimizerFunctionOutput;
using ipu::pipelining_ops::PipelineOptions;

class PipelineSegment final : public LoopSegment {
 public:
  explicit PipelineSegment(const PipelineOptions& options)
      : LoopSegment(0, options.infeed_queue->state()), options_(options) {}

  void trace(Tracer& tracer, const std::vector<TracedFunction>& functions);
  void finish(Computation& computation) override;
  void run(const Arrays&) override { run_rows(rows(), "micro-batches"); }
  Explanation explain(const Target& target) const override;
  std::string stage_text(int stage) const override;

 private:
  bool trains() const { return loss_.has_value(); }
  void set_loss(const OptimizerFunctionOutput& loss);
  // Throws Error if there is nothing to train.
  std::vector<Parameter> trained() const;
  void add_update(Computation& computation);
  // Gives the functions to that many stages of about equal work.
  void balance(int stages);
  std::int64_t rows() const { return options_.gradient_accumulation_count * options_.repeat_count; }

  PipelineOptions options_;
  int stages_ = 0;
  std::vector<int> stage_of_function_;
  // Only training has these.
  std::optional<OptimizerFunctionOutput> loss_;
  Value objective_;
  int replicas_ = 1;
};

// The outputs of a stage are the inputs of the next.
void PipelineSegment::trace(Tracer& tracer, const std::vector<TracedFunction>& functions) {
  stages_ = static_cast<int>(functions.size());
  stage_of_function_.resize(functions.size());
  std::iota(stage_of_function_.begin(), stage_of_function_.end(), 0);
  std::vector<Tensor> tensors = infeed_tensors();
  for (int stage = 0; stage < stages_; ++stage) {
    const Graph::StageScope scope(traced.graph, stage);
    tracer.trace(traced, nullptr, [&] {
      const Outputs outputs =
          functions[static_cast<std::size_t>(stage)](fmt::format("pipeline: stage {}", stage), tensors);
      const bool is_last = stage + 1 == stages_;
      tensors.clear();
      if (!outputs.tensors().empty()) {
        const std::vector<Value> values = values_in(traced.trace, "pipeline", outputs.tensors());
        for (const Value& value : values) tensors.emplace_back(traced.trace, value);
        if (is_last) add_outfeed(options_.outfeed_queue ? options_.outfeed_queue->state() : nullptr, values);
      }
      if (is_last && options_.optimizer_function) set_loss(options_.optimizer_function(outputs));
    });
  }
}

void PipelineSegment::set_loss(const OptimizerFunctionOutput& loss) {
  objective_ = values_in(traced.trace, "pipeline", {loss.loss})[0];
  if (objective_.shape().elements() != 1)
    throw Error(fmt::format("pipeline: the loss has shape {} but must be one number; use reduce_mean or reduce_sum",
                            to_string(objective_.shape())));
  loss_ = loss;
}

std::vector<Parameter> PipelineSegment::trained() const {
  std::vector<Parameter> list;
  for (const Parameter& parameter : parameters())
    if (parameter.trainable()) list.push_back(parameter);
  if (list.empty()) throw Error("pipeline: the stages use no variable that can be trained");
  return list;
}

void PipelineSegment::balance(int stages) {
  ForwardPass forward{.graph = traced.graph};
  if (trains()) {
    forward.loss = objective_;
    for (const Parameter& parameter : trained()) forward.trained.push_back(traced.trace.value_of(parameter));
  }
  std::vector<double> work = work_of_parts(forward);
  // The last functions may do nothing.
  work.resize(stage_of_function_.size());
  stage_of_function_ = balance_stages(work, stages);
  GraphEditor::renumber_stages(traced.graph, stage_of_function_);
  stages_ = stages;
}

void PipelineSegment::add_update(Computation& computation) {
  const bool is_sum = options_.reduction_method == ipu::GradientReduction::Sum;
  const Objective objective{.loss = objective_,
                            .count = ops::constant(traced.graph, Array::scalar(1.0F)),
                            .reduction = is_sum ? Reduction::sum : Reduction::mean,
                            .spans = true};
  train::add_update(traced.trace, computation.variables(), loss_->optimizer,
                    computation.new_variable(loss_->optimizer.state().rule.name), trained(),
                    update_gradients(traced.trace, objective, trained()));
}

void PipelineSegment::finish(Computation& computation) {
  const Target& target = computation.target();
  const int ipus = static_cast<int>(target.ipus.size());
  if (options_.device_mapping.empty() && stages_ > ipus) balance(ipus);
  ipu::check_placement("pipeline", target, stages_, options_.device_mapping);
  replicas_ = ipus / ipu::ipus_of_replica(stages_, options_.device_mapping) * target.worker_count();
  if (trains()) add_update(computation);
  compile(computation, ipu::place_stages(target, stages_, options_.device_mapping),
          {.replicas = replicas_,
           .accumulation = trains() ? options_.gradient_accumulation_count : 1,
           .batch_size = infeed_->batch_size(),
           .order = ipu::order_of(options_.pipeline_schedule),
           .recomputation = options_.recomputation});
}

Explanation PipelineSegment::explain(const Target& target) const {
  Explanation explanation{.model = "pipeline",
                          .batch_size = infeed_->batch_size(),
                          .ipus = static_cast<int>(target.ipus.size()),
                          .replicas = replicas_,
                          .device_mapping = options_.device_mapping,
                          .gradient_accumulation = options_.gradient_accumulation_count,
                          .reduction = options_.reduction_method == ipu::GradientReduction::Sum ? "sum" : "mean",
                          .steps_per_execution = rows() * replicas_,
                          .tiles_per_ipu = target.ipus.front().tiles(),
                          .schedule = schedule_of(ipu::order_of(options_.pipeline_schedule), stages_, trains())};
  if (loss_) {
    const train::Optimizer::State& optimizer = loss_->optimizer.state();
    explanation.optimizer = optimizer.rule.name;
    explanation.learning_rate = optimizer.learning_rate;
    explanation.steps_grow_with_gradients = optimizer.rule.grows_with_gradients;
  }
  return explanation;
}

std::string PipelineSegment::stage_text(int stage) const {
  std::vector<std::string> functions;
  for (std::size_t i = 0; i < stage_of_function_.size(); ++i)
    if (stage_of_function_[i] == stage) functions.push_back(fmt::format("function {}", i));
  return layers_text(functions);
}

void check_options(std::size_t stages, const PipelineOptions& options) {
  if (stages == 0) throw Error("pipeline: there are no stages");
  if (!options.infeed_queue) throw Error("pipeline: there is no infeed_queue; the first stage takes its columns");
  if (options.gradient_accumulation_count < 1)
    throw Error(fmt::format("pipeline: gradient_accumulation_count is {} but must be at least 1",
                            options.gradient_accumulation_count));
  if (options.repeat_count < 1)
    throw Error(fmt::format("pipeline: repeat_count is {} but must be at least 1", options.repeat_count));
}

}  // namespace

}  // namespace pando::tf1

namespace pando::ipu::pipelining_ops {

tf1::Operation pipeline(const std::vector<tf1::TracedFunction>& computational_stages, const PipelineOptions& options) {
  tf1::Tracer& tracer = tf1::Tracer::current("pipeline");
  tracer.check_straight("pipeline");
  tf1::check_options(computational_stages.size(), options);
  auto segment = std::make_unique<tf1::PipelineSegment>(options);
  segment->trace(tracer, computational_stages);
  tracer.computation().segments().push_back(std::move(segment));
  tracer.begin_step();
  return {};
}

}  // namespace pando::ipu::pipelining_ops
