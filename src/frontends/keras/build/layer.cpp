// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/build/layer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/text.h"
#include "frontends/keras/files/memory_limit.h"
#include "frontends/keras/build/names.h"
#include "frontends/keras/build/trainable_layers.h"
#include "pando/base/random.h"
#include "model/tensor.h"

namespace pando::keras {

namespace {

// Names become parts of variable names and of lines of the text form.
void check_name(const std::string& name) {
  const bool good = std::all_of(name.begin(), name.end(), [](char c) {
    return ascii::is_letter_or_digit(c) || c == '_' || c == '-' || c == '.' || c == '/';
  });
  if (!good)
    throw Error(
        fmt::format("the layer name '{}' has a character that is not a letter, digit, '_', '-', '.' or '/'", name));
}

std::vector<Shape> shapes_of(const std::vector<Tensor>& tensors) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  return shapes;
}

// Ends with the call, also if that throws and the layer around it goes on.
class TrainingScope {
 public:
  TrainingScope(Trace& trace, std::optional<bool> training) : trace_(trace), around_(trace.training()) {
    trace_.set_training(training.value_or(around_));
  }
  ~TrainingScope() { trace_.set_training(around_); }
  TrainingScope(const TrainingScope&) = delete;
  TrainingScope& operator=(const TrainingScope&) = delete;

 private:
  Trace& trace_;
  bool around_;
};

std::vector<Array> values_of(const std::vector<Parameter>& parameters) {
  std::vector<Array> values;
  for (const Parameter& parameter : parameters) values.push_back(parameter.value());
  return values;
}

}  // namespace

std::string keras_shape(const Shape& shape) {
  std::vector<std::string> sizes;
  for (std::int64_t size : shape) sizes.push_back(size == -1 ? "None" : fmt::format("{}", size));
  return fmt::format("({}{})", join(sizes, ", "), sizes.size() == 1 ? "," : "");
}

void for_each_layer(const Layer& layer, const Function<void(const Layer&)>& visit) {
  visit(layer);
  for (const Layer& inner : layer.body().layers()) for_each_layer(inner, visit);
}

void LayerBuild::add_weight(const std::string& name, const Shape& shape, const WeightOptions& options) {
  Layer::State& state = *layer_.state_;
  // Each weight has its own random numbers.
  const std::uint64_t key = state.key + state.weights.size();
  charge_memory(shape);
  state.weights.push_back(
      {Parameter(fmt::format("{}/{}", state.name, name), options.initializer(shape, key), options.trainable),
       options.regularizer});
}

bool LayerCall::trainable() const { return TrainableLayers::current_contain(layer_); }
Value LayerCall::weight(std::size_t index) const {
  return trace_.current_value_of(layer_.state_->weights.at(index).parameter);
}
void LayerCall::assign(std::size_t index, Value value) const {
  trace_.assign_statistic(layer_.state_->weights.at(index).parameter, value);
}
ops::RandomOptions LayerCall::random() {
  const auto seed = static_cast<std::int64_t>(layer_.state_->key);
  return {.seed = seed, .stream = trace_.next_stream(seed)};
}

void LayerBody::build(LayerBuild&, const std::vector<Shape>&) {}
void LayerBody::undo_build() {}
std::vector<Layer> LayerBody::layers() const { return {}; }
void LayerBody::describe(ConfigFields&) const {
  throw Error("its class is not one of Keras's, and a file cannot hold its code; save the weights, and make it again");
}

Layer::Layer(std::shared_ptr<LayerBody> body, const std::string& name)
    : state_(new State{.body = std::move(body), .name = name, .key = next_random_key()}) {
  check_name(name);
  if (name.empty()) state_->name = unique_name(snake_case(state_->body->kind()));
}

const std::string& Layer::name() const { return state_->name; }
std::string Layer::kind() const { return state_->body->kind(); }
bool Layer::built() const { return state_->built; }
const std::vector<Shape>& Layer::built_for() const { return state_->input_shapes; }
LayerBody& Layer::body() const { return *state_->body; }
bool Layer::trainable() const { return state_->trainable; }

