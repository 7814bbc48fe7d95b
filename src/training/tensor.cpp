#include "training/tensor.h"

#include <fmt/format.h>

#include "training/target.h"

namespace pando {

namespace {

// Stands for the batch size while nobody knows it; no layer has a reason to know this number.
constexpr std::int64_t trial_batch = 3;

std::vector<Type> trial_outputs(const Recording& recording) {
  Graph graph;
  Trace trace(graph, false);
  std::vector<Value> inputs;
  for (const Tensor& tensor : recording.inputs) {
    Shape shape = tensor.shape();
    if (shape.rank() > 0 && shape[0] == -1) shape[0] = trial_batch;
    inputs.push_back(ops::input(graph, fmt::format("input{}", inputs.size()), tensor.dtype(), shape));
  }
  std::vector<Type> types;
  for (const Value& value : recording.function(trace, inputs)) {
    types.push_back(value.type());
    Shape& shape = types.back().shape;
    if (shape.rank() > 0 && shape[0] == trial_batch) shape[0] = -1;
  }
  return types;
}

std::vector<Tensor> call(const std::string& name, const std::vector<Tensor>& inputs, const TensorFunction& function) {
  if (all_recorded(name, inputs))
    return TensorRecorder::record(
        {.name = name, .kind = "TFOpLambda", .inputs = inputs, .function = function, .outputs = {}});
  Trace& trace = *inputs.front().state().trace;
  std::vector<Value> values;
  for (const Tensor& tensor : inputs) values.push_back(tensor.state().value);
  std::vector<Tensor> outputs;
  for (const Value& value : function(trace, values)) outputs.emplace_back(trace, value);
  return outputs;
}

Tensor binary(const std::string& name, const Tensor& a, const Tensor& b, Value (*op)(Value, Value)) {
  return apply(name, {a, b}, [op](const std::vector<Value>& v) { return op(v[0], v[1]); });
}

Tensor with_scalar(const std::string& name, const Tensor& a, double b, Value (*op)(Value, Value)) {
  return apply(name, {a}, [op, b](const std::vector<Value>& v) { return op(v[0], ops::scalar(v[0], b)); });
}

}  // namespace

Tensor::Tensor(Trace& trace, Value value) : state_(new State{.type = value.type(), .trace = &trace, .value = value}) {}

const Tensor::State& Tensor::state() const {
  if (!state_) throw Error("the tensor is none: it was default-constructed and nothing was assigned to it");
  return *state_;
}
const Shape& Tensor::shape() const { return state().type.shape; }
DType Tensor::dtype() const { return state().type.dtype; }

std::vector<Tensor> TensorRecorder::record(Recording recording) {
  recording.outputs = trial_outputs(recording);
  recording.stage = current_stage();
  const auto shared = std::make_shared<const Recording>(std::move(recording));
  std::vector<Tensor> outputs(shared->outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    outputs[i].state_.reset(
        new Tensor::State{.type = shared->outputs[i], .recording = shared, .output = static_cast<int>(i)});
  return outputs;
}

Tensor TensorRecorder::input(const std::string& name, const std::string& kind, const Type& type) {
  Tensor tensor;
  auto recording = std::make_shared<Recording>(
      Recording{.name = name, .kind = kind, .inputs = {}, .function = {}, .outputs = {type}});
  tensor.state_.reset(new Tensor::State{.type = type, .recording = std::move(recording)});
  return tensor;
}

bool all_recorded(const std::string& what, const std::vector<Tensor>& tensors) {
  if (tensors.empty()) throw Error(fmt::format("{}: needs at least one tensor", what));
  const Trace* trace = tensors.front().state().trace;
  for (const Tensor& tensor : tensors)
    if (tensor.state().trace != trace)
      throw Error(fmt::format("{}: its inputs come from different models; use tensors of one model", what));
  return trace == nullptr;
}

Tensor apply(const std::string& name, const std::vector<Tensor>& inputs,
             const std::function<Value(const std::vector<Value>&)>& function) {
  return call(name, inputs,
              [function](Trace&, const std::vector<Value>& values) { return std::vector{function(values)}; })[0];
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
