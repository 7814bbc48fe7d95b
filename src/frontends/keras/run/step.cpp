// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/run/step.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontends/keras/build/optimizer_state.h"
#include "model/objective.h"
#include "model/sample_rows.h"
#include "model/update_rule.h"

namespace pando::keras {

namespace {

using NamedValues = std::vector<std::pair<std::string, Value>>;

// All axes but the first.
Integers axes_of_sample(Value value) {
  Integers axes;
  for (int axis = 1; axis < value.shape().rank(); ++axis) axes.push_back(axis);
  return axes;
}

// Traces a step. The work of a pipeline stage is traced within its scope, so that nodes know their stage; values made
// from the fed samples alone belong to no stage.
class StepTracer {
 public:
  StepTracer(const StepRequest& request, StepContext& context)
      : request_(request), context_(context), trace_(graph_, request.mode == Mode::train), values_(trace_) {}

  const Graph& trace() {
    add_samples();
    run_calls();
    if (request_.mode == Mode::predict) add_predictions();
    else add_goals();
    find_mixture();
    for (const auto& [name, value] : results_) graph_.add_output(name, value, true);
    if (request_.mode == Mode::train) add_update();
    return graph_;
  }

  ModelStep build() {
    trace();
    Division division = context_.division;
    division.batch_size = request_.batch_size;
    if (request_.mode != Mode::train) division.accumulation = 1;
    return {Step(trace_, context_.devices, division, context_.variables, feeds_, context_.options), request_,
            result_names(), mixture_};
  }

 private:
  int stages() const { return context_.division.stages.stages; }
  // One stage is not a pipeline.
  std::int32_t stage(int number) const { return stages() > 1 ? number : any_stage; }
  std::int32_t last_stage() const { return stage(stages() - 1); }

  void add_samples() {
    feeds_ = {.mask = mask_feed, .scale = scale_feed};
    mask_ = ops::input(graph_, mask_feed, DType::float32, {request_.batch_size});
    count_ = ops::reduce_sum(mask_);
    if (request_.mode != Mode::predict) trace_.set_sample_mask(mask_);
    const auto& inputs = context_.network.inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Type& fed = request_.inputs[i];
      const Value value = ops::input(graph_, input_feed(i), fed.dtype, joined({request_.batch_size}, fed.shape));
      values_.set(inputs[i], ops::cast(value, inputs[i].dtype()));
      feeds_.columns.push_back(input_feed(i));
    }
    for (std::size_t i = 0; i < request_.targets.size(); ++i) feeds_.columns.push_back(target_feed(i));
    add_weights();
  }

  // Samples that only fill the batch up weigh nothing.
  void add_weights() {
    weights_ = mask_;
    weight_sum_ = count_;
    if (!request_.weighted) return;
    feeds_.columns.push_back(weight_feed);
    weights_ = ops::input(graph_, weight_feed, DType::float32, {request_.batch_size}) * mask_;
    weight_sum_ = ops::reduce_sum(weights_);
  }

  void run_calls() {
    const TrainableLayers::Scope scope(context_.trainable);
    const auto& calls = context_.network.calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const bool is_input = std::any_of(context_.network.inputs.begin(), context_.network.inputs.end(),
                                        [&](const Tensor& input) { return input.state().recording == calls[i]; });
      if (is_input) continue;
      const Graph::StageScope stage_scope(graph_, stage(context_.division.stages.of_call[i]));
      values_.run(*calls[i]);
    }
    const std::vector<Parameter> trainable = context_.trainable.weights_of(context_.model);
    for (const Parameter& parameter : trace_.parameters())
      if (std::find(trainable.begin(), trainable.end(), parameter) != trainable.end()) parameters_.push_back(parameter);
  }

  void add_predictions() {
    const auto& outputs = context_.network.outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      results_.emplace_back(fmt::format("output{}", i), values_[outputs[i]]);
  }

