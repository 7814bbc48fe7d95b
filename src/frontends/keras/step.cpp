#include "frontends/keras/step.h"

#include <pando/gradients.h>

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "frontends/keras/optimizer_state.h"
#include "training/divide.h"

namespace pando::keras {

namespace {

Shape with_batch(std::int64_t batch, const Shape& shape, int first_axis) {
  Shape result = {batch};
  for (int axis = first_axis; axis < shape.rank(); ++axis) result.append(shape[axis]);
  return result;
}

std::string port(const char* kind, std::size_t number) { return fmt::format("{}/{}", kind, number); }

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
    forward_nodes_ = graph_.nodes().size();
  }

  // The whole step with its update, for one device.
  Program whole() {
    for (const auto& [name, value] : results_) graph_.add_output(name, value, true);
    if (request_.mode == Mode::train) {
      const std::vector<Value> slopes = gradients(total_ * scale(), parameter_values());
      add_update(trace_, slopes);
    }
    trace_.bind(context_.variables);
    return Program(graph_, context_.devices.front(), context_.variables);
  }

  // As part of a pipeline, or of a replica.
  StageGraphs divided() {
    StageGraphs graphs;
    if (request_.mode == Mode::train) {
      const std::vector<Value> slopes = differentiate();
      const bool keeps = !is_last() && !context_.division.recomputation;
      const std::vector<Value> stash = keeps ? values_across(graph_, forward_nodes_) : std::vector<Value>();
      if (!is_last()) graphs.forward = forward_part(stash);
      graphs.backward_first = backward_part(stash, slopes, true);
      graphs.backward_next = backward_part(stash, slopes, false);
      graphs.update = update_part();
      for (const Parameter& parameter : parameters_) graphs.gradients.push_back(accumulator_name(parameter.name()));
      graphs.gradients.push_back(count_accumulator());
      for (const Assignment& assignment : graph_.assignments())
        graphs.statistics.push_back(graph_.node(assignment.variable).attributes.text("name"));
    } else {
      graphs.forward = forward_part({});
    }
    trace_.bind(context_.variables);
    return graphs;
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
      values_.set(taken()[i], ops::input(graph_, port("activation", i), taken()[i].dtype(),
                                         with_batch(request_.batch_size, taken()[i].shape(), 1)));
  }

  void run_calls() {
    const auto& calls = context_.network.calls;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const bool is_input = std::any_of(context_.network.inputs.begin(), context_.network.inputs.end(),
                                        [&](const Tensor& input) { return input.state().recording == calls[i]; });
      if (!is_input && context_.division.stages.of_call[i] == stage_) values_.run(*calls[i]);
    }
    const std::vector<Parameter> trainable = context_.model.trainable_weights();
    for (const Parameter& parameter : trace_.parameters())
      if (std::find(trainable.begin(), trainable.end(), parameter) != trainable.end()) parameters_.push_back(parameter);
  }

  std::vector<Value> parameter_values() {
    std::vector<Value> values;
    for (const Parameter& parameter : parameters_) values.push_back(trace_.value_of(parameter));
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

  // The gradients of the parameters, then of the activations that are taken.
  std::vector<Value> differentiate() {
    std::vector<Value> values = parameter_values(), outputs, output_gradients;
    if (stage_ > 0)
      for (const Tensor& tensor : taken())
        if (is_floating(tensor.dtype())) values.push_back(values_[tensor]);
    const auto add = [&](Value output, Value gradient) {
      outputs.push_back(output);
      output_gradients.push_back(gradient);
    };
    if (is_last()) add(total_ * scale(), ops::scalar(total_, 1.0));
    else {
      if (penalty_) add(penalty_ * scale(), ops::scalar(penalty_, 1.0));
      for (std::size_t i = 0; i < given().size(); ++i) {
        const Value value = values_[given()[i]];
        if (is_floating(value.dtype()))
          add(value, ops::input(graph_, port("gradient", i), value.dtype(), value.shape()));
      }
    }
    return gradients(outputs, output_gradients, values);
  }

  void add_assignments(GraphPart& part) {
    for (const Assignment& assignment : graph_.assignments())
      part.assign(graph_.value(assignment.variable), graph_.value(assignment.value));
  }

  Graph forward_part(const std::vector<Value>& stash) {
    GraphPart part(graph_);
    if (!is_last())
      for (std::size_t i = 0; i < given().size(); ++i) part.add_output(port("activation", i), values_[given()[i]]);
    for (std::size_t i = 0; i < stash.size(); ++i) part.add_output(port("stash", i), stash[i]);
    for (const auto& [name, value] : results_) part.add_output(name, value);
    add_assignments(part);
    return part.finish();
  }

  static std::string accumulator_name(const std::string& parameter) { return "gradient_sum/" + parameter; }
  std::string count_accumulator() const { return fmt::format("gradient_sum/sample_count/{}", stage_); }

  Graph backward_part(const std::vector<Value>& stash, const std::vector<Value>& slopes, bool first) {
    const auto accumulated = [&](const std::string& name, Value value) {
      const Value sum = ops::variable(graph_, name, value.dtype(), value.shape());
      return std::pair{sum, first ? value : sum + value};
    };
    std::vector<std::pair<Value, Value>> sums;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      sums.push_back(accumulated(accumulator_name(parameters_[i].name()), slopes[i]));
    sums.push_back(accumulated(count_accumulator(), count_));
    GraphPart part(graph_);
    for (std::size_t i = 0; i < stash.size(); ++i) part.cut(stash[i], port("stash", i));
    for (const auto& [sum, value] : sums) part.assign(sum, value);
    if (stage_ > 0)
      for (std::size_t i = 0, slope = parameters_.size(); i < taken().size(); ++i)
        if (is_floating(taken()[i].dtype())) part.add_output(port("gradient", i), slopes[slope++]);
    if (is_last()) {
      for (const auto& [name, value] : results_) part.add_output(name, value);
      add_assignments(part);
    }
    return part.finish();
  }

  Graph update_part() {
    Graph graph;
    Trace trace(graph, true);
    const Value count = ops::variable(graph, count_accumulator(), DType::float32, {});
    const Value share = 1.0 / ops::maximum(count, ops::scalar(count, 1.0));
    std::vector<Value> slopes;
    for (const Parameter& parameter : parameters_) {
      const Value sum =
          ops::variable(graph, accumulator_name(parameter.name()), parameter.type().dtype, parameter.shape());
      slopes.push_back(context_.division.sum_of_means ? sum : sum * share);
    }
    add_update(trace, slopes);
    trace.bind(context_.variables);
    return graph;
  }

  void add_update(Trace& trace, const std::vector<Value>& slopes) {
    const Optimizer::State& optimizer = context_.optimizer->state();
    const std::vector<Value> clipped = clip_gradients(slopes, optimizer.clipping);
    const Value step = ops::reshape(ops::slice(trace.counter(), {0}, {1}), {});
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
  std::size_t forward_nodes_ = 0;
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
  step.parallel.emplace(
      stages, context.devices, context.variables,
      ParallelOptions{.replicas = division.replicas, .order = division.order, .training = request.mode == Mode::train});
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
