#include "frontends/keras/run/step.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "frontends/keras/build/optimizer_state.h"
#include "model/stage_graphs.h"

namespace pando::keras {

namespace {

Shape with_batch(std::int64_t batch, const Shape& shape, int first_axis) {
  Shape result = {batch};
  for (int axis = first_axis; axis < shape.rank(); ++axis) result.append(shape[axis]);
  return result;
}

// A stage of a step, or the whole of it, as one graph; parts of it become the programs.
class StepStage {
 public:
  StepStage(const StepRequest& request, StepContext& context, int stage)
      : request_(request),
        context_(context),
        stage_(stage),
        crossing_(boundaries(context.network, context.division.stages)),
        trace_(graph_, request.mode == Mode::train),
        values_(trace_) {
    weights_ = ops::input(graph_, weight_feed, DType::float32, {request_.batch_size});
    mask_ =
        request_.weighted ? ops::cast(ops::not_equal(weights_, ops::scalar(weights_, 0.0)), DType::float32) : weights_;
    count_ = ops::reduce_sum(mask_);
    if (request_.mode != Mode::predict) trace_.set_sample_mask(mask_);
    add_inputs();
    run_calls();
    if (request_.mode != Mode::predict) add_penalties();
    if (is_last()) add_results();
    else if (penalty_) report_penalty();
  }

  // The whole step with its update, for one device.
  Program whole() {
    for (const auto& [name, value] : results_) graph_.add_output(name, value, true);
    if (request_.mode == Mode::train) add_update(trace_, parameter_gradients(trace_, total_ * scale(), parameters_));
    trace_.bind(context_.variables);
    return Program(graph_, context_.devices.front(), context_.variables, {.precision = context_.precision});
  }

  // As part of a pipeline, or of a replica.
  StageGraphs divided() {
    StageForward forward{.trace = trace_, .is_last = is_last(), .results = results_, .count = count_};
    if (stage_ > 0) forward.taken = values_of(taken());
    if (!is_last()) forward.given = values_of(given());
    if (request_.mode != Mode::train) return inference_graphs(forward, context_.variables);
    if (const Value objective = is_last() ? total_ : penalty_) forward.objective = objective * scale();
    forward.parameters = parameters_;
    return training_graphs(forward,
                           {.stage = stage_,
                            .recomputation = context_.division.recomputation,
                            .sum = context_.division.reduction == ipu::GradientReduction::Sum,
                            .add_update = [this](Trace& trace, const auto& slopes) { add_update(trace, slopes); }},
                           context_.variables);
  }

  std::vector<std::string> result_names() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : results_)
      if (name != count_output) names.push_back(name);
    return names;
  }

 private:
  bool is_last() const { return stage_ + 1 == context_.division.stages.stages; }
  const std::vector<Tensor>& taken() const { return crossing_[static_cast<std::size_t>(stage_ - 1)]; }
  const std::vector<Tensor>& given() const { return crossing_[static_cast<std::size_t>(stage_)]; }
  Value scale() {
    if (!scale_) scale_ = ops::input(graph_, scale_feed, DType::float32, {});
    return scale_;
  }

