// SPDX-License-Identifier: Apache-2.0
// Quotients, remainders and bits. What they compute is in scalar.h.
#include "ops/elementwise.h"

namespace pando {

namespace {

std::vector<Type> infer_integer(const OpCall& call) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i) require_dtype(call, i, {DType::int32, DType::int64});
  require_same_dtype(call);
  return {{call.dtype(0), broadcast_inputs(call)}};
}

}  // namespace

namespace definitions {

const OpDefinition floor_divide = {.id = Op::floor_divide,
                                   .name = "floor_divide",
                                   .doc = "the largest integer not above a / b; of integers, 0 where b is 0",
                                   .min_inputs = 2,
                                   .infer = infer_numeric,
                                   .elementwise = true};
const OpDefinition remainder = {.id = Op::remainder,
                                .name = "remainder",
                                .doc = "what floor_divide leaves of a, with the sign of b; of integers, 0 where b is 0",
                                .min_inputs = 2,
                                .infer = infer_numeric,
                                .gradient = PANDO_BINARY_GRADIENT(g, -g* ops::floor_divide(a, b)),
                                .elementwise = true};
const OpDefinition bitwise_and = {.id = Op::bitwise_and,
                                  .name = "bitwise_and",
                                  .doc = "the bits that a and b have",
                                  .min_inputs = 2,
                                  .infer = infer_integer,
                                  .elementwise = true};
const OpDefinition bitwise_or = {.id = Op::bitwise_or,
                                 .name = "bitwise_or",
                                 .doc = "the bits that a or b has",
                                 .min_inputs = 2,
                                 .infer = infer_integer,
                                 .elementwise = true};
const OpDefinition bitwise_xor = {.id = Op::bitwise_xor,
                                  .name = "bitwise_xor",
                                  .doc = "the bits that one of a and b has",
                                  .min_inputs = 2,
                                  .infer = infer_integer,
                                  .elementwise = true};
const OpDefinition shift_left = {
    .id = Op::shift_left,
    .name = "shift_left",
    .doc = "the bits of a moved up by b places; 0 if b is negative or not below their number",
    .min_inputs = 2,
    .infer = infer_integer,
    .elementwise = true};
const OpDefinition shift_right = {.id = Op::shift_right,
                                  .name = "shift_right",
                                  .doc =
                                      "the bits of a moved down by b places, with its sign; if b is negative or not "
                                      "below their number, the sign alone",
                                  .min_inputs = 2,
                                  .infer = infer_integer,
                                  .elementwise = true};

}  // namespace definitions

}  // namespace pando