  Value target_of(std::size_t index, Value output) {
    const Type& fed = request_.targets[index];
    const Value target = ops::input(graph_, target_feed(index), fed.dtype, joined({request_.batch_size}, fed.shape));
    const std::optional<Loss>& loss = context_.goals[index].loss;
    if (loss && loss->takes_labels()) return ops::cast(target, DType::int32);
    // A sample of shape () and one of shape (1,) are the same.
    if (target.shape().elements() == output.shape().elements())
      return ops::reshape(ops::cast(target, output.dtype()), output.shape());
    if (!loss || loss->targets() != losses::Targets::any) return ops::cast(target, output.dtype());
    const Value typed = ops::cast(target, is_floating(fed.dtype) ? output.dtype() : DType::int32);
    return fed.shape.rank() > 0 ? typed : ops::reshape(typed, {request_.batch_size, 1});
  }

  // A number for each sample, or one for the batch, which then counts once per sample: the sum of all.
  Value sum_of(Value value, Value weights, Value weight_sum) const {
    value = ops::cast(value, DType::float32);
    const Shape& shape = value.shape();
    if (shape.rank() == 0) return value * weight_sum;
    if (shape[0] != request_.batch_size) return ops::reduce_mean(value) * weight_sum;
    const Integers others = axes_of_sample(value);
    return ops::reduce_sum((others.empty() ? value : ops::reduce_mean(value, {.axes = others})) * weights);
  }

  // A loss that is a sum counts once per batch, so its sum over the samples of a batch is a multiple of it.
  Value sum_of_loss(const Loss& loss, Value output, Value target) const {
    Value value = loss(output, target);
    if (!loss.is_sum()) return sum_of(value, weights_, weight_sum_);
    if (value.shape().rank() == 0 && !request_.weighted) return sum_of(value, weights_, weight_sum_);
    if (const Integers others = axes_of_sample(value); !others.empty())
      value = ops::reduce_sum(value, {.axes = others});
    return sum_of(value, weights_, weight_sum_) * count_;
  }

