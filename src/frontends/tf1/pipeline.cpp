#include <fmt/format.h>

#include <algorithm>

#include "frontends/ipu/placement.h"
#include "frontends/tf1/loops.h"
#include "frontends/tf1/train.h"
#include "model/stage_graphs.h"

namespace pando::tf1 {

namespace {

using ipu::pipelining_ops::OptimizerFunctionOutput;
using ipu::pipelining_ops::PipelineOptions;

std::string result_name(std::size_t index) { return fmt::format("output{}", index); }

class PipelineSegment final : public Segment {
 public:
  explicit PipelineSegment(const PipelineOptions& options) : options_(options) {}

  void trace(Tracer& tracer, const std::vector<TracedFunction>& functions);
  void finish(Computation& computation) override;
  void run(const Arrays& inputs) override;
  std::vector<Parameter> parameters() const override;

 private:
  struct Stage {
    TracedGraph traced;
    std::vector<Value> taken, given;
  };
  bool trains() const { return loss_.has_value(); }
  void set_loss(Trace& trace, const OptimizerFunctionOutput& loss);
  // Throws Error if there is nothing to train, or a variable that two stages would.
  void check_parameters() const;
  StageGraphs graphs_of(std::size_t stage, Computation& computation, const std::string& optimizer_name);
  std::int64_t rows() const { return options_.gradient_accumulation_count * options_.repeat_count; }

