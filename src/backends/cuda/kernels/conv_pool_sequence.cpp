// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/conv_pool.h"

#include "ops/op_list.h"
#include "ops/window.h"

namespace pando::cuda {

Shape convolved_shape(const KernelCall& call, const Shape& x, const Shape& filter) {
  const Window window = conv_window(call.attributes, filter);
  return {x[0], window.output_size(0, x[1]), window.output_size(1, x[2]), filter[3]};
}

namespace {

Operand operand(const Type& type) { return {.buffer = 0, .type = type}; }

KernelCall convolution_call(const OpDefinition& op, const KernelCall& call) {
  return {.op = &op,
          .attributes = {{"strides", call.attributes.integers("strides")},
                         {"dilations", call.attributes.integers("dilations")},
                         {"padding", call.attributes.integers("padding")},
                         {"groups", call.attributes.integer("groups")}},
          .inputs = {},
          .outputs = {},
          .name = call.name};
}

KernelCall pooling_call(const OpDefinition& op, const KernelCall& call) {
  return {.op = &op,
          .attributes = {{"window", call.attributes.integers("pool_window")},
                         {"strides", call.attributes.integers("pool_strides")},
                         {"padding", call.attributes.integers("pool_padding")}},
          .inputs = {},
          .outputs = {},
          .name = call.name};
}

// Adds max_pool_gradient of inputs `dy` and 2, the positions; returns where the gradient of the convolution goes.
Sequence::Place add_pooling_gradient(Sequence& sequence, const KernelCall& call, std::size_t dy, const Type& convolved,
                                     const KernelContext& context) {
  KernelCall pooling = pooling_call(definitions::max_pool_gradient, call);
  pooling.attributes.set("input_size", Integers{convolved.shape[1], convolved.shape[2]});
  pooling.inputs = {call.inputs[dy], call.inputs[2]};
  pooling.outputs = {operand(convolved)};
  const Sequence::Place gradient = sequence.passed_on(convolved);
  sequence.add(factories::max_pool_gradient(pooling, context), {Sequence::input(dy), Sequence::input(2)}, {gradient});
  return gradient;
}

}  // namespace

std::unique_ptr<Kernel> conv2d_max_pool_sequence(const KernelCall& call, const KernelContext& context) {
  const DType dtype = call.inputs[0].type.dtype;
  const Type convolved = {dtype, convolved_shape(call, call.inputs[0].type.shape, call.inputs[1].type.shape)};
  const Type pooled = {dtype, call.outputs.back().type.shape};
  auto sequence = std::make_unique<Sequence>();
  KernelCall convolution = convolution_call(definitions::conv2d, call);
  convolution.inputs = {call.inputs[0], call.inputs[1]};
  convolution.outputs = {operand(convolved)};
  const Sequence::Place result = sequence->passed_on(convolved);
  sequence->add(factories::conv2d(convolution, context), {Sequence::input(0), Sequence::input(1)}, {result});
  KernelCall pooling = pooling_call(definitions::max_pool, call);
  pooling.inputs = {operand(convolved)};
  pooling.outputs = {operand(pooled), call.outputs.back()};
  const Sequence::Place raw = has_epilogue(call) ? sequence->passed_on(pooled) : Sequence::output(0);
  sequence->add(factories::max_pool(pooling, context), {result}, {raw, Sequence::output(call.outputs.size() - 1)});
  if (has_epilogue(call)) add_epilogue(*sequence, call, context, pooled, raw);
  return sequence;
}

std::unique_ptr<Kernel> pooled_input_gradient_sequence(const KernelCall& call, const KernelContext& context) {
  const Shape &filter = call.inputs[1].type.shape, &dx = call.outputs[0].type.shape;
  const Type convolved = {call.inputs[0].type.dtype, convolved_shape(call, dx, filter)};
  auto sequence = std::make_unique<Sequence>();
  const Sequence::Place gradient = add_pooling_gradient(*sequence, call, 0, convolved, context);
  KernelCall convolution = convolution_call(definitions::conv2d_input_gradient, call);
  convolution.attributes.set("input_size", Integers{dx[1], dx[2]});
  convolution.inputs = {operand(convolved), call.inputs[1]};
  convolution.outputs = call.outputs;
  sequence->add(factories::conv2d_input_gradient(convolution, context), {gradient, Sequence::input(1)},
                {Sequence::output(0)});
  return sequence;
}

std::unique_ptr<Kernel> pooled_weight_gradient_sequence(const KernelCall& call, const KernelContext& context) {
  const Shape &x = call.inputs[0].type.shape, &filter = call.outputs[0].type.shape;
  const Type convolved = {call.inputs[0].type.dtype, convolved_shape(call, x, filter)};
  auto sequence = std::make_unique<Sequence>();
  const Sequence::Place gradient = add_pooling_gradient(*sequence, call, 1, convolved, context);
  KernelCall convolution = convolution_call(definitions::conv2d_weight_gradient, call);
  convolution.attributes.set("kernel_size", Integers{filter[0], filter[1]});
  convolution.inputs = {call.inputs[0], operand(convolved)};
  convolution.outputs = call.outputs;
  sequence->add(factories::conv2d_weight_gradient(convolution, context), {Sequence::input(0), gradient},
                {Sequence::output(0)});
  return sequence;
}

}  // namespace pando::cuda
