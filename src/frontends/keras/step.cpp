#include "frontends/keras/step.h"

#include <pando/gradients.h>

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "frontends/keras/optimizer_state.h"

namespace pando::keras {

namespace {

Shape with_batch(std::int64_t batch, const Shape& sample) {
  Shape shape = {batch};
  for (std::int64_t size : sample) shape.append(size);
  return shape;
}

// Grows the graph of one step.
class StepBuilder {
 public:
  StepBuilder(const StepRequest& request, StepContext& context)
      : request_(request), context_(context), trace_(graph_, request.mode == Mode::train) {}

  Step build() {
    if (request_.mode != Mode::predict) add_weights();
    std::vector<Value> inputs;
    for (std::size_t i = 0; i < request_.inputs.size(); ++i) inputs.push_back(feed(input_feed(i), request_.inputs[i]));
    outputs_ = trace_network(context_.network, trace_, inputs);
    if (request_.mode == Mode::predict) {
      for (std::size_t i = 0; i < outputs_.size(); ++i) report(fmt::format("output{}", i), outputs_[i]);
    } else {
      add_goals();
      if (request_.mode == Mode::train) add_update();
    }
    trace_.bind(context_.variables);
    return {request_, Program(graph_, context_.device, context_.variables), names_};
  }

 private:
  Value feed(const std::string& name, const Type& sample) {
    return ops::input(graph_, name, sample.dtype, with_batch(request_.batch_size, sample.shape));
  }

  void report(const std::string& name, Value value) {
    graph_.add_output(name, value, true);
    names_.push_back(name);
  }

  void add_weights() {
    weights_ = ops::input(graph_, weight_feed, DType::float32, {request_.batch_size});
    mask_ =
        request_.weighted ? ops::cast(ops::not_equal(weights_, ops::scalar(weights_, 0.0)), DType::float32) : weights_;
    trace_.set_sample_mask(mask_);
    count_ = ops::reduce_sum(mask_);
    graph_.add_output(count_output, count_, true);
  }

  Value target_of(std::size_t index) {
    const Value target = feed(target_feed(index), request_.targets[index]);
    const std::optional<Loss>& loss = context_.goals[index].loss;
    if (loss && loss->takes_labels()) return ops::cast(target, DType::int32);
    const Value same_type = ops::cast(target, outputs_[index].dtype());
    // A sample of shape () and one of shape (1,) are the same.
    const Shape& shape = outputs_[index].shape();
    return same_type.shape().elements() == shape.elements() ? ops::reshape(same_type, shape) : same_type;
  }

  void add_goals() {
    const bool several = outputs_.size() > 1;
    std::vector<std::pair<std::string, Value>> details;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const OutputGoals& goals = context_.goals[i];
      if (!goals.loss && goals.metrics.empty()) continue;
      const std::string prefix = several ? goals.output + "_" : "";
      const Graph::Scope scope(graph_, prefix + "loss");
      const Value target = target_of(i);
      if (goals.loss) {
        const Value sum = ops::reduce_sum((*goals.loss)(outputs_[i], target) * weights_);
        const Value weighed = goals.loss_weight == 1 ? sum : sum * goals.loss_weight;
        total_ = total_ ? total_ + weighed : weighed;
        if (several) details.emplace_back(prefix + "loss", sum);
      }
      for (const Metric& metric : goals.metrics)
        metrics_.emplace_back(prefix + metric.name(), ops::reduce_sum(metric(outputs_[i], target) * mask_));
    }
    add_penalties();
    report("loss", total_);
    for (const auto& [name, value] : details) report(name, value);
    for (const auto& [name, value] : metrics_) report(name, value);
  }

  // Counted once a sample, so that the mean over all samples has them once.
  void add_penalties() {
    Value penalty;
    const auto add = [&](Value term) { penalty = penalty ? penalty + term : term; };
    for_each_layer(context_.model, [&](const Layer& layer) {
      for (const LayerWeight& weight : LayerAccess::own_weights(layer)) {
        const Regularizer& regularizer = weight.regularizer;
        const Graph::Scope scope(graph_, layer.name() + "/regularizer");
        if (regularizer.l1() != 0) add(ops::reduce_sum(ops::abs(trace_.value_of(weight.parameter))) * regularizer.l1());
        if (regularizer.l2() != 0)
          add(ops::reduce_sum(ops::square(trace_.value_of(weight.parameter))) * regularizer.l2());
      }
    });
    if (penalty) total_ = total_ + penalty * count_;
  }

  void add_update() {
    const std::vector<Parameter> parameters = context_.model.trainable_weights();
    std::vector<Value> values;
    for (const Parameter& parameter : parameters) values.push_back(trace_.value_of(parameter));
    // The host knows how many samples the whole update has: 1 over that makes sums to means.
    const Value scale = ops::input(graph_, scale_feed, DType::float32, {});
    const Optimizer::State& optimizer = context_.optimizer->state();
    const std::vector<Value> clipped = clip_gradients(gradients(total_ * scale, values), optimizer.clipping);
    const Value step = ops::reshape(ops::slice(trace_.counter(), {0}, {1}), {});
    const auto& schedule = optimizer.learning_rate.schedule();
    const Value rate =
        schedule ? schedule(ops::cast(step, DType::float32)) : ops::variable(graph_, rate_variable, DType::float32, {});
    apply_updates(trace_, context_.variables, optimizer.rule, rate, step, parameters, clipped);
  }

  const StepRequest& request_;
  StepContext& context_;
  Graph graph_;
  Trace trace_;
  std::vector<Value> outputs_;
  Value weights_, mask_, count_, total_;
  std::vector<std::pair<std::string, Value>> metrics_;
  std::vector<std::string> names_;
};

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

Step build_step(const StepRequest& request, StepContext& context) { return StepBuilder(request, context).build(); }

}  // namespace pando::keras
