// SPDX-License-Identifier: Apache-2.0
// The state of a Keras optimizer.
#pragma once
#include <pando/frontends/keras/optimizers.h>

#include "model/update_rule.h"

namespace pando::keras {

struct Optimizer::State {
  UpdateRule rule;
  LearningRate learning_rate;
  GradientClipping clipping = {};
  std::int64_t iterations = 0;
};

}  // namespace pando::keras