void Layer::set_trainable(bool trainable) const {
  for_each_layer(*this, [&](const Layer& layer) { layer.state_->trainable = trainable; });
}

void Layer::check_inputs(const std::vector<Shape>& inputs) const {
  const auto wanted = static_cast<std::size_t>(body().input_count());
  if (wanted != 0 && inputs.size() != wanted)
    throw Error(fmt::format("layer '{}' ({}) takes {} input{} but was called on {}", name(), kind(), wanted,
                            wanted == 1 ? "" : "s", inputs.size()));
  const int rank = body().input_rank();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (rank != 0 && inputs[i].rank() != rank)
      throw Error(
          fmt::format("layer '{}' ({}) takes an input of {} axes, the batch among them, but was called on {}; "
                      "insert a Reshape",
                      name(), kind(), rank, keras_shape(inputs[i])));
    if (built() && !state_->weights.empty() && i < state_->input_shapes.size()) {
      // Only the last axis, for which the weights were made, must stay the same.
      const Shape &now = inputs[i], &then = state_->input_shapes[i];
      if (now.rank() > 0 && then.rank() > 0 && now[now.rank() - 1] != then[then.rank() - 1])
        throw Error(
            fmt::format("layer '{}' ({}) was built for an input of shape {} and cannot take one of shape {}; "
                        "use a new layer",
                        name(), kind(), keras_shape(then), keras_shape(now)));
    }
  }
}

void Layer::build(const std::vector<Shape>& inputs) const {
  check_inputs(inputs);
  if (built()) return;
  Layer self = *this;
  LayerBuild build(self);
  try {
    // Inner layers that were built before the mistake are not built, either.
    BuildScope scope;
    body().build(build, inputs);
    scope.keep();
  } catch (const Error& error) {
    undo_build();
    throw Error(fmt::format("layer '{}' ({}): {}", name(), kind(), error.what()));
  } catch (...) {
    undo_build();
    throw;
  }
  state_->input_shapes = inputs;
  state_->built = true;
  BuildScope::note(*this);
}

void Layer::undo_build() const {
  state_->weights.clear();
  state_->input_shapes.clear();
  state_->built = false;
  body().undo_build();
}

namespace {

thread_local BuildScope* build_scope = nullptr;

}  // namespace

BuildScope::BuildScope() : outer_(build_scope) { build_scope = this; }

BuildScope::~BuildScope() {
  build_scope = outer_;
  for (const Layer& layer : built_)
    if (!keeps_) layer.undo_build();
    else note(layer);
}

void BuildScope::note(const Layer& layer) {
  if (build_scope != nullptr) build_scope->built_.push_back(layer);
}

std::vector<Value> Layer::trace(Trace& trace, const std::vector<Value>& inputs, const CallOptions& options) const {
  // About the memory that the nodes of a call take.
  charge_memory(1024);
  std::vector<Value> cast;
  for (const Value& input : inputs) cast.push_back(ops::cast(input, body().input_dtype().value_or(input.dtype())));
  const TrainingScope training(trace, options.training);
  LayerCall call(*this, trace, options);
  const Graph::Scope scope(trace.graph(), name());
  std::vector<Value> outputs = body().call(call, cast);
  for (const Value& output : outputs) charge_memory(output.shape());
  return outputs;
}

std::vector<Tensor> Layer::call(const std::vector<Tensor>& inputs, const CallOptions& options) const {
  const std::string what = fmt::format("layer '{}' ({})", name(), kind());
  Trace* trace = trace_of(what, inputs);
  std::vector<Shape> shapes = shapes_of(inputs);
  if (trace != nullptr)
    for (Shape& shape : shapes)
      if (shape.rank() > 0) shape[0] = -1;
  BuildScope scope;
  build(shapes);
  const std::shared_ptr<State> state = state_;
  const TensorFunction function = [state, options](Trace& trace, const std::vector<Value>& values) {
    return Layer(state).trace(trace, values, options);
  };
  try {
    std::vector<Tensor> outputs;
    if (trace == nullptr) {
      outputs = TensorRecorder::record({.name = name(),
                                        .kind = kind(),
                                        .inputs = inputs,
                                        .function = function,
                                        .outputs = {},
                                        .layer = state_,
                                        .call = state_->calls++,
                                        .training = options.training,
                                        .arguments = options.arguments});
      if (state_->first_call.expired()) state_->first_call = outputs.front().state().recording;
    } else {
      for (const Value& value : function(*trace, values_in(*trace, what, inputs))) outputs.emplace_back(*trace, value);
    }
    scope.keep();
    return outputs;
  } catch (const Error& error) {
    // Errors of inner layers name those layers already.
    if (!body().layers().empty()) throw;
    std::vector<std::string> texts;
    for (const Shape& shape : shapes) texts.push_back(keras_shape(shape));
    throw Error(fmt::format("layer '{}' ({}) cannot take {}: {}", name(), kind(), join(texts, " and "), error.what()));
  }
}

