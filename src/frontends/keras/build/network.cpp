// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/build/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "report/terminal/table.h"

namespace pando::keras {

namespace {

using Call = std::shared_ptr<const Recording>;

const Call& call_of(const Tensor& tensor) {
  if (!is_recorded(tensor))
    throw Error("Model: its inputs and outputs must be made with keras::Input, not inside a traced computation");
  return tensor.state().recording;
}

// Collects calls, each after those that it uses, and how far each is from the outputs.
class Walk {
 public:
  explicit Walk(const std::vector<Tensor>& inputs) {
    for (const Tensor& input : inputs) inputs_.insert(call_of(input).get());
  }
  void visit(const Call& call) {
    if (!seen_.insert(call.get()).second) return;
    const bool is_input = inputs_.contains(call.get());
    if (!is_input && !call->function)
      throw Error(fmt::format(
          "Model: an output depends on the input '{}', which is not among the model's inputs; add it", call->name));
    if (!is_input)
      for (const Tensor& input : call->inputs) visit(call_of(input));
    order.push_back(call);
  }
  // The furthest first; among equals the order of the walk.
  std::vector<Call> by_distance() const {
    std::map<const Recording*, int> distance;
    for (auto call = order.rbegin(); call != order.rend(); ++call)
      if (!inputs_.contains(call->get()))
        for (const Tensor& input : (*call)->inputs) {
          int& other = distance[call_of(input).get()];
          other = std::max(other, distance[call->get()] + 1);
        }
    std::vector<Call> sorted = order;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const Call& a, const Call& b) { return distance[a.get()] > distance[b.get()]; });
    return sorted;
  }

  std::vector<Call> order;

 private:
  std::set<const Recording*> inputs_, seen_;
};

void add_layers(Network& network) {
  std::set<std::string> names;
  for (const Call& call : network.calls) {
    // The calls that made the model's inputs are not part of the model.
    const bool is_input = std::any_of(network.inputs.begin(), network.inputs.end(),
                                      [&](const Tensor& input) { return call_of(input) == call; });
    if (call->layer == nullptr || is_input) continue;
    const Layer layer = LayerAccess::layer_of(call->layer);
    if (std::find(network.layers.begin(), network.layers.end(), layer) != network.layers.end()) continue;
    if (!names.insert(layer.name()).second)
      throw Error(
          fmt::format("Model: two layers are named '{}'; the names of a model's layers must differ", layer.name()));
    network.layers.push_back(layer);
  }
}

}  // namespace

Network make_network(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  if (inputs.empty() || outputs.empty()) throw Error("Model: needs at least one input and one output");
  Walk walk(inputs);
  for (const Tensor& input : inputs) walk.visit(call_of(input));
  for (const Tensor& output : outputs) walk.visit(call_of(output));
  Network network{inputs, outputs, walk.by_distance(), {}};
  add_layers(network);
  return network;
}

void NetworkValues::set(const Tensor& tensor, Value value) {
  values_[{call_of(tensor).get(), tensor.state().output}] = value;
}
Value NetworkValues::operator[](const Tensor& tensor) const {
  return values_.at({call_of(tensor).get(), tensor.state().output});
}
void NetworkValues::run(const Recording& call) {
  std::vector<Value> arguments;
  for (const Tensor& input : call.inputs) arguments.push_back((*this)[input]);
  const std::vector<Value> results = call.function(trace_, arguments);
  for (std::size_t i = 0; i < results.size(); ++i) values_[{&call, static_cast<int>(i)}] = results[i];
}

std::vector<Value> trace_network(const Network& network, Trace& trace, const std::vector<Value>& inputs) {
  NetworkValues values(trace);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values.set(network.inputs[i], ops::cast(inputs[i], network.inputs[i].dtype()));
  for (const Call& call : network.calls)
    if (std::none_of(network.inputs.begin(), network.inputs.end(),
                     [&](const Tensor& input) { return call_of(input) == call; }))
      values.run(*call);
  std::vector<Value> outputs;
  for (const Tensor& output : network.outputs) outputs.push_back(values[output]);
  return outputs;
}

