// SPDX-License-Identifier: Apache-2.0
// Programs of elementwise ops made by hand, as the compiler makes them, with what they compute.
#pragma once
#include "graph/elementwise_program.h"
#include "tests/ops/op_table.h"

namespace pando::test {

using ProgramPointer = std::shared_ptr<const ElementwiseProgram>;

// Adds instructions by the names of ops.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::vector<DType> operands) { program_.operands = std::move(operands); }
  // Returns the number of the result; its type is that of the first argument unless given.
  std::int32_t add(std::string_view op, std::vector<std::int32_t> arguments, std::array<double, 2> parameters = {});
  std::int32_t add_typed(DType result, std::string_view op, const std::vector<std::int32_t>& arguments);
  ProgramPointer finish(std::vector<std::int32_t> results);

 private:
  ElementwiseProgram program_;
};

// What an op may end with: operand 0 is the op's own result, the others are the inputs.
struct Epilogue {
  std::vector<InputSpec> inputs;
  std::function<ProgramPointer(DType)> program;
  std::function<Tensors(const Tensor& raw, const Tensors& operands)> reference;
  std::function<void(Tensors&)> prepare = {};
};

// For results whose last axis is of size `columns`: a bias and relu; a program without operands of its own; several
// results.
std::vector<Epilogue> epilogues(std::int64_t columns);

}  // namespace pando::test
