// SPDX-License-Identifier: Apache-2.0
// Kernels of all elementwise ops: a single node is a program of one instruction. A thread takes one element through the
// whole program: values are in its registers, operands are read when an instruction needs them, and results are written
// at the end, because a result may be the memory of an operand.
#include <algorithm>

#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/casts.cuh"
#include "backends/cuda/kernels/strides.h"
#include "backends/cuda/launch.h"
#include "graph/elementwise_program.h"
#include "ops/scalar.h"

namespace pando::cuda {

namespace {

// The position of each op in ops.def; it is its number in enum Op.
enum class Index : std::uint16_t {
#define PANDO_OP(name) name,
#include "ops/ops.def"
};

// select may have three new operands in each instruction; each may be a result.
constexpr std::size_t most_instructions = most_fused_instructions, most_operands = 2 * most_instructions + 1,
                      most_results = 2 * most_instructions;

// How an operand is found for an element: where it is, or by its strides along the axes of the program.
struct Source {
  enum class Kind : std::uint8_t { direct, scalar, strided };
  const std::byte* data;
  Kind kind;
  std::uint8_t bytes;
  std::int64_t strides[Shape::max_rank];
};

// Arguments and results: a register if it is not negative, or operand -1 - x.
struct Step {
  Index op;
  DType dtype, result;
  std::int8_t arguments[3];
  double parameters[2];
};

struct Target {
  std::byte* data;
  std::int8_t value;
  std::uint8_t bytes;
};

struct DeviceProgram {
  std::int64_t elements = 0;
  int rank = 0, steps = 0, results = 0;
  std::int64_t sizes[Shape::max_rank] = {};
  Step step[most_instructions] = {};
  Source source[most_operands] = {};
  Target target[most_results] = {};
};

template <class T>
__device__ T number(Bits bits) {
  if constexpr (std::is_same_v<T, float>) return bits.float32;
  else if constexpr (std::is_same_v<T, double>) return bits.float64;
  else if constexpr (std::is_same_v<T, std::int32_t>) return bits.int32;
  else return bits.uint8;
}
__device__ Bits bits_of(float value) { return {.float32 = value}; }
__device__ Bits bits_of(double value) { return {.float64 = value}; }
__device__ Bits bits_of(std::int32_t value) { return {.int32 = value}; }
__device__ Bits bits_of(bool value) { return {.uint8 = value}; }

template <template <class> class F, class T>
__device__ Bits unary(const Step& step, Bits a) {
  return bits_of(F<T>(step.parameters)(number<T>(a)));
}
template <template <class> class F, class T>
__device__ Bits binary(const Step& step, Bits a, Bits b) {
  return bits_of(F<T>(step.parameters)(number<T>(a), number<T>(b)));
}

// Programs without float64 get a kernel without its instructions, which need many registers.
template <bool has_doubles>
__device__ Bits compute(const Step& step, Bits a, Bits b, Bits c) {
  [[maybe_unused]] const bool is_double = has_doubles && step.dtype == DType::float64;
  switch (step.op) {
#define PANDO_DOUBLE(call) \
  if constexpr (has_doubles) \
    if (is_double) return call;
#define PANDO_UNARY(name)                                     \
  case Index::name:                                           \
    PANDO_DOUBLE((unary<scalar::name, double>(step, a)))      \
    return unary<scalar::name, float>(step, a);
#define PANDO_UNARY_NUMERIC(name)                                                                \
  case Index::name:                                                                              \
    PANDO_DOUBLE((unary<scalar::name, double>(step, a)))                                         \
    return step.dtype == DType::int32 ? unary<scalar::name, std::int32_t>(step, a)               \
                                      : unary<scalar::name, float>(step, a);
#define PANDO_BINARY(name)                                    \
  case Index::name:                                           \
    PANDO_DOUBLE((binary<scalar::name, double>(step, a, b)))  \
    return binary<scalar::name, float>(step, a, b);
#define PANDO_BINARY_NUMERIC(name)                                                               \
  case Index::name:                                                                              \
    PANDO_DOUBLE((binary<scalar::name, double>(step, a, b)))                                     \
    return step.dtype == DType::int32 ? binary<scalar::name, std::int32_t>(step, a, b)           \
                                      : binary<scalar::name, float>(step, a, b);
#define PANDO_COMPARISON(name)                                                                   \
  case Index::name:                                                                              \
    PANDO_DOUBLE((binary<scalar::name, double>(step, a, b)))                                     \
    if (step.dtype == DType::boolean) return binary<scalar::name, std::uint8_t>(step, a, b);     \
    return step.dtype == DType::int32 ? binary<scalar::name, std::int32_t>(step, a, b)           \
                                      : binary<scalar::name, float>(step, a, b);
#define PANDO_LOGICAL_1(name) \
  case Index::name: return bits_of(scalar::name()(a.uint8 != 0));
#define PANDO_LOGICAL_2(name) \
  case Index::name: return bits_of(scalar::name()(a.uint8 != 0, b.uint8 != 0));
#define PANDO_OP(name)
#include "ops/ops.def"
#undef PANDO_DOUBLE
    case Index::select: return a.uint8 != 0 ? b : c;
    case Index::cast: return cast_bits<has_doubles>(step.dtype, step.result, a);
    default: return a;
  }
}

__device__ Bits load(const std::byte* data, std::int64_t offset, int bytes) {
  Bits bits{.int64 = 0};
  switch (bytes) {
    case 1: bits.uint8 = reinterpret_cast<const std::uint8_t*>(data)[offset]; break;
    case 2: bits.bfloat16 = reinterpret_cast<const std::uint16_t*>(data)[offset]; break;
    case 4: bits.int32 = reinterpret_cast<const std::int32_t*>(data)[offset]; break;
    default: bits.int64 = reinterpret_cast<const std::int64_t*>(data)[offset];
  }
  return bits;
}

__device__ void store(std::byte* data, std::int64_t offset, int bytes, Bits bits) {
  switch (bytes) {
    case 1: reinterpret_cast<std::uint8_t*>(data)[offset] = bits.uint8; break;
    case 2: reinterpret_cast<std::uint16_t*>(data)[offset] = bits.bfloat16; break;
    case 4: reinterpret_cast<std::int32_t*>(data)[offset] = bits.int32; break;
    default: reinterpret_cast<std::int64_t*>(data)[offset] = bits.int64;
  }
}

// The element's index along each axis; only strided operands need it.
__device__ void find_indices(const DeviceProgram& program, std::int64_t element, std::int64_t* indices) {
  for (int axis = program.rank - 1; axis >= 0; --axis) {
    const std::int64_t size = program.sizes[axis];
    const bool is_short = (element | size) >> 32 == 0;
    const std::int64_t rest =
        is_short ? static_cast<std::uint32_t>(element) / static_cast<std::uint32_t>(size) : element / size;
    indices[axis] = element - rest * size;
    element = rest;
  }
}

template <bool has_doubles>
__global__ void __launch_bounds__(block_threads) run_program(const __grid_constant__ DeviceProgram program) {
  Bits registers[most_results];
  std::int64_t indices[Shape::max_rank];
  for (std::int64_t i = first_element(); i < program.elements; i += element_stride()) {
    find_indices(program, i, indices);
    const auto value = [&](int argument) {
      if (argument >= 0) return registers[argument];
      const Source& source = program.source[-1 - argument];
      std::int64_t offset = source.kind == Source::Kind::direct ? i : 0;
      if (source.kind == Source::Kind::strided)
        for (int axis = 0; axis < program.rank; ++axis) offset += indices[axis] * source.strides[axis];
      return load(source.data, offset, source.bytes);
    };
    for (int s = 0; s < program.steps; ++s) {
      const Step& step = program.step[s];
      registers[s] = compute<has_doubles>(step, value(step.arguments[0]), value(step.arguments[1]), value(step.arguments[2]));
    }
    // All operands are read before any result is written.
    for (int r = 0; r < program.results; ++r)
      if (program.target[r].value < 0) registers[program.steps + r] = value(program.target[r].value);
    for (int r = 0; r < program.results; ++r) {
      const Target& target = program.target[r];
      if (target.data != nullptr)
        store(target.data, i, target.bytes, registers[target.value < 0 ? program.steps + r : target.value]);
    }
  }
}

ElementwiseProgram program_of(const KernelCall& call) {
  ElementwiseProgram program;
  ElementwiseProgram::Instruction instruction = {.op = call.op, .result = call.outputs.front().type.dtype};
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    program.operands.push_back(call.inputs[i].type.dtype);
    instruction.arguments[i] = static_cast<std::int32_t>(i);
  }
  for (std::size_t i = 0; i < call.op->parameters.size(); ++i)
    instruction.parameters[i] = call.attributes.number(call.op->parameters[i]);
  program.instructions = {instruction};
  program.results = {static_cast<std::int32_t>(program.operands.size())};
  return program;
}

// The axes of the result with the strides of each operand.
Axes axes_of(const KernelCall& call, const Shape& shape) {
  std::vector<std::vector<std::int64_t>> strides;
  for (const Operand& operand : call.inputs) strides.push_back(broadcast_strides(operand.type.shape, shape));
  Axes axes;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    axes.push_back({shape[axis], {}});
    for (const auto& own : strides) axes.back().strides.push_back(own[static_cast<std::size_t>(axis)]);
  }
  return collapse(axes);
}

