// SPDX-License-Identifier: Apache-2.0
// A model of other layers that are connected as those of a model are.
#include <pando/frontends/ipu/pipelining.h>
#include <pando/frontends/keras/layers.h>
#include <pando/frontends/keras/saving.h>

#include <fmt/format.h>

#include <map>
#include <optional>

#include "frontends/keras/run/training.h"

namespace pando::keras {

namespace {

class Cloning {
 public:
  explicit Cloning(const Function<Layer(const Layer&)>& clone) : clone_(clone) {}

  Model network(const Network& network, const std::string& name) {
    std::vector<Tensor> inputs, outputs;
    for (const Tensor& input : network.inputs) inputs.push_back(new_input(input));
    for (const auto& call : network.calls)
      if (!is_input(network, *call)) repeat(call);
    for (const Tensor& output : network.outputs) outputs.push_back(tensor(output));
    return Model(inputs, outputs, {.name = name});
  }

  Layer layer(const Layer& original) {
    const void* identity = LayerAccess::identity(original).get();
    const auto found = layers_.find(identity);
    return found != layers_.end() ? found->second : layers_.emplace(identity, clone_(original)).first->second;
  }

 private:
  static bool is_input(const Network& network, const Recording& call) {
    for (const Tensor& input : network.inputs)
      if (input.state().recording.get() == &call) return true;
    return false;
  }

  Tensor new_input(const Tensor& input) {
    const Recording& call = *input.state().recording;
    const Type type{input.dtype(), input.shape()};
    const Tensor made = TensorRecorder::input(call.function ? call.name + "_input" : call.name, "InputLayer", type);
    return tensors_[{&call, input.state().output}] = made;
  }

  const Tensor& tensor(const Tensor& original) const {
    return tensors_.at({original.state().recording.get(), original.state().output});
  }

  // The call, by the clone of its layer, on the clones of its inputs.
  void repeat(const std::shared_ptr<const Recording>& call) {
    std::optional<ipu::keras::PipelineStage> stage;
    if (call->stage) stage.emplace(*call->stage);
    std::vector<Tensor> inputs, outputs;
    for (const Tensor& input : call->inputs) inputs.push_back(tensor(input));
    if (call->layer != nullptr)
      outputs = layer(LayerAccess::layer_of(call->layer))
                    .call(inputs, {.training = call->training, .arguments = call->arguments});
    else
      outputs = TensorRecorder::record(
          {.name = call->name, .kind = call->kind, .inputs = inputs, .function = call->function, .outputs = {}});
    if (outputs.size() != call->outputs.size())
      throw Error(fmt::format("clone_model: the layer that stands for '{}' has {} outputs and not {}", call->name,
                              outputs.size(), call->outputs.size()));
    for (std::size_t i = 0; i < outputs.size(); ++i) tensors_[{call.get(), static_cast<int>(i)}] = outputs[i];
  }

  const Function<Layer(const Layer&)>& clone_;
  std::map<const void*, Layer> layers_;
  std::map<std::pair<const Recording*, int>, Tensor> tensors_;
};

}  // namespace

Model clone_model(const Model& model, const Function<Layer(const Layer&)>& clone) {
  const auto& body = static_cast<const ModelBody&>(model.body());
  Cloning cloning(clone);
  if (!body.is_sequential()) return cloning.network(*body.network(), model.name());
  std::vector<Layer> stack;
  for (const Layer& layer : body.layers()) {
    if (layer.kind() == "InputLayer")
      stack.push_back(
          layers::InputLayer(*layer.body().input_shape, {.dtype = *layer.body().input_dtype(), .name = layer.name()}));
    else stack.push_back(cloning.layer(layer));
  }
  Sequential made(stack, {.name = model.name()});
  if (body.network() != nullptr && !made.built()) made.build({body.network()->inputs[0].shape()});
  return made;
}

}  // namespace pando::keras
