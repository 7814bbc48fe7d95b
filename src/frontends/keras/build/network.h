// SPDX-License-Identifier: Apache-2.0
// Network: the calls of layers between the inputs and the outputs of a model.
#pragma once
#include <map>

#include "frontends/keras/build/layer.h"
#include "report/terminal/table.h"
#include "model/tensor.h"

namespace pando::keras {

struct Network {
  std::vector<Tensor> inputs, outputs;
  // Inputs and calls in the order of a summary: the furthest from the outputs first, so each comes after what it uses.
  std::vector<std::shared_ptr<const Recording>> calls;
  // Each layer once, in the order of its first call.
  std::vector<Layer> layers;
};

// Throws Error if an output depends on an input that is not given, or two layers have the same name.
Network make_network(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs);

// The values of a network's tensors under a trace, call by call.
class NetworkValues {
 public:
  explicit NetworkValues(Trace& trace) : trace_(trace) {}
  void set(const Tensor& tensor, Value value);
  Value operator[](const Tensor& tensor) const;
  // Computes the outputs of a call; its inputs must have been computed.
  void run(const Recording& call);

 private:
  Trace& trace_;
  std::map<std::pair<const Recording*, int>, Value> values_;
};

// The outputs for these inputs.
std::vector<Value> trace_network(const Network& network, Trace& trace, const std::vector<Value>& inputs);

// The shapes of a layer's outputs, in the order of its calls.
std::vector<Shape> output_shapes(const Network& network, const Layer& layer);

// The layers as Keras's summary() lists them, and what it counts below them.
std::vector<SummaryRow> summary_rows(const Network& network, bool is_sequential);
SummaryTotals summary_totals(const Network& network);
// What Keras's summary() prints.
std::string summary_of(const std::string& model, const Network& network, bool is_sequential, const TableOutput& output);

}  // namespace pando::keras
