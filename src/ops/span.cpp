// SPDX-License-Identifier: Apache-2.0
// Ops that span an update: a step is traced once, and these mark what happens once for all its micro-batches.
#include <pando/ops/ops.h>

#include <fmt/format.h>

#include "ops/build.h"

namespace pando {

namespace {

std::vector<Type> infer_span(const OpCall& call) {
  if (!is_floating(call.dtype(0)))
    call.fail(fmt::format("takes floating-point values, not {}; cast it first", to_string(call.inputs[0])));
  return {call.inputs[0]};
}

}  // namespace

namespace definitions {

const OpDefinition update_sum = {.id = Op::update_sum,
                                 .name = "update_sum",
                                 .doc =
                                     "the sum over all micro-batches and replicas of an update; x itself in a step "
                                     "that is one micro-batch on one device",
                                 .infer = infer_span,
                                 .role = Role::span};
const OpDefinition replica_mean = {.id = Op::replica_mean,
                                   .name = "replica_mean",
                                   .doc =
                                       "only as the value of an assignment: the variable is averaged over the "
                                       "replicas once an update",
                                   .infer = infer_span,
                                   .role = Role::span};

}  // namespace definitions

namespace ops {

Value update_sum(Value x) { return build(definitions::update_sum, {x}); }
Value replica_mean(Value x) { return build(definitions::replica_mean, {x}); }

}  // namespace ops

}  // namespace pando