DeviceProgram translate(const ElementwiseProgram& program, const KernelCall& call) {
  const Shape& shape = call.outputs.front().type.shape;
  const auto operands = static_cast<std::int32_t>(program.operands.size());
  if (program.operands.size() > most_operands || program.instructions.size() > most_instructions ||
      program.results.size() > most_results - program.instructions.size())
    throw InternalError("an elementwise program is too long for the GPU");
  const auto place = [&](std::int32_t value) {
    return static_cast<std::int8_t>(value < operands ? -1 - value : value - operands);
  };
  DeviceProgram made{.elements = shape.elements()};
  const Axes axes = axes_of(call, shape);
  made.rank = static_cast<int>(axes.size());
  for (std::size_t axis = 0; axis < axes.size(); ++axis) made.sizes[axis] = axes[axis].size;
  for (std::size_t i = 0; i < program.operands.size(); ++i) {
    Source& source = made.source[i];
    const std::int64_t own = call.inputs[i].type.shape.elements();
    source.kind = own == shape.elements() ? Source::Kind::direct : own == 1 ? Source::Kind::scalar : Source::Kind::strided;
    source.bytes = static_cast<std::uint8_t>(size_of(program.operands[i]));
    for (std::size_t axis = 0; axis < axes.size(); ++axis) source.strides[axis] = axes[axis].strides[i];
  }
  bool needs_indices = false;
  for (std::size_t i = 0; i < program.operands.size(); ++i) needs_indices |= made.source[i].kind == Source::Kind::strided;
  if (!needs_indices) made.rank = 0;
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
    Target& target = made.target[made.results++];
    target.value = place(value);
    target.bytes = static_cast<std::uint8_t>(size_of(program.dtype(value)));
  }
  return made;
}