  PipelineOptions options_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<std::pair<std::string, Value>> results_;
  // Training has them.
  std::optional<OptimizerFunctionOutput> loss_;
  Value objective_;
  int replicas_ = 1;
  std::optional<ParallelProgram> program_;
};

void PipelineSegment::trace(Tracer& tracer, const std::vector<TracedFunction>& functions) {
  for (std::size_t s = 0; s < functions.size(); ++s) {
    auto stage = std::make_unique<Stage>();
    TracedGraph& traced = stage->traced;
    std::vector<Tensor> inputs;
    if (s == 0) {
      const auto& infeed = options_.infeed_queue->state();
      for (std::size_t i = 0; i < infeed->types.size(); ++i)
        inputs.emplace_back(traced.trace, ops::input(traced.graph, InfeedPorts::name(i), infeed->types[i].dtype,
                                                     infeed->types[i].shape));
    } else {
      for (const Value& value : stages_.back()->given) {
        const std::string name = fmt::format("activation/{}", inputs.size());
        stage->taken.push_back(ops::input(traced.graph, name, value.dtype(), value.shape()));
        inputs.emplace_back(traced.trace, stage->taken.back());
      }
    }
    const bool is_last = s + 1 == functions.size();
    tracer.trace(traced, nullptr, [&] {
      const Outputs outputs = functions[s](fmt::format("pipeline: stage {}", s), inputs);
      std::vector<Value> values;
      if (!outputs.tensors().empty()) values = values_in(traced.trace, "pipeline", outputs.tensors());
      if (!is_last) stage->given = values;
      else
        for (std::size_t i = 0; i < values.size(); ++i) results_.emplace_back(result_name(i), values[i]);
      if (is_last && options_.optimizer_function) set_loss(traced.trace, options_.optimizer_function(outputs));
    });
    stages_.push_back(std::move(stage));
  }
}

void PipelineSegment::set_loss(Trace& trace, const OptimizerFunctionOutput& loss) {
  objective_ = values_in(trace, "pipeline", {loss.loss})[0];
  if (objective_.shape().elements() != 1)
    throw Error(fmt::format("pipeline: the loss has shape {} but must be one number; use reduce_mean or reduce_sum",
                            to_string(objective_.shape())));
  loss_ = loss;
}

void PipelineSegment::check_parameters() const {
  std::vector<Parameter> trained;
  for (const Parameter& parameter : parameters()) {
    if (!parameter.trainable()) continue;
    if (std::find(trained.begin(), trained.end(), parameter) != trained.end())
      throw Error(
          fmt::format("pipeline: two stages use the variable '{}'; one stage alone can train it", parameter.name()));
    trained.push_back(parameter);
  }
  if (trained.empty()) throw Error("pipeline: the stages use no variable that can be trained");
}

StageGraphs PipelineSegment::graphs_of(std::size_t stage, Computation& computation, const std::string& optimizer_name) {
  Stage& own = *stages_[stage];
  const bool is_last = stage + 1 == stages_.size();
  Trace& trace = own.traced.trace;
  StageForward forward{.trace = trace, .is_last = is_last, .taken = own.taken, .given = own.given};
  if (is_last) forward.results = results_;
  if (!trains()) return inference_graphs(forward, computation.variables());
  if (is_last) forward.objective = objective_;
  for (const Parameter& parameter : trace.parameters())
    if (parameter.trainable()) forward.parameters.push_back(parameter);
  forward.count = ops::constant(own.traced.graph, Array::scalar(1.0F));
  return training_graphs(forward,
                         {.stage = static_cast<int>(stage),
                          .recomputation = options_.recomputation,
                          .sum = options_.reduction_method == ipu::GradientReduction::Sum,
                          .add_update =
                              [&](Trace& update, const std::vector<Value>& gradients) {
                                train::add_update(update, computation.variables(), loss_->optimizer, optimizer_name,
                                                  forward.parameters, gradients);
                              }},
                         computation.variables());
}

void PipelineSegment::finish(Computation& computation) {
  const Target& target = computation.target();
  const int count = static_cast<int>(stages_.size());
  ipu::check_placement("pipeline", target, count, options_.device_mapping);
  if (trains()) check_parameters();
  replicas_ = static_cast<int>(target.ipus.size()) / ipu::ipus_of_replica(count, options_.device_mapping);
  std::vector<StageGraphs> graphs;
  const std::string name = trains() ? computation.new_variable(loss_->optimizer.state().rule.name) : "";
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) graphs.push_back(graphs_of(stage, computation, name));
  program_.emplace(
      graphs, ipu::place_stages(target, count, options_.device_mapping), computation.variables(),
      ParallelOptions{.replicas = replicas_, .order = ipu::order_of(options_.pipeline_schedule), .training = trains()});
}

void PipelineSegment::run(const Arrays&) {
  const auto& infeed = options_.infeed_queue->state();
  infeed->check_initialised("run");
  const std::int64_t first = infeed->consumed(), group = options_.gradient_accumulation_count, total = rows();
  const std::int64_t replicas = replicas_, first_update = updates_, generation = infeed->generation();
  const InfeedPorts ports(program_->feeds(), infeed);
  const std::int64_t batch = infeed->types[0].shape.rank() > 0 ? infeed->types[0].shape[0] : 1;
  ParallelFeed feed(*program_, [=](std::int64_t row, std::span<std::byte* const> feeds) {
    if (row >= total) return false;
    for (std::int64_t r = 0; r < replicas; ++r) {
      const auto element = infeed->element(generation, first + row * replicas + r);
      if (!element) return false;
      ports.write(*element, first_update + row / group, (row % group * replicas + r) * batch,
                  feeds.subspan(static_cast<std::size_t>(r) * ports.count(), ports.count()));
    }
    return true;
  });
  const std::int64_t done = program_->run({.rows_per_update = trains() ? group : total,
                                           .updates = trains() ? options_.repeat_count : 1,
                                           .first_update = first_update},
                                          feed);
  infeed->consume(done * replicas);
  updates_ += (done + group - 1) / group;
  if (options_.outfeed_queue && done > 0 && !results_.empty()) {
    Arrays values;
    for (const auto& [name, value] : results_) {
      const Array result = program_->result(name);
      Shape shape = {done * replicas};
      for (std::int64_t size : value.shape()) shape.append(size);
      values.push_back(result.reshape(shape));
    }
    options_.outfeed_queue->state()->add(values);
  }
  infeed->check_complete("micro-batches", done * replicas, total * replicas);
}

std::vector<Parameter> PipelineSegment::parameters() const {
  std::vector<Parameter> list;
  for (const auto& stage : stages_)
    list.insert(list.end(), stage->traced.trace.parameters().begin(), stage->traced.trace.parameters().end());
  return list;
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