  void add_inputs() {
    const auto& inputs = context_.network.inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Type& fed = request_.inputs[i];
      const Value value = ops::input(graph_, input_feed(i), fed.dtype, with_batch(request_.batch_size, fed.shape, 0));
      values_.set(inputs[i], ops::cast(value, inputs[i].dtype()));
    }
    if (stage_ == 0) return;
    for (std::size_t i = 0; i < taken().size(); ++i)
      values_.set(taken()[i], ops::input(graph_, fmt::format("activation/{}", i), taken()[i].dtype(),
                                         with_batch(request_.batch_size, taken()[i].shape(), 1)));
  }

  void run_calls() {
    const TrainableLayers::Scope scope(context_.trainable);
    const auto& calls = context_.network.calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const bool is_input = std::any_of(context_.network.inputs.begin(), context_.network.inputs.end(),
                                        [&](const Tensor& input) { return input.state().recording == calls[i]; });
      if (!is_input && context_.division.stages.of_call[i] == stage_) values_.run(*calls[i]);
    }
    const std::vector<Parameter> trainable = context_.trainable.weights_of(context_.model);
    for (const Parameter& parameter : trace_.parameters())
      if (std::find(trainable.begin(), trainable.end(), parameter) != trainable.end()) parameters_.push_back(parameter);
  }

  std::vector<Value> values_of(const std::vector<Tensor>& tensors) const {
    std::vector<Value> values;
    for (const Tensor& tensor : tensors) values.push_back(values_[tensor]);
    return values;
  }

  Value target_of(std::size_t index, Value output) {
    const Type& fed = request_.targets[index];
    const Value target =
        ops::input(graph_, target_feed(index), fed.dtype, with_batch(request_.batch_size, fed.shape, 0));
    const std::optional<Loss>& loss = context_.goals[index].loss;
    if (loss && loss->takes_labels()) return ops::cast(target, DType::int32);
    const Value same_type = ops::cast(target, output.dtype());
    // A sample of shape () and one of shape (1,) are the same.
    return same_type.shape().elements() == output.shape().elements() ? ops::reshape(same_type, output.shape())
                                                                     : same_type;
  }

  void add_results() {
    const auto& outputs = context_.network.outputs;
    if (request_.mode == Mode::predict) {
      for (std::size_t i = 0; i < outputs.size(); ++i)
        results_.emplace_back(fmt::format("output{}", i), values_[outputs[i]]);
      return;
    }
    std::vector<std::pair<std::string, Value>> losses, metrics;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const OutputGoals& goals = context_.goals[i];
      if (!goals.loss && goals.metrics.empty()) continue;
      const std::string prefix = outputs.size() > 1 ? goals.output + "_" : "";
      const Graph::Scope scope(graph_, prefix + "loss");
      const Value output = values_[outputs[i]], target = target_of(i, output);
      if (goals.loss) {
        const Value sum = ops::reduce_sum((*goals.loss)(output, target) * weights_);
        const Value weighed = goals.loss_weight == 1 ? sum : sum * goals.loss_weight;
        total_ = total_ ? total_ + weighed : weighed;
        losses.emplace_back(prefix + "loss", sum);
      }
      for (const Metric& metric : goals.metrics)
        metrics.emplace_back(prefix + metric.name(), ops::reduce_sum(metric(output, target) * mask_));
    }
    if (penalty_) total_ = total_ + penalty_;
    results_.emplace_back("loss", total_);
    if (outputs.size() > 1) results_.insert(results_.end(), losses.begin(), losses.end());
    results_.insert(results_.end(), metrics.begin(), metrics.end());
    results_.emplace_back(count_output, count_);
  }

  // Of the stage's own layers; counted once a sample, so that the mean over all samples has them once.
  void add_penalties() {
    const auto add = [&](Value term) { penalty_ = penalty_ ? penalty_ + term : term; };
    for_each_layer(context_.model, [&](const Layer& layer) {
      for (const LayerWeight& weight : LayerAccess::own_weights(layer)) {
        const Regularizer& regularizer = weight.regularizer;
        const auto& used = trace_.parameters();
        if (!regularizer || std::find(used.begin(), used.end(), weight.parameter) == used.end()) continue;
        const Graph::Scope scope(graph_, layer.name() + "/regularizer");
        const Value value = trace_.value_of(weight.parameter);
        if (regularizer.l1() != 0) add(ops::reduce_sum(ops::abs(value)) * regularizer.l1());
        if (regularizer.l2() != 0) add(ops::reduce_sum(ops::square(value)) * regularizer.l2());
      }
    });
    if (penalty_) penalty_ = penalty_ * count_;
  }

  void report_penalty() { results_.emplace_back(fmt::format("penalty{}", stage_), penalty_); }

  void add_update(Trace& trace, const std::vector<Value>& slopes) {
    const Optimizer::State& optimizer = context_.optimizer->state();
    const std::vector<Value> clipped = clip_gradients(slopes, optimizer.clipping);
    const Value step = trace.update_number();
    const auto& schedule = optimizer.learning_rate.schedule();
    const Value rate = schedule ? schedule(ops::cast(step, DType::float32))
                                : ops::variable(trace.graph(), rate_variable, DType::float32, {});
    apply_updates(trace, context_.variables, optimizer.rule, rate, step, parameters_, clipped);
  }

  const StepRequest& request_;
  StepContext& context_;
  const int stage_;
  const std::vector<std::vector<Tensor>> crossing_;
  Graph graph_;
  Trace trace_;
  NetworkValues values_;
  Value weights_, mask_, count_, scale_, total_, penalty_;
  std::vector<Parameter> parameters_;
  std::vector<std::pair<std::string, Value>> results_;
};

