// SPDX-License-Identifier: Apache-2.0
// What each optimizer of torch.optim does to a parameter.
#pragma once
#include <pando/frontends/torch/optim.h>

#include "model/update_rule.h"

namespace pando::torch::optim {

// They throw Error for options that PyTorch refuses.
UpdateRule rule_of(const SGDOptions& options);
UpdateRule rule_of(const AdamOptions& options);
UpdateRule rule_of(const AdamWOptions& options);
UpdateRule rule_of(const RMSpropOptions& options);
UpdateRule rule_of(const AdadeltaOptions& options);
UpdateRule rule_of(const AdagradOptions& options);
UpdateRule rule_of(const NAdamOptions& options);
UpdateRule rule_of(const RAdamOptions& options);

// Throws Error naming `who` and `what` if the number is negative or not finite.
void check_not_negative(const std::string& who, const char* what, double number);

}  // namespace pando::torch::optim
