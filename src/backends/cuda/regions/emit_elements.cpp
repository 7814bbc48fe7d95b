// SPDX-License-Identifier: Apache-2.0
// Phases of elementwise programs and of transposes. An elementwise member that alone reads what another one makes
// follows it: the thread that has an element of the one goes on with that of the other, so that no phase stores it,
// hands it to other blocks and waits for them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "backends/cuda/regions/emitter.h"
#include "ops/op_list.h"
#include "plan/call_program.h"

namespace pando::cuda {

namespace {

// Up to this much work every block makes all elements for itself: handing them to each other takes longer. An element
// counts as a few instructions of its program.
constexpr std::int64_t most_own_work = 64 * 1024, work_of_element = 4;

// The element of a broadcast operand for element `i` of a result, both without the axis of samples.
std::string index_text(const Shape& operand, const Shape& result, bool by_sample) {
  std::string text;
  std::int64_t stride = 1, run = 1;
  bool is_whole = true;
  for (int axis = result.rank() - 1; axis >= 1; --axis) {
    const int own = axis - (result.rank() - operand.rank());
    const std::int64_t size = own < (by_sample ? 1 : 0) ? 1 : operand[own];
    if (size > 1) text += fmt::format("{}i / {} % {} * {}", text.empty() ? "" : " + ", run, result[axis], stride);
    is_whole = is_whole && size == result[axis];
    stride *= size;
    run *= result[axis];
  }
  if (is_whole) return "i";
  return text.empty() ? "0" : text;
}

std::string instruction_text(const ElementwiseProgram& program, const ElementwiseProgram::Instruction& instruction) {
  const auto name = [](std::int32_t value) { return fmt::format("v{}", value); };
  const auto& arguments = instruction.arguments;
  if (instruction.op->id == Op::select)
    return fmt::format("{} ? {} : {}", name(arguments[0]), name(arguments[1]), name(arguments[2]));
  if (instruction.op->id == Op::cast)
    return fmt::format("cast_to<{}>({})", type_name(instruction.result), name(arguments[0]));
  std::vector<std::string> names;
  for (std::int32_t argument : arguments)
    if (argument >= 0) names.push_back(name(argument));
  const bool is_logical = instruction.op->id == Op::logical_and || instruction.op->id == Op::logical_or ||
                          instruction.op->id == Op::logical_not;
  if (is_logical) return fmt::format("scalar::{}()({})", instruction.op->name, fmt::join(names, ", "));
  const std::string numbers = fmt::format("{}, {}", literal(instruction.parameters[0], DType::float64),
                                          literal(instruction.parameters[1], DType::float64));
  return fmt::format("[&] {{ const double numbers[] = {{{}}}; return scalar::{}<{}>(numbers)({}); }}()", numbers,
                     instruction.op->name, type_name(program.dtype(arguments[0])), fmt::join(names, ", "));
}

// Whether a member makes each element of its only result once, in a thread that may go on with it.
bool can_be_followed(const Member& member) {
  if (member.kind != Membership::local || member.outputs.size() != 1) return false;
  switch (member.call.op->id) {
    case Op::matmul:
    case Op::conv2d:
    case Op::conv2d_input_gradient:
    case Op::conv2d_max_pool_input_gradient:
    case Op::dropout:
    case Op::max_pool_gradient:
    case Op::transpose: return true;
    default: return member.call.op->elementwise;
  }
}

bool contains(const std::vector<int>& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

std::string instructions_text(const ElementwiseProgram& program) {
  std::string text;
  for (std::size_t i = 0; i < program.instructions.size(); ++i)
    text += fmt::format("const {} v{} = {}; ", type_name(program.instructions[i].result), program.operands.size() + i,
                        instruction_text(program, program.instructions[i]));
  return text;
}

// The only member that reads what this one makes, if it can follow it.
std::size_t Emitter::find_follower(std::size_t first, std::size_t last) const {
  const std::size_t none = members_.size();
  const int value = members_[last].outputs[0];
  if (members_[last].outputs.size() != 1 || value < 0) return none;
  const PlanValue& known = values_.values[static_cast<std::size_t>(value)];
  const auto is_inside = [&](int reader) {
    return found_.is(reader, Membership::local) || found_.is(reader, Membership::sum);
  };
  if (known.leaves || !std::all_of(known.readers.begin(), known.readers.end(), is_inside)) return none;
  std::size_t only = none;
  for (std::size_t i = 0; i < members_.size(); ++i)
    if (contains(members_[i].inputs, value)) {
      if (only != none) return none;
      only = i;
    }
  if (only == none || !members_[only].call.op->elementwise || members_[only].kind != Membership::local) return none;
  const Member& reader = members_[only];
  const Shape& result = reader.call.outputs[0].type.shape;
  for (std::size_t i = 0; i < reader.inputs.size(); ++i) {
    const int input = reader.inputs[i];
    if (input == value) {
      const bool by_sample = reads_by_sample(reader.call, i, found_.batch);
      if (!by_sample || index_text(reader.call.inputs[i].type.shape, result, by_sample) != "i") return none;
      continue;
    }
    // What else it reads must be there before the first one begins.
    for (std::size_t later = first; later < members_.size(); ++later)
      if (contains(members_[later].outputs, input)) return none;
  }
  return only;
}

void Emitter::let_follow() {
  for (std::size_t first = 0; first < members_.size(); ++first) {
    if (!can_be_followed(members_[first])) continue;
    std::size_t last = first;
    for (std::size_t next; (next = find_follower(first, last)) < members_.size(); ++last) {
      // It comes right after the one that it follows.
      const auto from = members_.begin() + static_cast<std::ptrdiff_t>(next);
      std::rotate(members_.begin() + static_cast<std::ptrdiff_t>(last) + 1, from, from + 1);
      members_[last + 1].follows = true;
      members_[last].follower = static_cast<int>(last) + 1;
    }
    first = last;
  }
}

std::string Emitter::operand_text(const Member& member, std::size_t input) {
  if (const std::string constant = constant_text(member.call.inputs[input]); !constant.empty()) return constant;
  return fmt::format("{}[{}]", pointer(member, input),
                     index_text(member.call.inputs[input].type.shape, member.call.outputs[0].type.shape,
                                reads_by_sample(member.call, input, found_.batch)));
}

std::vector<std::string> Emitter::operands_text(const Member& member, std::size_t first) {
  std::vector<std::string> texts;
  for (std::size_t input = first; input < member.call.inputs.size(); ++input)
    texts.push_back(operand_text(member, input));
  return texts;
}

std::string Emitter::value_text(const ElementwiseProgram& program, const std::vector<std::string>& operands) {
  std::string text;
  for (std::size_t i = 0; i < program.operands.size(); ++i)
    text += fmt::format("const {} v{} = {}; ", type_name(program.operands[i]), i, operands[i]);
  return text + instructions_text(program);
}

std::string Emitter::program_text(const Member& member, const ElementwiseProgram& program,
                                  const std::vector<std::string>& operands, const std::string& put) {
  std::string text = value_text(program, operands);
  for (std::size_t i = 0; i < program.results.size(); ++i)
    text += put_text(member, i, fmt::format("v{}", program.results[i]), put);
  return text;
}

std::string Emitter::put_text(const Member& member, std::size_t output, const std::string& value,
                              const std::string& put) {
  if (member.follower < 0) {
    const std::string to = out(member, output);
    return to.empty() ? "" : fmt::format("{}.{}(t, i, {}); ", to, put, value);
  }
  const Member& next = members_[static_cast<std::size_t>(member.follower)];
  std::vector<std::string> operands;
  for (std::size_t input = 0; input < next.inputs.size(); ++input)
    operands.push_back(next.inputs[input] == member.outputs[output] ? "value" : operand_text(next, input));
  // The names of the follower's values are those of a scope of its own.
  return fmt::format("{{ const {} value = {}; {{ {}}} }} ", type_name(member.call.outputs[output].type.dtype), value,
                     program_text(next, program_of(next.call), operands, put));
}

std::string Emitter::finish_text(const Member& member, const std::string& value, const std::string& put) {
  const auto program = member.call.attributes.program("epilogue");
  if (program == nullptr) return put_text(member, 0, value, put);
  std::vector<std::string> operands = operands_text(member, 2);
  operands.insert(operands.begin(), value);
  return program_text(member, *program, operands, put);
}

void Emitter::emit_elementwise(const Member& member) {
  const std::int64_t elements = per_sample(member.call.outputs[0].type);
  const ElementwiseProgram program = program_of(member.call);
  const auto instructions = static_cast<std::int64_t>(program.instructions.size());
  const bool is_own = ranks_ == 1 || elements * (work_of_element + instructions) <= most_own_work;
  const std::string put = !is_own ? "put" : elements <= threads_ ? "put_own" : "put_in_turns";
  const std::string body = program_text(member, program, operands_text(member, 0), put);
  phase(!is_own, fmt::format("{}<{}>(t, [&](int i) {{ {}}})", is_own ? "each_own" : "each", elements, body));
}

// Every block does it for itself. Threads next to each other have elements next to each other either of what is read or
// of the result, whichever lets them reach other banks of shared memory on the other side.
void Emitter::emit_transpose(const Member& member) {
  const Shape &from = member.call.inputs[0].type.shape, &result = member.call.outputs[0].type.shape;
  const Integers& permutation = member.call.attributes.integers("permutation");
  // Where element `name` of one side is on the other side.
  std::string read_index, put_index;
  std::int64_t read_stride = 1, put_stride = 1;
  for (int axis = 1; axis < result.rank(); ++axis) {
    const auto own = static_cast<int>(permutation[static_cast<std::size_t>(axis)]);
    const std::string_view plus = axis == 1 ? "" : " + ";
    read_index += fmt::format("{}i / {} % {} * {}", plus, result.stride(axis), result[axis], from.stride(own));
    put_index += fmt::format("{}from / {} % {} * {}", plus, from.stride(own), from[own], result.stride(axis));
    if (axis == result.rank() - 1) read_stride = from.stride(own);
    if (own == result.rank() - 1) put_stride = result.stride(axis);
  }
  constexpr std::int64_t banks = 32;
  const bool by_result = std::gcd(read_stride, banks) <= std::gcd(put_stride, banks);
  const std::string index = by_result ? read_index : put_index;
  phase(false, fmt::format("each_own<{}>(t, [&](int {}) {{ const int {} = {}; const {} moved = {}[from]; {}}})",
                           per_sample(member.call.outputs[0].type), by_result ? "i" : "from", by_result ? "from" : "i",
                           index.empty() ? "0" : index, type_name(member.call.outputs[0].type.dtype),
                           pointer(member, 0), put_text(member, 0, "moved", "put_in_turns")));
}

void Emitter::emit_advances() {
  const auto store = [](const Type& type, int pointer, std::int32_t value) {
    return fmt::format("reinterpret_cast<{}*>(g{})[0] = v{}; ", type_name(type.dtype), pointer, value);
  };
  for (std::size_t call = 0; call < values_.calls.size(); ++call) {
    if (found_.membership[call] != Membership::advance) continue;
    call_ = static_cast<int>(call);
    const Member member{*values_.calls[call], values_.inputs[call], values_.outputs[call], Membership::advance, call_};
    const ElementwiseProgram program = program_of(member.call);
    std::string text = value_text(program, operands_text(member, 0));
    for (std::size_t i = 0; i < member.inputs.size(); ++i)
      if (constant_text(member.call.inputs[i]).empty())
        text +=
            store(member.call.inputs[i].type, pointers_.pass_on(member.inputs[i], member.call.inputs[i].type.bytes()),
                  static_cast<std::int32_t>(i));
    text += store(member.call.outputs[0].type,
                  pointers_.of_value(Pointers::Kind::output, member.outputs[0], member.call.outputs[0]),
                  program.results[0]);
    phase(false,
          fmt::format("if (sample == 0 && t.rank == 0 && t.index == threads - 1) {{ const int i = 0; {}}}", text));
  }
}

}  // namespace pando::cuda