Tensor Layer::operator()(const Tensor& input, const CallOptions& options) const {
  return (*this)(std::vector{input}, options);
}

Tensor Layer::operator()(const std::vector<Tensor>& inputs, const CallOptions& options) const {
  const std::vector<Tensor> outputs = call(inputs, options);
  if (outputs.size() != 1)
    throw Error(
        fmt::format("layer '{}' ({}) has {} outputs; use call() to get them all", name(), kind(), outputs.size()));
  return outputs.front();
}

namespace {

std::shared_ptr<const Recording> first_call(const std::string& name, const std::weak_ptr<const Recording>& call) {
  if (std::shared_ptr<const Recording> recording = call.lock()) return recording;
  throw Error(fmt::format(
      "layer '{}' has no symbolic inputs and outputs: it was not called on an Input, or nothing uses the call any more",
      name));
}

}  // namespace

std::vector<Tensor> Layer::inputs() const { return first_call(name(), state_->first_call)->inputs; }
std::vector<Tensor> Layer::outputs() const { return TensorRecorder::outputs(first_call(name(), state_->first_call)); }

std::vector<Parameter> Layer::weights() const {
  std::vector<Parameter> list;
  for_each_layer(*this, [&](const Layer& layer) {
    for (const LayerWeight& weight : LayerAccess::own_weights(layer))
      // A layer may be inside two inner models: its weights count once.
      if (std::find(list.begin(), list.end(), weight.parameter) == list.end()) list.push_back(weight.parameter);
  });
  return list;
}
std::vector<Parameter> Layer::trainable_weights() const { return TrainableLayers().weights_of(*this); }

std::int64_t Layer::count_params() const {
  std::int64_t count = 0;
  for (const Parameter& weight : weights()) count += weight.shape().elements();
  return count;
}

std::vector<Array> Layer::get_weights() const { return values_of(weights()); }

void Layer::set_weights(const std::vector<Array>& values) const {
  std::vector<Parameter> parameters = weights();
  if (values.size() != parameters.size())
    throw Error(fmt::format("set_weights: '{}' has {} weights but {} values were given{}", name(), parameters.size(),
                            values.size(), built() ? "" : "; build it first by calling it on a tensor"));
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].shape() != parameters[i].shape())
      throw Error(fmt::format("set_weights: weight {} of '{}', '{}', has shape {} but the value has shape {}", i,
                              name(), parameters[i].name(), to_string(parameters[i].shape()),
                              to_string(values[i].shape())));
  for (std::size_t i = 0; i < values.size(); ++i) parameters[i].set_value(values[i]);
}

namespace {

Parameter find_weight(const Layer& layer, const std::string& name) {
  std::vector<std::string> known;
  for (const Parameter& parameter : layer.weights()) {
    if (parameter.name() == name || parameter.name() == fmt::format("{}/{}", layer.name(), name)) return parameter;
    known.push_back(parameter.name());
  }
  throw Error(fmt::format("'{}': {}", layer.name(), unknown_name("weight", name, known)));
}

}  // namespace

Array Layer::get_weight(const std::string& name) const { return find_weight(*this, name).value(); }
void Layer::set_weight(const std::string& name, const Array& value) const { find_weight(*this, name).set_value(value); }

}  // namespace pando::keras
