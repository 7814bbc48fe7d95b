#include "model/stage_graphs.h"

#include <pando/autodiff/gradients.h>

#include <fmt/format.h>

#include "model/divide.h"

namespace pando {

namespace {

std::string port(const char* kind, std::size_t number) { return fmt::format("{}/{}", kind, number); }

std::vector<Value> values_of(Trace& trace, const std::vector<Parameter>& parameters) {
  std::vector<Value> values;
  for (const Parameter& parameter : parameters) values.push_back(trace.value_of(parameter));
  return values;
}

std::string accumulator_name(const std::string& parameter) { return "gradient_sum/" + parameter; }

class StageBuilder {
 public:
  StageBuilder(const StageForward& forward, const StageTraining& training)
      : forward_(forward),
        training_(training),
        graph_(forward.trace.graph()),
        count_accumulator_(fmt::format("gradient_sum/count/{}", training.stage)) {}

  StageGraphs train(Variables& variables) {
    const std::size_t forward_nodes = graph_.nodes().size();
    differentiate();
    const bool keeps = !forward_.is_last && !training_.recomputation;
    if (keeps) stash_ = values_across(graph_, forward_nodes);
    StageGraphs graphs;
    if (!forward_.is_last) graphs.forward = forward_part();
    graphs.backward_first = backward_part(true);
    graphs.backward_next = backward_part(false);
    graphs.update = update_part(variables);
    for (const Parameter& parameter : forward_.parameters)
      graphs.gradients.push_back(accumulator_name(forward_.trace.name_of(parameter)));
    graphs.gradients.push_back(count_accumulator_);
    for (const Assignment& assignment : graph_.assignments())
      graphs.statistics.push_back(graph_.node(assignment.variable).attributes.text("name"));
    return graphs;
  }

  Graph forward_part() {
    Graph graph;
    GraphPart part(graph_, graph);
    if (!forward_.is_last)
      for (std::size_t i = 0; i < forward_.given.size(); ++i) part.add_output(port("activation", i), forward_.given[i]);
    for (std::size_t i = 0; i < stash_.size(); ++i) part.add_output(port("stash", i), stash_[i]);
    add_results(part);
    return graph;
  }

 private:
  void add_results(GraphPart& part) {
    for (const auto& [name, value] : forward_.results) part.add_output(name, value);
    for (const Assignment& assignment : graph_.assignments())
      part.assign(graph_.value(assignment.variable), graph_.value(assignment.value));
  }

  // The gradients of the parameters, then of the activations that are taken.
  void differentiate() {
    std::vector<Value> values = values_of(forward_.trace, forward_.parameters), outputs, output_gradients;
    for (const Value& value : forward_.taken)
      if (is_floating(value.dtype())) values.push_back(value);
    if (forward_.objective) {
      outputs.push_back(forward_.objective);
      output_gradients.push_back(ops::scalar(forward_.objective, 1.0));
    }
    for (std::size_t i = 0; i < forward_.given.size(); ++i) {
      const Value value = forward_.given[i];
      if (!is_floating(value.dtype())) continue;
      outputs.push_back(value);
      output_gradients.push_back(ops::input(graph_, port("gradient", i), value.dtype(), value.shape()));
    }
    slopes_ = gradients(outputs, output_gradients, values);
  }

  Graph backward_part(bool first) {
    const auto accumulated = [&](const std::string& name, Value value) {
      const Value sum = ops::variable(graph_, name, value.dtype(), value.shape());
      return std::pair{sum, first ? value : sum + value};
    };
    const auto& parameters = forward_.parameters;
    std::vector<std::pair<Value, Value>> sums;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      sums.push_back(accumulated(accumulator_name(forward_.trace.name_of(parameters[i])), slopes_[i]));
    sums.push_back(accumulated(count_accumulator_, forward_.count));
    Graph graph;
    GraphPart part(graph_, graph);
    for (std::size_t i = 0; i < stash_.size(); ++i) part.cut(stash_[i], port("stash", i));
    for (const auto& [sum, value] : sums) part.assign(sum, value);
    for (std::size_t i = 0, slope = parameters.size(); i < forward_.taken.size(); ++i)
      if (is_floating(forward_.taken[i].dtype())) part.add_output(port("gradient", i), slopes_[slope++]);
    if (forward_.is_last) add_results(part);
    return graph;
  }

  Graph update_part(Variables& variables) {
    Graph graph;
    Trace trace(graph, true);
    const Value count = ops::variable(graph, count_accumulator_, DType::float32, {});
    const Value share = 1.0 / ops::maximum(count, ops::scalar(count, 1.0));
    std::vector<Value> slopes;
    for (const Parameter& parameter : forward_.parameters) {
      const std::string& name = forward_.trace.name_of(parameter);
      trace.set_name(parameter, name);
      const Value sum = ops::variable(graph, accumulator_name(name), parameter.type().dtype, parameter.shape());
      slopes.push_back(training_.sum ? sum : sum * share);
    }
    training_.add_update(trace, slopes);
    trace.bind(variables);
    return graph;
  }

  const StageForward& forward_;
  const StageTraining& training_;
  Graph& graph_;
  const std::string count_accumulator_;
  std::vector<Value> slopes_, stash_;
};

}  // namespace

StageGraphs training_graphs(const StageForward& forward, const StageTraining& training, Variables& variables) {
  StageGraphs graphs = StageBuilder(forward, training).train(variables);
  forward.trace.bind(variables);
  return graphs;
}

StageGraphs inference_graphs(const StageForward& forward, Variables& variables) {
  StageGraphs graphs{.forward = StageBuilder(forward, {}).forward_part()};
  forward.trace.bind(variables);
  return graphs;
}

std::vector<Value> parameter_gradients(Trace& trace, Value objective, const std::vector<Parameter>& parameters) {
  return gradients(objective, values_of(trace, parameters));
}

}  // namespace pando
