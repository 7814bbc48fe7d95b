// SPDX-License-Identifier: Apache-2.0
// UpdateRule: what an optimizer of any front end does to a parameter.
#pragma once
#include <pando/base/function.h>
#include <pando/model/trace.h>

#include <optional>

namespace pando {

struct UpdateRule {
  // What is kept for each parameter between updates, in its shape or as a scalar.
  struct State {
    std::string name;
    double initial = 0.0;
    bool scalar = false;
  };
  // "adam".
  std::string name;
  std::vector<State> states = {};
  // The parameter and its states after the update; `step` (int32, scalar) counts the updates before it.
  Function<std::vector<Value>(Value rate, Value step, Value parameter, Value gradient,
                              const std::vector<Value>& states)>
      update;
  // Whether gradients that are k times as large make an update that is k times as large. Adaptive rules divide by the
  // size.
  bool grows_with_gradients = false;
};

// The update ops as rules; the states are those that the options of the op name.
UpdateRule sgd_rule(const ops::SgdOptions& options);
UpdateRule adam_rule(const std::string& name, const ops::AdamOptions& options);
UpdateRule rmsprop_rule(const ops::RmspropOptions& options);
UpdateRule adagrad_rule(const ops::AdagradOptions& options, double initial_accumulator);

// Limits on gradients, applied in this order.
struct GradientClipping {
  std::optional<double> value = {};
  std::optional<double> norm = {};
  std::optional<double> global_norm = {};
};

std::vector<Value> clip_gradients(std::vector<Value> gradients, const GradientClipping& clipping);

// Adds the update of each parameter to the graph. New states get their first values in `variables`.
void apply_updates(Trace& trace, Variables& variables, const UpdateRule& rule, Value rate, Value step,
                   const std::vector<Parameter>& parameters, const std::vector<Value>& gradients);

}  // namespace pando