  // The loss and the metrics, as sums over the samples.
  void add_goals() {
    add_penalties();
    const Graph::StageScope stage_scope(graph_, last_stage());
    const auto& outputs = context_.network.outputs;
    NamedValues losses, metrics;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const OutputGoals& goals = context_.goals[i];
      if (!goals.loss && goals.metrics.empty()) continue;
      const std::string prefix = outputs.size() > 1 ? goals.output + "_" : "";
      const Graph::Scope scope(graph_, prefix + "loss");
      const Value output = values_[outputs[i]], target = target_of(i, output);
      if (goals.loss) {
        const Value sum = sum_of_loss(*goals.loss, output, target);
        const Value weighed = goals.loss_weight == 1 ? sum : sum * goals.loss_weight;
        total_ = total_ ? total_ + weighed : weighed;
        losses.emplace_back(prefix + "loss", sum);
      }
      for (const Metric& metric : goals.metrics)
        metrics.emplace_back(prefix + metric.name(), sum_of(metric(output, target), mask_, count_));
    }
    for (const Value& term : trace_.losses()) {
      const Value sum = sum_of(term, mask_, count_);
      total_ = total_ ? total_ + sum : sum;
    }
    // Counted once per sample, so that the mean over all samples has the penalties once.
    results_.emplace_back("loss", penalty_ ? total_ + penalty_ * count_ : total_);
    if (outputs.size() > 1) results_.insert(results_.end(), losses.begin(), losses.end());
    results_.insert(results_.end(), metrics.begin(), metrics.end());
    results_.emplace_back(count_output, count_);
  }

  // Looks at the forward pass alone.
  void find_mixture() {
    const SampleRows rows(graph_, mask_, trace_.promised_rows());
    const auto mixes = [&](Value value) { return rows.of(value) == SampleRows::Dependence::mixed; };
    for (const auto& [name, value] : results_)
      if (mixture_.empty() && mixes(value)) mixture_ = name;
    for (const Assignment& assignment : graph_.assignments())
      if (mixture_.empty() && mixes(graph_.value(assignment.value))) mixture_ = graph_.node(assignment.variable).name;
  }

  // Each penalty is computed in the stage of its weight; the last stage adds them up.
  void add_penalties() {
    for_each_layer(context_.model, [&](const Layer& layer) {
      for (const LayerWeight& weight : LayerAccess::own_weights(layer)) {
        const Regularizer& regularizer = weight.regularizer;
        const auto& used = trace_.parameters();
        if (!regularizer || std::find(used.begin(), used.end(), weight.parameter) == used.end()) continue;
        const Graph::Scope layer_scope(graph_, layer.name()), scope(graph_, "regularizer");
        const Graph::StageScope stage_scope(graph_, trace_.stage_of(weight.parameter));
        const Value value = trace_.value_of(weight.parameter);
        Value term;
        const auto add = [&](Value other) { term = term ? term + other : other; };
        if (regularizer.l1() != 0) add(ops::reduce_sum(ops::abs(value)) * regularizer.l1());
        if (regularizer.l2() != 0) add(ops::reduce_sum(ops::square(value)) * regularizer.l2());
        if (!term) continue;
        penalties_.emplace_back(weight.parameter, term);
        const Graph::StageScope last_scope(graph_, last_stage());
        penalty_ = penalty_ ? penalty_ + term : term;
      }
    });
  }

  std::vector<Value> penalties_of_parameters() const {
    std::vector<Value> list;
    if (penalties_.empty()) return list;
    for (const Parameter& parameter : parameters_) {
      const auto found = std::find_if(penalties_.begin(), penalties_.end(),
                                      [&](const auto& entry) { return entry.first == parameter; });
      list.push_back(found != penalties_.end() ? found->second : Value());
    }
    return list;
  }

  void add_update() {
    const Optimizer::State& optimizer = context_.optimizer->state();
    const Value scale = ops::input(graph_, scale_feed, DType::float32, {});
    Objective objective{
        .count = count_,
        .penalties = penalties_of_parameters(),
        .reduction = context_.division.reduction == ipu::GradientReduction::Mean ? Reduction::mean : Reduction::sum,
        .spans = !context_.division.is_whole()};
    {
      const Graph::StageScope stage_scope(graph_, last_stage());
      objective.loss = total_ * scale;
    }
    const std::vector<Value> clipped =
        clip_gradients(update_gradients(trace_, objective, parameters_), optimizer.clipping);
    const Value step = trace_.update_number();
    const auto& schedule = optimizer.learning_rate.schedule();
    const Value rate = schedule ? schedule(ops::cast(step, DType::float32))
                                : ops::variable(graph_, rate_variable, DType::float32, {}, VariableRole::rate);
    apply_updates(trace_, context_.variables, optimizer.rule, rate, step, parameters_, clipped);
  }

  std::vector<std::string> result_names() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : results_)
      if (name != count_output) names.push_back(name);
    return names;
  }

  const StepRequest& request_;
  StepContext& context_;
  Graph graph_;
  Trace trace_;
  NetworkValues values_;
  // The weights of samples, and their sum, are the mask and the count if samples have none.
  Value mask_, count_, weights_, weight_sum_, total_, penalty_;
  std::vector<std::pair<Parameter, Value>> penalties_;
  std::vector<Parameter> parameters_;
  NamedValues results_;
  std::string mixture_;
  StepFeeds feeds_;
};

}  // namespace

std::string input_feed(std::size_t index) { return fmt::format("x{}", index); }
std::string target_feed(std::size_t index) { return fmt::format("y{}", index); }

ModelStep build_step(const StepRequest& request, StepContext& context) { return StepTracer(request, context).build(); }
Graph trace_step(const StepRequest& request, StepContext& context) { return StepTracer(request, context).trace(); }

}  // namespace pando::keras
