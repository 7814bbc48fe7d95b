// SPDX-License-Identifier: Apache-2.0
// Phases of elementwise programs, of products of rows and of losses.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backends/cuda/regions/emitter.h"
#include "ops/op_list.h"
#include "plan/call_program.h"

namespace pando::cuda {

namespace {

// Many parts of a sum are summed in two phases.
constexpr std::int64_t least_parts_of_chunks = 24, parts_of_chunk = 8;
// Multiplications of a thread for which blocks do not split a product: handing parts around takes longer. And those
// that a thread does one after the other.
constexpr std::int64_t most_work_of_whole = 6, most_depth_at_once = 32;

// How many numbers a thread loads at once from rows of that length.
std::int64_t width_of(std::int64_t row) { return row % 4 == 0 ? 4 : row % 2 == 0 ? 2 : 1; }

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

}  // namespace

std::string instructions_text(const ElementwiseProgram& program) {
  std::string text;
  for (std::size_t i = 0; i < program.instructions.size(); ++i)
    text += fmt::format("const {} v{} = {}; ", type_name(program.instructions[i].result), program.operands.size() + i,
                        instruction_text(program, program.instructions[i]));
  return text;
}

std::string Emitter::value_text(const Member& member, const ElementwiseProgram& program, std::size_t first_operand,
                                const std::string& first, const Shape& result) {
  std::string text;
  for (std::size_t i = 0; i < program.operands.size(); ++i) {
    std::string from = first;
    if (first.empty() || i > 0) {
      const std::size_t input = first_operand + i - (first.empty() ? 0 : 1);
      from = constant_text(member.call.inputs[input]);
      if (from.empty())
        from = fmt::format("{}[{}]", pointer(member, input),
                           index_text(member.call.inputs[input].type.shape, result,
                                      reads_by_sample(member.call, input, found_.batch)));
    }
    text += fmt::format("const {} v{} = {}; ", type_name(program.operands[i]), i, from);
  }
  return text + instructions_text(program);
}

std::string Emitter::program_text(const Member& member, const ElementwiseProgram& program, std::size_t first_operand,
                                  const std::string& first, std::size_t first_output, const std::string& put) {
  std::string text = value_text(member, program, first_operand, first, member.call.outputs[first_output].type.shape);
  for (std::size_t i = 0; i < program.results.size(); ++i)
    if (const std::string to = out(member, first_output + i); !to.empty())
      text += fmt::format("{}.{}(t, i, v{}); ", to, put, program.results[i]);
  return text;
}

std::string Emitter::finish_text(const Member& member, const std::string& value, const std::string& put) {
  const auto program = member.call.attributes.program("epilogue");
  if (program != nullptr) return program_text(member, *program, 2, value, 0, put);
  const std::string to = out(member, 0);
  return to.empty() ? "" : fmt::format("{}.{}(t, i, {}); ", to, put, value);
}

void Emitter::emit(const Member& member) {
  if (member.call.op->elementwise) return emit_elementwise(member);
  switch (member.call.op->id) {
    case Op::matmul:
      return member.call.attributes.flag("transpose_b") ? emit_transposed_matmul(member) : emit_matmul(member);
    case Op::conv2d:
    case Op::conv2d_max_pool: return emit_convolution(member);
    case Op::conv2d_input_gradient: return emit_input_gradient(member);
    case Op::conv2d_max_pool_input_gradient: return emit_pooled_input_gradient(member);
    case Op::conv2d_weight_gradient: return emit_weight_gradient(member);
    case Op::conv2d_max_pool_weight_gradient: return emit_pooled_weight_gradient(member);
    case Op::max_pool:
    case Op::max_pool_gradient: return emit_pooling(member);
    case Op::dropout: return emit_dropout(member);
    case Op::transpose: return emit_transpose(member);
    case Op::reduce_sum:
    case Op::reduce_mean: return emit_column_sums(member);
    case Op::argmax: {
      const std::string from = pointer(member, 0), to = out(member, 0);
      if (!to.empty())
        phase(false, fmt::format("each_own<1>(t, [&](int) {{ {}.put_own(t, 0, largest_at<{}>({})); }})", to,
                                 member.call.inputs[0].type.shape[1], from));
      return;
    }
    case Op::broadcast: {
      const std::int64_t elements = per_sample(member.call.outputs[0].type);
      std::string from = constant_text(member.call.inputs[0]);
      if (from.empty()) from = pointer(member, 0) + "[0]";
      if (const std::string to = out(member, 0); !to.empty())
        phase(false, fmt::format("each_own<{}>(t, [&](int i) {{ {}.put_own(t, i, {}); }})", elements, to, from));
      return;
    }
    default: return emit_loss(member);
  }
}

void Emitter::emit_elementwise(const Member& member) {
  const std::int64_t elements = per_sample(member.call.outputs[0].type);
  const ElementwiseProgram program = program_of(member.call);
  // A few elements are made by every block for itself.
  const bool is_own = elements <= threads_;
  const std::string body = program_text(member, program, 0, "", 0, is_own ? "put_own" : "put");
  phase(!is_own, fmt::format("{}<{}>(t, [&](int i) {{ {}}})", is_own ? "each_own" : "each", elements, body));
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
    std::string text = value_text(member, program, 0, "", member.call.outputs[0].type.shape);
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

void Emitter::emit_matmul(const Member& member) {
  const Shape& matrix = member.call.inputs[1].type.shape;
  const std::int64_t depth = matrix[0], columns = matrix[1];
  const bool is_whole = ranks_ == 1 || depth * columns <= most_work_of_whole * threads_;
  const bool by_columns = !is_whole && columns % (32 * ranks_) == 0;
  const std::string_view split = is_whole ? "Split::none" : by_columns ? "Split::columns" : "Split::depth";
  const std::int64_t own_columns = by_columns ? columns / ranks_ : columns;
  const std::int64_t own_depth = is_whole || by_columns ? depth : (depth + ranks_ - 1) / ranks_;
  const std::int64_t width = width_of(own_columns), groups = own_columns / width;
  const std::int64_t parts = std::clamp<std::int64_t>(threads_ / groups, 1, own_depth);
  std::string product = fmt::format("RowProduct<{}, {}, {}, {}, {}>", depth, columns, width, parts, split);
  std::string sums = scratch(groups * parts * width);
  phase(false, fmt::format("multiply_row<{}>(t, {}, {}, {})", product, pointer(member, 0), pointer(member, 1), sums));
  if (parts >= least_parts_of_chunks) {
    const std::int64_t chunks = (parts + parts_of_chunk - 1) / parts_of_chunk;
    const std::string chunk_sums = scratch(own_columns * chunks);
    phase(false, fmt::format("sum_chunks<{}, {}>(t, {}, {})", product, parts_of_chunk, sums, chunk_sums));
    sums = chunk_sums;
    product = fmt::format("RowProduct<{}, {}, {}, {}, {}>", depth, columns, width, chunks, split);
  }
  if (by_columns || is_whole) {
    phase(by_columns, fmt::format("sum_parts<{}>(t, {}, [&](int i, float sum) {{ {}}})", product, sums,
                                  finish_text(member, "sum", by_columns ? "put" : "put_own")));
    return;
  }
  const std::string all = scratch(columns * ranks_);
  phase(true, fmt::format("sum_parts<{}>(t, {}, [&](int i, float sum) {{ Out<float, true, false>{{{}, nullptr}}.put(t, "
                          "t.rank * {} + i, sum); }})",
                          product, sums, all, columns));
  phase(false, fmt::format("sum_ranks<{}>(t, {}, [&](int i, float sum) {{ {}}})", product, all,
                           finish_text(member, "sum", "put_own")));
}

void Emitter::emit_transposed_matmul(const Member& member) {
  const Shape& matrix = member.call.inputs[1].type.shape;
  const std::int64_t results = matrix[0], depth = matrix[1], width = width_of(depth);
  const bool is_whole = results * depth <= most_work_of_whole * threads_ && depth <= most_depth_at_once;
  const std::int64_t parts = !is_whole && depth / width >= 8 ? 8 : 1;
  const std::string product = fmt::format("TransposedProduct<{}, {}, {}, {}>", results, depth, width, parts);
  if (is_whole) {
    phase(false, fmt::format("multiply_transposed_at_once<{}>(t, {}, {}, [&](int i, float sum) {{ {}}})", product,
                             pointer(member, 0), pointer(member, 1), finish_text(member, "sum", "put_own")));
    return;
  }
  const std::string sums = scratch(share(results) * parts);
  phase(false,
        fmt::format("multiply_transposed<{}>(t, {}, {}, {})", product, pointer(member, 0), pointer(member, 1), sums));
  phase(true, fmt::format("sum_transposed<{}>(t, {}, [&](int i, float sum) {{ {}}})", product, sums,
                          finish_text(member, "sum", "put")));
}

void Emitter::emit_loss(const Member& member) {
  const std::int64_t classes = member.call.inputs[0].type.shape[1];
  const std::string logits = pointer(member, 0), exponentials = scratch(classes);
  phase(false, fmt::format("exponentials<{}>(t, {}, {})", classes, logits, exponentials));
  const auto put = [&](std::size_t output, const std::string& value, const std::string& index) {
    const std::string to = out(member, output);
    return to.empty() ? to : fmt::format("{}.put_own(t, {}, {}); ", to, index, value);
  };
  if (member.call.op->id == Op::softmax || member.call.op->id == Op::log_softmax) {
    const std::string value = member.call.op->id == Op::softmax ? "probability" : "logarithm";
    phase(false, fmt::format("softmax<{}>(t, {}, {}, [&](int i, float probability, float logarithm) {{ {}}})", classes,
                             logits, exponentials, put(0, value, "i")));
    return;
  }
  const std::string loss = put(0, "loss", "0"), delta = put(1, "delta", "i");
  const std::string body =
      fmt::format("[&](int i, float delta, float loss) {{ {}{}}}", loss.empty() ? "" : "if (i == 0) " + loss, delta);
  if (member.call.op->id == Op::softmax_cross_entropy) {
    phase(false,
          fmt::format("cross_entropy<{}>(t, {}, {}, {}, {})", classes, logits, exponentials, pointer(member, 1), body));
    return;
  }
  const Integers& ignored = member.call.attributes.integers("ignored");
  const std::string label = pointer(member, 1) + "[0]";
  phase(false, fmt::format("sparse_cross_entropy<{}>(t, {}, {}, {}, {}, {})", classes, logits, exponentials, label,
                           ignored.empty() ? "true" : fmt::format("{} != {}", label, ignored[0]), body));
}

void Emitter::emit_dropout(const Member& member) {
  const std::int64_t elements = per_sample(member.call.outputs[0].type);
  const double rate = member.call.attributes.number("rate");
  const std::string x = pointer(member, 0), counter = pointer(member, 1), to = out(member, 0);
  if (to.empty()) return;
  phase(true, fmt::format("drop<{}>(t, {}ull, {}u, {}, sample, {}, {}, {}, {})", elements,
                          static_cast<std::uint64_t>(member.call.attributes.integer("seed")),
                          static_cast<std::uint32_t>(member.call.attributes.integer("stream")), counter,
                          literal(static_cast<float>(rate), DType::float32),
                          literal(static_cast<float>(1 / (1 - rate)), DType::float32), x, to));
}

void Emitter::emit_transpose(const Member& member) {
  const Shape &from = member.call.inputs[0].type.shape, &result = member.call.outputs[0].type.shape;
  const Integers& permutation = member.call.attributes.integers("permutation");
  std::string index;
  std::int64_t run = 1;
  for (int axis = result.rank() - 1; axis >= 1; --axis) {
    const auto own = static_cast<int>(permutation[static_cast<std::size_t>(axis)]);
    index += fmt::format("{}i / {} % {} * {}", index.empty() ? "" : " + ", run, result[axis], from.stride(own));
    run *= result[axis];
  }
  const std::string x = pointer(member, 0), to = out(member, 0);
  phase(true, fmt::format("each<{}>(t, [&](int i) {{ {}.put(t, i, {}[{}]); }})",
                          per_sample(member.call.outputs[0].type), to, x, index.empty() ? "0" : index));
}

void Emitter::emit_column_sums(const Member& member) {
  const std::int64_t columns = member.call.outputs[0].type.shape.elements();
  const std::int64_t rows = per_sample(member.call.inputs[0].type) / columns, own = share(columns);
  const std::int64_t parts = choose_parts(own, rows, own);
  const std::string x = pointer(member, 0), to = sum_text(member, columns);
  if (rows == 1) {
    phase(false, fmt::format("const Sum to = {}; each<{}>(t, [&](int i) {{ to.put(i, {}[i]); }})", to, columns, x));
    return;
  }
  const std::string sums = scratch(own * parts);
  phase(false, fmt::format("sum_columns<{}, {}, {}>(t, {}, {})", rows, columns, parts, x, sums));
  phase(false, fmt::format("finish_columns<{}, {}>(t, {}, {})", columns, parts, sums, to));
}

}  // namespace pando::cuda
