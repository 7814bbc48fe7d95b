// Network: the calls of layers between the inputs and the outputs of a model.
#pragma once
#include "frontends/keras/layer.h"
#include "training/tensor.h"

namespace pando::keras {

struct Network {
  std::vector<Tensor> inputs, outputs;
  // Inputs and calls as a summary lists them: the furthest from the outputs first, so each after what it uses.
  std::vector<std::shared_ptr<const Recording>> calls;
  // Each layer once, in the order of its first call.
  std::vector<Layer> layers;
};

// Throws Error if an output depends on an input that is not given, or two layers have one name.
Network make_network(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs);

// The outputs for these inputs.
std::vector<Value> trace_network(const Network& network, Trace& trace, const std::vector<Value>& inputs);

// What Keras's summary() prints.
std::string summary_of(const std::string& model, const Network& network, bool is_sequential);

}  // namespace pando::keras
