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

}  // namespace pando::torch::optim
