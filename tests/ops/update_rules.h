// SPDX-License-Identifier: Apache-2.0
// Every combination of the update ops' options that matters, with what each computes.
#pragma once
#include "tests/ops/op_table.h"

namespace pando::test {

struct UpdateRule {
  const OpDefinition* op;
  Attributes attributes;
  int states;
  // Adam also takes the number of updates so far.
  bool takes_step;
  std::function<Tensors(double rate, double step, const Tensors& group)> reference;
  // Through the public builder; `step` is empty unless it is taken.
  std::function<std::vector<Value>(Value rate, Value step, Value parameter, Value gradient,
                                   const std::vector<Value>& states)>
      build;
};

std::vector<UpdateRule> update_rules();

}  // namespace pando::test
