// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: what they are depends on seed, stream, update and sample only.
#include <pando/ops/ops.h>

#include <fmt/format.h>

#include <cmath>

#include "ops/build.h"
#include "ops/checks.h"

namespace pando {

namespace {

void require_counter(const OpCall& call, std::size_t input) {
  require_dtype(call, input, {DType::int32, DType::int64});
  require_shape(call, input, {2}, "the update and the number of the first sample");
}

std::vector<Type> infer_dropout(const OpCall& call) {
  require_floating(call, 0);
  require_rank_at_least(call, 0, 1, "the first one the samples");
  require_counter(call, 1);
  const double rate = call.attributes.number("rate");
  if (!(rate >= 0 && rate < 1)) call.fail(fmt::format("'rate' is {} but must be at least 0 and below 1", rate));
  return {call.inputs[0]};
}

std::vector<Type> random_type(const OpCall& call) {
  require_counter(call, 0);
  const Shape shape = shape_attribute(call, "shape");
  if (shape.rank() == 0) call.fail("'shape' is [] but needs an axis of samples; use [1] and reshape");
  return {{DType::float32, shape}};
}

std::vector<Type> infer_uniform(const OpCall& call) {
  const double low = call.attributes.number("low"), high = call.attributes.number("high");
  if (!std::isfinite(low) || !std::isfinite(high) || low > high)
    call.fail(fmt::format("'low' is {} and 'high' {}; both must be finite and low not above high", low, high));
  return random_type(call);
}

std::vector<Type> infer_normal(const OpCall& call) {
  if (!std::isfinite(call.attributes.number("mean"))) call.fail("'mean' must be finite");
  number_attribute(call, "deviation", 0);
  return random_type(call);
}

// The same attributes and counter draw the same mask again.
std::vector<Value> dropout_gradient(const GradientCall& call) {
  return {build(definitions::dropout, {call.gradients[0], call.inputs[1]}, call.node.attributes), Value()};
}

}  // namespace

namespace definitions {

const OpDefinition dropout = {.id = Op::dropout,
                              .name = "dropout",
                              .doc = "elements set to 0 with probability rate, the others divided by 1 - rate",
                              .attributes = {{"rate", 0.5}, {"seed", std::int64_t{0}}, {"stream", std::int64_t{0}}},
                              .min_inputs = 2,
                              .infer = infer_dropout,
                              .gradient = dropout_gradient};
const OpDefinition random_uniform = {.id = Op::random_uniform,
                                     .name = "random_uniform",
                                     .doc = "float32 numbers spread evenly over [low, high)",
                                     .attributes = {{"shape", Integers()},
                                                    {"low", 0.0},
                                                    {"high", 1.0},
                                                    {"seed", std::int64_t{0}},
                                                    {"stream", std::int64_t{0}}},
                                     .infer = infer_uniform};
const OpDefinition random_normal = {.id = Op::random_normal,
                                    .name = "random_normal",
                                    .doc = "float32 numbers of the normal distribution of that mean and deviation",
                                    .attributes = {{"shape", Integers()},
                                                   {"mean", 0.0},
                                                   {"deviation", 1.0},
                                                   {"seed", std::int64_t{0}},
                                                   {"stream", std::int64_t{0}}},
                                    .infer = infer_normal};

}  // namespace definitions

namespace ops {

Value dropout(Value x, Value counter, double rate, const RandomOptions& options) {
  if (rate == 0) return x;
  return build(definitions::dropout, {x, counter},
               {{"rate", rate}, {"seed", options.seed}, {"stream", options.stream}});
}

Value random_uniform(Value counter, const Shape& shape, double low, double high, const RandomOptions& options) {
  return build(
      definitions::random_uniform, {counter},
      {{"shape", integers(shape)}, {"low", low}, {"high", high}, {"seed", options.seed}, {"stream", options.stream}});
}

Value random_normal(Value counter, const Shape& shape, double mean, double deviation, const RandomOptions& options) {
  return build(definitions::random_normal, {counter},
               {{"shape", integers(shape)},
                {"mean", mean},
                {"deviation", deviation},
                {"seed", options.seed},
                {"stream", options.stream}});
}

}  // namespace ops

}  // namespace pando
