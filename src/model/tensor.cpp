// SPDX-License-Identifier: Apache-2.0
#include "model/tensor.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/batch_text.h"
#include "model/target.h"

namespace pando {

namespace {

// Stands for the batch size while it is not known; no layer has a reason to know this number. The other is for
// messages.
constexpr std::int64_t trial_batch = 3, other_trial_batch = 5;

std::vector<Type> trial_outputs(const Recording& recording, std::int64_t batch) {
  Graph graph;
  Trace trace(graph, false);
  std::vector<Value> inputs;
  bool any_batch = false;
  for (const Tensor& tensor : recording.inputs) {
    Shape shape = tensor.shape();
    if (shape.rank() > 0 && shape[0] == -1) {
      any_batch = true;
      shape[0] = batch;
    }
    inputs.push_back(ops::input(graph, fmt::format("input{}", inputs.size()), tensor.dtype(), shape));
  }
  std::vector<Type> types;
  for (const Value& value : recording.function(trace, inputs)) {
    types.push_back(value.type());
    Shape& shape = types.back().shape;
    if (any_batch && shape.rank() > 0 && shape[0] == batch) shape[0] = -1;
  }
  return types;
}

// The text of the error that a trial ends with.
std::string trial_error(const Recording& recording, std::int64_t batch) {
  try {
    trial_outputs(recording, batch);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<Type> outputs_of(const Recording& recording) {
  try {
    return trial_outputs(recording, trial_batch);
  } catch (const Error& error) {
    throw Error(
        without_batch_sizes(error.what(), trial_batch, trial_error(recording, other_trial_batch), other_trial_batch));
  }
}

thread_local TraceScope* innermost_scope = nullptr;

[[noreturn]] void refuse_mixture(const std::string& what) {
  throw Error(fmt::format("{}: its inputs come from different models; use tensors of one model", what));
}

Tensor binary(const std::string& name, const Tensor& a, const Tensor& b, Value (*op)(Value, Value)) {
  return apply(name, {a, b}, [op](const std::vector<Value>& v) { return op(v[0], v[1]); });
}

Tensor with_scalar(const std::string& name, const Tensor& a, double b, Value (*op)(Value, Value)) {
  return apply(name, {a}, [op, b](const std::vector<Value>& v) { return op(v[0], ops::scalar(v[0], b)); });
}

}  // namespace

Tensor::Tensor(Trace& trace, Value value)
    : state_(new State{.type = value.type(), .trace = &trace, .trace_life = trace.life(), .value = value}) {}

const Tensor::State& Tensor::state() const {
  if (!state_) throw Error("the tensor is empty: it was default-constructed and nothing was assigned to it");
  return *state_;
}
const Shape& Tensor::shape() const { return state().type.shape; }
DType Tensor::dtype() const { return state().type.dtype; }
bool Tensor::is_traced() const { return !is_recorded(*this) && !state().trace_life.expired(); }
Value Tensor::value() const {
  if (is_recorded(*this))
    throw Error("the tensor has no value: it is recorded for a model, and its value is known only when the model runs");
  if (!is_traced()) throw Error("the tensor is from a computation that has ended; use it while that is traced");
  return state().value;
}

Tensor Tensor::view(const Shape& shape) const {
  return apply("view", {*this}, [shape](const std::vector<Value>& v) { return ops::reshape(v[0], shape); });
}

Tensor Tensor::permute(const std::vector<std::int64_t>& permutation) const {
  return apply("permute", {*this}, [permutation](const std::vector<Value>& v) {
    Integers axes;
    for (std::int64_t axis : permutation) axes.push_back(axis < 0 ? axis + v[0].shape().rank() : axis);
    return ops::transpose(v[0], axes);
  });
}

Tensor Tensor::transpose(std::int64_t a, std::int64_t b) const {
  std::vector<std::int64_t> permutation;
  for (int axis = 0; axis < shape().rank(); ++axis) permutation.push_back(axis);
  const auto at = [&](std::int64_t axis) -> std::int64_t& {
    const std::int64_t rank = shape().rank();
    if (axis < -rank || axis >= rank)
      throw Error(fmt::format("transpose: there is no axis {} in a tensor of shape {}", axis, to_string(shape())));
    return permutation[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
  };
  std::swap(at(a), at(b));
  return permute(permutation);
}

Tensor Tensor::flatten(std::int64_t first, std::int64_t last) const {
  const std::int64_t rank = shape().rank(), begin = first < 0 ? first + rank : first,
                     end = last < 0 ? last + rank : last;
  if (begin < 0 || end >= rank || begin > end)
    throw Error(
        fmt::format("flatten: there are no axes {} to {} in a tensor of shape {}", first, last, to_string(shape())));
  return apply("flatten", {*this}, [begin, end](const std::vector<Value>& v) {
    Shape flat;
    std::int64_t size = 1;
    for (int axis = 0; axis < v[0].shape().rank(); ++axis) {
      if (axis < begin || axis > end) flat.append(v[0].shape()[axis]);
      else size *= v[0].shape()[axis];
      if (axis == end) flat.append(size);
    }
    return ops::reshape(v[0], flat);
  });
}

std::vector<Tensor> TensorRecorder::record(Recording recording) {
  recording.outputs = outputs_of(recording);
  recording.stage = current_stage();
  return source(std::move(recording));
}

std::vector<Tensor> TensorRecorder::source(Recording recording) {
  return outputs(std::make_shared<const Recording>(std::move(recording)));
}

std::vector<Tensor> TensorRecorder::outputs(const std::shared_ptr<const Recording>& recording) {
  std::vector<Tensor> list(recording->outputs.size());
  for (std::size_t i = 0; i < list.size(); ++i)
    list[i].state_.reset(
        new Tensor::State{.type = recording->outputs[i], .recording = recording, .output = static_cast<int>(i)});
  return list;
}

Tensor TensorRecorder::input(const std::string& name, const std::string& kind, const Type& type) {
  return source({.name = name, .kind = kind, .inputs = {}, .function = {}, .outputs = {type}})[0];
}

TraceScope::TraceScope(Trace& trace, Import import)
    : trace_(trace), import_(std::move(import)), outer_(innermost_scope) {
  innermost_scope = this;
}
TraceScope::~TraceScope() { innermost_scope = outer_; }

Trace* current_trace() { return innermost_scope != nullptr ? &innermost_scope->trace_ : nullptr; }

bool is_recorded(const Tensor& tensor) { return tensor.state().trace == nullptr; }

bool belongs_to(const Tensor& tensor, const Trace& trace) {
  if (is_recorded(tensor) || tensor.state().trace_life.expired()) return false;
  return &tensor.state().value.graph() == &trace.graph();
}

Trace* trace_of(const std::string& what, const std::vector<Tensor>& tensors) {
  if (tensors.empty()) throw Error(fmt::format("{}: needs at least one tensor", what));
  // Layers record their inner calls even during a trace.
  if (std::all_of(tensors.begin(), tensors.end(), is_recorded)) return nullptr;
  if (Trace* current = current_trace()) return current;
  const Tensor::State& first = tensors.front().state();
  for (const Tensor& tensor : tensors)
    if (is_recorded(tensor) || tensor.state().trace != first.trace) refuse_mixture(what);
  if (first.trace_life.expired())
    throw Error(fmt::format("{}: a tensor is from a computation that has ended; use it while that is traced", what));
  return first.trace;
}

std::vector<Value> values_in(Trace& trace, const std::string& what, const std::vector<Tensor>& tensors) {
  std::vector<Value> values;
  for (const Tensor& tensor : tensors) {
    if (belongs_to(tensor, trace)) values.push_back(tensor.state().value);
    else if (innermost_scope != nullptr && &innermost_scope->trace_ == &trace && innermost_scope->import_)
      values.push_back(innermost_scope->import_(tensor));
    else refuse_mixture(what);
  }
  return values;
}

std::vector<Tensor> apply(const std::string& name, const std::vector<Tensor>& inputs, const TensorFunction& function) {
  Trace* trace = trace_of(name, inputs);
  if (trace == nullptr)
    return TensorRecorder::record(
        {.name = name, .kind = "TFOpLambda", .inputs = inputs, .function = function, .outputs = {}});
  std::vector<Tensor> outputs;
  for (const Value& value : function(*trace, values_in(*trace, name, inputs))) outputs.emplace_back(*trace, value);
  return outputs;
}

Tensor apply(const std::string& name, const std::vector<Tensor>& inputs,
             const Function<Value(const std::vector<Value>&)>& function) {
  const TensorFunction one = [function](Trace&, const std::vector<Value>& values) {
    return std::vector{function(values)};
  };
  return apply(name, inputs, one)[0];
}

Tensor operator+(const Tensor& a, const Tensor& b) { return binary("tf.__operators__.add", a, b, ops::add); }
Tensor operator-(const Tensor& a, const Tensor& b) { return binary("tf.math.subtract", a, b, ops::subtract); }
Tensor operator*(const Tensor& a, const Tensor& b) { return binary("tf.math.multiply", a, b, ops::multiply); }
Tensor operator/(const Tensor& a, const Tensor& b) { return binary("tf.math.truediv", a, b, ops::divide); }
Tensor operator-(const Tensor& a) {
  return apply("tf.math.negative", {a}, [](const std::vector<Value>& v) { return ops::negate(v[0]); });
}
Tensor operator+(const Tensor& a, double b) { return with_scalar("tf.__operators__.add", a, b, ops::add); }
Tensor operator-(const Tensor& a, double b) { return with_scalar("tf.math.subtract", a, b, ops::subtract); }
Tensor operator*(const Tensor& a, double b) { return with_scalar("tf.math.multiply", a, b, ops::multiply); }
Tensor operator/(const Tensor& a, double b) { return with_scalar("tf.math.truediv", a, b, ops::divide); }
Tensor operator-(double a, const Tensor& b) {
  return apply("tf.math.subtract", {b}, [a](const std::vector<Value>& v) { return ops::scalar(v[0], a) - v[0]; });
}

}  // namespace pando