bool has_float64(const ElementwiseProgram& program) {
  const auto is_double = [](DType dtype) { return dtype == DType::float64; };
  return std::any_of(program.operands.begin(), program.operands.end(), is_double) ||
         std::any_of(program.instructions.begin(), program.instructions.end(),
                     [&](const auto& instruction) { return is_double(instruction.result); });
}

std::unique_ptr<Kernel> elementwise(const KernelCall& call) {
  const ElementwiseProgram program = call.op->name == "fused" ? *call.attributes.program("program") : program_of(call);
  return make_kernel([made = translate(program, call), doubles = has_float64(program)](const Operands& operands,
                                                                                      cudaStream_t stream) {
    if (made.elements == 0) return;
    DeviceProgram bound = made;
    for (std::size_t i = 0; i < operands.inputs.size(); ++i) bound.source[i].data = operands.inputs[i];
    for (std::size_t i = 0; i < operands.outputs.size(); ++i) bound.target[i].data = operands.outputs[i];
    const unsigned blocks = blocks_for(made.elements);
    if (doubles) run_program<true><<<blocks, block_threads, 0, stream>>>(bound);
    else run_program<false><<<blocks, block_threads, 0, stream>>>(bound);
    check_launch("to launch an elementwise program");
  });
}

}  // namespace

namespace factories {

#define PANDO_ELEMENTWISE(name) \
  std::unique_ptr<Kernel> name(const KernelCall& call, const KernelContext&) { return elementwise(call); }
#define PANDO_UNARY(name) PANDO_ELEMENTWISE(name)
#define PANDO_UNARY_NUMERIC(name) PANDO_ELEMENTWISE(name)
#define PANDO_BINARY(name) PANDO_ELEMENTWISE(name)
#define PANDO_BINARY_NUMERIC(name) PANDO_ELEMENTWISE(name)
#define PANDO_COMPARISON(name) PANDO_ELEMENTWISE(name)
#define PANDO_LOGICAL_1(name) PANDO_ELEMENTWISE(name)
#define PANDO_LOGICAL_2(name) PANDO_ELEMENTWISE(name)
#include "ops/ops.def"
PANDO_ELEMENTWISE(select)
PANDO_ELEMENTWISE(cast)
PANDO_ELEMENTWISE(fused)
#undef PANDO_ELEMENTWISE

}  // namespace factories

}  // namespace pando::cuda
