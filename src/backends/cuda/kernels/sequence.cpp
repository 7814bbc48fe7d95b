// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels/sequence.h"

#include <algorithm>

#include "graph/elementwise_program.h"
#include "ops/op_list.h"

namespace pando::cuda {

namespace {

std::byte* address(const Sequence::Place& place, const Operands& operands) {
  switch (place.kind) {
    // A part only reads what is an input of the whole.
    case Sequence::Place::Kind::input: return const_cast<std::byte*>(operands.inputs[place.at]);
    case Sequence::Place::Kind::output: return operands.outputs[place.at];
    case Sequence::Place::Kind::scratch: return operands.scratch + place.at;
  }
  return nullptr;
}

}  // namespace

Sequence::Place Sequence::passed_on(const Type& type) {
  const std::size_t at = bytes_;
  bytes_ += align(static_cast<std::size_t>(type.shape.elements()) * size_of(type.dtype));
  return {Place::Kind::scratch, at};
}

void Sequence::add(std::unique_ptr<Kernel> kernel, std::vector<Place> inputs, std::vector<Place> outputs) {
  parts_.push_back({std::move(kernel), std::move(inputs), std::move(outputs)});
}

std::size_t Sequence::scratch_bytes() const {
  std::size_t most = 0;
  for (const Part& part : parts_) most = std::max(most, part.kernel->scratch_bytes());
  return bytes_ + most;
}

void Sequence::launch(const Operands& operands, cudaStream_t stream) const {
  for (const Part& part : parts_) {
    std::vector<const std::byte*> inputs;
    std::vector<std::byte*> outputs;
    for (const Place& place : part.inputs) inputs.push_back(address(place, operands));
    for (const Place& place : part.outputs) outputs.push_back(address(place, operands));
    part.kernel->launch({.inputs = inputs, .outputs = outputs, .scratch = operands.scratch + bytes_}, stream);
  }
}

bool has_epilogue(const KernelCall& call) {
  return call.attributes.find("epilogue") != nullptr && call.attributes.program("epilogue") != nullptr;
}

BiasEpilogue find_bias(const KernelCall& call) {
  if (!has_epilogue(call) || call.inputs.size() != 3) return {};
  const ElementwiseProgram& program = *call.attributes.program("epilogue");
  const Type &result = call.outputs[0].type, &bias = call.inputs[2].type;
  const std::int64_t columns = result.shape[result.shape.rank() - 1];
  const bool is_row = bias.shape.rank() >= 1 && bias.shape[bias.shape.rank() - 1] == columns &&
                      bias.shape.elements() == columns && bias.dtype == call.inputs[0].type.dtype;
  const std::size_t steps = program.instructions.size();
  if (!is_row || result.dtype != bias.dtype || steps < 1 || steps > 2 || program.operands.size() != 2) return {};
  const auto &add = program.instructions[0], &last = program.instructions[steps - 1];
  const auto arguments = std::minmax(add.arguments[0], add.arguments[1]);
  if (add.op != &definitions::add || arguments.first != 0 || arguments.second != 1) return {};
  if (steps == 2 && (last.op != &definitions::relu || last.arguments[0] != 2)) return {};
  const std::vector<std::int32_t> only_last = {static_cast<std::int32_t>(steps) + 1};
  return {program.results == only_last, steps == 2};
}

void add_epilogue(Sequence& sequence, const KernelCall& call, const KernelContext& context, const Type& type,
                  Sequence::Place raw) {
  const auto& program = call.attributes.program("epilogue");
  KernelCall fused = {.op = &definitions::fused,
                      .attributes = {{"program", program}},
                      .inputs = {{.buffer = 0, .type = type}},
                      .outputs = {},
                      .name = call.name};
  std::vector<Sequence::Place> inputs = {raw}, outputs;
  for (std::size_t i = 2; i < call.inputs.size(); ++i) {
    fused.inputs.push_back(call.inputs[i]);
    inputs.push_back(Sequence::input(i));
  }
  for (std::size_t i = 0; i < program->results.size(); ++i) {
    fused.outputs.push_back(call.outputs[i]);
    outputs.push_back(Sequence::output(i));
  }
  sequence.add(factories::fused(fused, context), std::move(inputs), std::move(outputs));
}

std::unique_ptr<Kernel> make_with_epilogue(const KernelCall& call, const KernelContext& context,
                                           KernelFactory factory) {
  const Type type = {call.inputs[0].type.dtype, call.outputs[0].type.shape};
  auto sequence = std::make_unique<Sequence>();
  KernelCall own = call;
  own.attributes.set("epilogue", std::shared_ptr<const ElementwiseProgram>());
  own.inputs.resize(2);
  own.outputs = {{.buffer = 0, .type = type}};
  const Sequence::Place raw = sequence->passed_on(type);
  sequence->add(factory(own, context), {Sequence::input(0), Sequence::input(1)}, {raw});
  add_epilogue(*sequence, call, context, type, raw);
  return sequence;
}

}  // namespace pando::cuda