namespace {

std::string output_shape_text(const Recording& call) {
  std::vector<std::string> shapes;
  for (const Type& type : call.outputs) shapes.push_back(keras_shape(type.shape));
  // Keras shows the shapes of inputs, and of several outputs, as lists.
  return shapes.size() == 1 && call.function ? shapes[0] : fmt::format("[{}]", fmt::join(shapes, ", "));
}

std::vector<std::string> connections(const Recording& call, const std::vector<Call>& known) {
  std::vector<std::string> texts;
  for (const Tensor& input : call.inputs) {
    const Call& source = call_of(input);
    if (std::find(known.begin(), known.end(), source) != known.end())
      texts.push_back(fmt::format("{}[{}][{}]", source->name, source->call, input.state().output));
  }
  return texts;
}

// If calls follow one another and each is used once, the summary need not show what is connected to what.
bool is_chain(const Network& network) {
  for (std::size_t i = 1; i < network.calls.size(); ++i) {
    const Recording& call = *network.calls[i];
    if (call.inputs.size() != 1 || call_of(call.inputs[0]) != network.calls[i - 1]) return false;
  }
  return network.layers.size() + 1 == network.calls.size();
}

}  // namespace

std::vector<Shape> output_shapes(const Network& network, const Layer& layer) {
  std::vector<Shape> shapes;
  for (const Call& call : network.calls) {
    if (call->layer != LayerAccess::identity(layer)) continue;
    for (const Type& type : call->outputs) shapes.push_back(type.shape);
  }
  return shapes;
}

std::vector<SummaryRow> summary_rows(const Network& network, bool is_sequential) {
  std::vector<SummaryRow> rows;
  std::map<const void*, std::size_t> row_of_layer;
  for (const Call& call : network.calls) {
    if (is_sequential && !call->function) continue;
    const std::vector<std::string> connected = connections(*call, network.calls);
    const auto known = call->layer ? row_of_layer.find(call->layer.get()) : row_of_layer.end();
    if (known != row_of_layer.end()) {
      SummaryRow& row = rows[known->second];
      if (row.output_shape != output_shape_text(*call)) row.output_shape = "multiple";
      row.connected_to.insert(row.connected_to.end(), connected.begin(), connected.end());
      continue;
    }
    if (call->layer) row_of_layer[call->layer.get()] = rows.size();
    const std::int64_t parameters = call->layer ? LayerAccess::layer_of(call->layer).count_params() : 0;
    rows.push_back({call->name, call->kind, output_shape_text(*call), parameters, connected});
  }
  return rows;
}

SummaryTotals summary_totals(const Network& network) {
  std::vector<Parameter> all, trainable;
  SummaryTotals totals;
  for (const Layer& layer : network.layers) {
    for (const Parameter& parameter : layer.weights())
      if (std::find(all.begin(), all.end(), parameter) == all.end()) all.push_back(parameter);
    for (const Parameter& parameter : layer.trainable_weights())
      if (std::find(trainable.begin(), trainable.end(), parameter) == trainable.end()) trainable.push_back(parameter);
  }
  const auto bytes_of = [](const Parameter& parameter) {
    return static_cast<std::uint64_t>(parameter.shape().elements()) * size_of(parameter.type().dtype);
  };
  for (const Parameter& parameter : trainable) {
    totals.trainable += parameter.shape().elements();
    totals.trainable_bytes += bytes_of(parameter);
  }
  for (const Parameter& parameter : all) {
    totals.non_trainable += parameter.shape().elements();
    totals.non_trainable_bytes += bytes_of(parameter);
  }
  totals.non_trainable -= totals.trainable;
  totals.non_trainable_bytes -= totals.trainable_bytes;
  return totals;
}

std::string summary_of(const std::string& model, const Network& network, bool is_sequential,
                       const TableOutput& output) {
  return summary_text(model, summary_rows(network, is_sequential), summary_totals(network),
                      !is_sequential && !is_chain(network), output);
}

}  // namespace pando::keras
