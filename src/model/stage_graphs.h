// From the forward pass of a stage, or of a whole model, to the graphs that train it on one or more devices.
#pragma once
#include <pando/program/parallel.h>
#include <pando/model/trace.h>

#include <functional>

namespace pando {

struct StageForward {
  // Its graph has the forward pass, and grows by the backward pass.
  Trace& trace;
  bool is_last = true;
  // activation/0, activation/1, ... from the stage before and for the stage behind.
  std::vector<Value> taken = {}, given = {};
  // What the parameters are to make small; none if only stages behind have something.
  Value objective = {};
  // Those that are trained.
  std::vector<Parameter> parameters = {};
  std::vector<std::pair<std::string, Value>> results = {};
  // What the summed gradients of an update are divided by, summed like them.
  Value count = {};
};

struct StageTraining {
  // The count_N of each stage is a variable of its own.
  int stage = 0;
  // Compute the forward pass again in the backward pass rather than keep what it needs.
  bool recomputation = false;
  // The gradients are the sums, and the count is of no account.
  bool sum = false;
  // Adds the update of the parameters, given their gradients, to the graph of another trace.
  std::function<void(Trace& trace, const std::vector<Value>& gradients)> add_update;
};

StageGraphs training_graphs(const StageForward& forward, const StageTraining& training, Variables& variables);
StageGraphs inference_graphs(const StageForward& forward, Variables& variables);

// The gradients of the parameters; for a step that updates at once.
std::vector<Value> parameter_gradients(Trace& trace, Value objective, const std::vector<Parameter>& parameters);

}  // namespace pando
