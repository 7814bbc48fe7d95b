// SPDX-License-Identifier: Apache-2.0
// The state of an optimizer.
#pragma once
#include <pando/frontends/tf1/train.h>

#include "model/update_rule.h"

namespace pando::tf1::train {

struct Optimizer::State {
  UpdateRule rule;
  double learning_rate;
};

// Adds the update of the parameters to the trace; the optimizer's variables are named after it.
void add_update(Trace& trace, Variables& variables, const Optimizer& optimizer, const std::string& name,
                const std::vector<Parameter>& parameters, const std::vector<Value>& gradients);

// The parameters of the list; without a list, those that the trace uses and that can be trained.
std::vector<Parameter> trained_parameters(const Trace& trace, const MinimizeOptions& options);

}  // namespace pando::tf1::train
