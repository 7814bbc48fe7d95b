// SPDX-License-Identifier: Apache-2.0
// A small straight-line program of elementwise ops: what fusion makes of a chain of nodes.
#pragma once
#include <pando/base/dtype.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace pando {

struct OpDefinition;

// Values 0 .. operands.size()-1 are the operands, value operands.size() + i is the result of instruction i.
// All results have one shape; an operand broadcasts to it.
struct ElementwiseProgram {
  struct Instruction {
    const OpDefinition* op = nullptr;
    std::array<std::int32_t, 3> arguments = {-1, -1, -1};
    std::array<double, 2> parameters = {};
    DType result = DType::float32;
  };

  std::vector<DType> operands;
  std::vector<Instruction> instructions;
  std::vector<std::int32_t> results;

  DType dtype(std::int32_t value) const {
    const auto index = static_cast<std::size_t>(value);
    return index < operands.size() ? operands[index] : instructions[index - operands.size()].result;
  }
};

// "float32, float32: t2 = add(t0, t1) float32; t3 = relu(t2) float32; -> t3".
std::string to_string(const ElementwiseProgram& program);
bool operator==(const ElementwiseProgram& a, const ElementwiseProgram& b);

}  // namespace pando
