// SPDX-License-Identifier: Apache-2.0
// The state of an optimizer.
#pragma once
#include <pando/frontends/torch/optim.h>

#include <optional>

#include "model/update_rule.h"

namespace pando::torch::optim {

struct ParameterGroup {
  Parameters parameters;
  double lr = 0.0;
  UpdateRule rule;
  // The rate before the first scheduler set it.
  std::optional<double> initial_lr = {};
};

struct Optimizer::State {
  std::vector<ParameterGroup> groups;
};

// Adds to the graph what the optimizer does with the gradients of these parameters. Parameters that it does not have
// stay as they are. Its first update has the number `begin`.
void add_updates(Trace& trace, Variables& variables, const Optimizer& optimizer, std::int64_t begin,
                 const std::vector<Parameter>& parameters, const std::vector<Value>& gradients);
// The rates of the groups are variables, so that a new rate needs no new program.
void set_rates(const Optimizer& optimizer, Variables& variables);

}  // namespace pando::torch::optim
