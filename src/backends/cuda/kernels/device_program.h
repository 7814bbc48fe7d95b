// SPDX-License-Identifier: Apache-2.0
// Elementwise programs as the parameters of a kernel: what is the same in every launch, worked out on the host.
#pragma once
#include <algorithm>

#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/strides.h"
#include "plan/call_program.h"

namespace pando::cuda {

// The position of each op in ops.def; it is its number in enum Op.
enum class Index : std::uint16_t {
#define PANDO_OP(name) name,
#include "ops/ops.def"
};

// How an operand is found for an element.
struct Source {
  enum class Kind : std::uint8_t {
    direct,    // it has the elements of the result
    periodic,  // element i / run % period: a scalar, a row, a column, what belongs to channels
    strided,   // anything else: by its strides along the axes of the program
  };
  const std::byte* data;
  Kind kind;
  std::uint8_t bytes;
  std::int64_t run, period;
  std::int64_t strides[Shape::max_rank];
};

// Arguments: a register if it is not negative, or operand -1 - x. The result is the register of its own number.
struct Step {
  Index op;
  DType dtype, result;
  std::int8_t arguments[3];
  double parameters[2];
};

// A result, and the register that holds it.
struct Target {
  std::byte* data;
  std::int8_t value;
  std::uint8_t bytes;
};

// The parameters of a kernel. Small programs have a small one, which is sent faster, and registers that stay such.
template <int most_steps_, int most_sources_, int most_targets_>
struct DeviceProgram {
  static constexpr int most_steps = most_steps_, most_sources = most_sources_, most_targets = most_targets_;
  std::int64_t elements = 0;
  int rank = 0, steps = 0, sources = 0, targets = 0;
  std::int64_t sizes[Shape::max_rank] = {};
  Step step[most_steps] = {};
  Source source[most_sources] = {};
  Target target[most_targets] = {};
};
constexpr int most_instructions = static_cast<int>(most_fused_instructions);
// An instruction may have up to three new operands (select). A result that is also an operand is copied by one more
// step.
using LargeProgram = DeviceProgram<2 * most_instructions, 2 * most_instructions + 1, 2 * most_instructions>;
using SmallProgram = DeviceProgram<8, 8, 4>;
using SingleProgram = DeviceProgram<1, 3, 1>;

// The axes of the result with the strides of each operand.
inline Axes axes_of(const KernelCall& call, const Shape& shape) {
  std::vector<std::vector<std::int64_t>> strides;
  for (const Operand& operand : call.inputs) strides.push_back(broadcast_strides(operand.type.shape, shape));
  Axes axes;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    axes.push_back({shape[axis], {}});
    for (const auto& own : strides) axes.back().strides.push_back(own[static_cast<std::size_t>(axis)]);
  }
  return collapse(axes);
}

// How the operand is read: most have a simple pattern.
inline Source source_of(const Operand& operand, const Shape& shape) {
  const Shape& own = operand.type.shape;
  Source source{.data = nullptr,
                .kind = Source::Kind::direct,
                .bytes = static_cast<std::uint8_t>(size_of(operand.type.dtype)),
                .run = 1,
                .period = 1,
                .strides = {}};
  if (own.elements() == shape.elements()) return source;
  Axes axes;
  const std::vector<std::int64_t> strides = broadcast_strides(own, shape);
  for (int axis = 0; axis < shape.rank(); ++axis)
    axes.push_back({shape[axis], {strides[static_cast<std::size_t>(axis)]}});
  axes = collapse(axes);
  source.kind = Source::Kind::periodic;
  if (own.elements() == 1) return source;
  const auto stride = [&](std::size_t axis) { return axes[axis].strides[0]; };
  if (!axes.empty() && stride(axes.size() - 1) == 0) {
    source.run = axes.back().size;
    axes.pop_back();
  }
  source.period = axes.back().size;
  const bool repeats = axes.size() == 1 || (axes.size() == 2 && stride(0) == 0);
  if (stride(axes.size() - 1) != 1 || !repeats) source.kind = Source::Kind::strided;
  return source;
}

template <class Program>
Program translate(const ElementwiseProgram& program, const KernelCall& call) {
  const Shape& shape = call.outputs.front().type.shape;
  const auto operands = static_cast<std::int32_t>(program.operands.size());
  const auto place = [&](std::int32_t value) {
    return static_cast<std::int8_t>(value < operands ? -1 - value : value - operands);
  };
  Program made;
  made.elements = shape.elements();
  const Axes axes = axes_of(call, shape);
  made.rank = static_cast<int>(axes.size());
  for (std::size_t axis = 0; axis < axes.size(); ++axis) made.sizes[axis] = axes[axis].size;
  for (std::size_t i = 0; i < program.operands.size(); ++i) {
    Source& source = made.source[made.sources++] = source_of(call.inputs[i], shape);
    for (std::size_t axis = 0; axis < axes.size(); ++axis) source.strides[axis] = axes[axis].strides[i];
  }
  for (const auto& instruction : program.instructions) {
    Step& step = made.step[made.steps++];
    step.op = static_cast<Index>(instruction.op->id);
    step.result = instruction.result;
    int last = 0;
    while (last < 2 && instruction.arguments[static_cast<std::size_t>(last) + 1] >= 0) ++last;
    step.dtype = program.dtype(instruction.arguments[static_cast<std::size_t>(last)]);
    // An argument that is not read may have any value.
    for (int a = 0; a < 3; ++a)
      step.arguments[a] = place(instruction.arguments[static_cast<std::size_t>(a <= last ? a : 0)]);
    std::copy(instruction.parameters.begin(), instruction.parameters.end(), step.parameters);
  }
  for (std::int32_t value : program.results) {
    Target& target = made.target[made.targets++];
    target.value = place(value);
    if (value < operands) {
      Step& copy = made.step[made.steps];
      copy.op = Index::cast;
      copy.dtype = copy.result = program.dtype(value);
      std::fill_n(copy.arguments, 3, target.value);
      target.value = static_cast<std::int8_t>(made.steps++);
    }
    target.bytes = static_cast<std::uint8_t>(size_of(program.dtype(value)));
  }
  return made;
}

inline bool is_wide(const ElementwiseProgram& program) {
  const auto takes_8_bytes = [](DType dtype) { return size_of(dtype) == 8; };
  return std::any_of(program.operands.begin(), program.operands.end(), takes_8_bytes) ||
         std::any_of(program.instructions.begin(), program.instructions.end(),
                     [&](const auto& instruction) { return takes_8_bytes(instruction.result); });
}

template <class Program>
bool fits(const ElementwiseProgram& program) {
  const auto operands = static_cast<std::int32_t>(program.operands.size());
  const auto copies = std::count_if(program.results.begin(), program.results.end(),
                                    [&](std::int32_t value) { return value < operands; });
  return program.instructions.size() + static_cast<std::size_t>(copies) <= Program::most_steps &&
         program.operands.size() <= Program::most_sources && program.results.size() <= Program::most_targets;
}

}  // namespace pando::cuda