Step build_divided(const StepRequest& request, StepContext& context) {
  const Division& division = context.division;
  if (request.mode == Mode::train && division.stages.stages > 1 && context.optimizer->state().clipping.global_norm)
    throw Error(
        "global_clipnorm needs the gradients of all layers at once, which no stage of a pipeline has; use clipnorm");
  std::vector<StageGraphs> stages;
  Step step{.request = request, .names = {}};
  for (int stage = 0; stage < division.stages.stages; ++stage) {
    StepStage builder(request, context, stage);
    stages.push_back(builder.divided());
    std::vector<std::string>& names = stage + 1 == division.stages.stages ? step.names : step.penalties;
    for (const std::string& name : builder.result_names()) names.push_back(name);
  }
  step.parallel.emplace(stages, context.devices, context.variables,
                        ParallelOptions{.replicas = division.replicas,
                                        .order = division.order,
                                        .training = request.mode == Mode::train,
                                        .precision = context.precision});
  return step;
}

std::vector<std::string> output_names(const Network& network) {
  std::vector<std::string> names;
  for (const Tensor& output : network.outputs) names.push_back(output.state().recording->name);
  return names;
}

template <class Map>
void check_output_names(const Map& by_name, const std::vector<std::string>& known, const char* what) {
  for (const auto& [name, value] : by_name)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error(fmt::format("compile: {} for an {}", what, unknown_name("output", name, known)));
}

}  // namespace

std::string input_feed(std::size_t index) { return fmt::format("x{}", index); }
std::string target_feed(std::size_t index) { return fmt::format("y{}", index); }

std::vector<OutputGoals> make_goals(const Network& network, const CompileOptions& options) {
  const std::vector<std::string> names = output_names(network);
  const std::vector<Loss>& losses = options.loss.list();
  if (losses.size() > 1 && losses.size() != names.size())
    throw Error(fmt::format("compile: the model has {} outputs but {} losses were given; give one for each",
                            names.size(), losses.size()));
  if (!options.loss_weights.empty() && options.loss_weights.size() != names.size())
    throw Error(fmt::format("compile: the model has {} outputs but {} loss_weights were given; give one for each",
                            names.size(), options.loss_weights.size()));
  check_output_names(options.loss.by_name(), names, "a loss");
  check_output_names(options.metrics.by_name(), names, "metrics");
  std::vector<OutputGoals> goals;
  for (std::size_t i = 0; i < names.size(); ++i) {
    OutputGoals goal{names[i], {}, 1.0, options.metrics.list()};
    if (!losses.empty()) goal.loss = losses[losses.size() == 1 ? 0 : i];
    if (const auto found = options.loss.by_name().find(names[i]); found != options.loss.by_name().end())
      goal.loss = found->second;
    if (!options.loss_weights.empty()) goal.loss_weight = options.loss_weights[i];
    if (const auto found = options.metrics.by_name().find(names[i]); found != options.metrics.by_name().end())
      goal.metrics = found->second;
    goals.push_back(std::move(goal));
  }
  return goals;
}

Step build_step(const StepRequest& request, StepContext& context) {
  const bool whole = request.mode == Mode::train
                         ? context.division.is_whole()
                         : context.division.replicas == 1 && context.division.stages.stages == 1;
  if (!whole) return build_divided(request, context);
  StepStage builder(request, context, 0);
  Step step{.request = request, .names = builder.result_names()};
  step.program.emplace(builder.whole());
  return step;
}

}  // namespace pando::keras
