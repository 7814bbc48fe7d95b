// SPDX-License-Identifier: Apache-2.0
// Phases of products of rows, of losses and of sums over samples.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/regions/emitter.h"
#include "ops/op_list.h"

namespace pando::cuda {

namespace {

// Many parts of a sum are summed in two phases.
constexpr std::int64_t least_parts_of_chunks = 24, parts_of_chunk = 8;
// Multiplications of a thread for which blocks do not split a product: handing parts around takes longer. And those
// that a thread does one after the other.
constexpr std::int64_t most_work_of_whole = 6, most_depth_at_once = 32;

// How many numbers a thread loads at once from rows of that length.
std::int64_t width_of(std::int64_t row) { return row % 4 == 0 ? 4 : row % 2 == 0 ? 2 : 1; }

}  // namespace

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
    case Op::softmax_gradient: {
      const std::string to = out(member, 0);
      if (!to.empty())
        phase(false, fmt::format("softmax_gradient<{}>(t, {}, {}, [&](int i, float dx) {{ {}.put_own(t, i, dx); }})",
                                 member.call.inputs[0].type.shape[1], pointer(member, 0), pointer(member, 1), to));
      return;
    }
    default: return emit_loss(member);
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
  const std::string body = put_text(member, 0, "dropped", "put");
  if (body.empty()) return;
  phase(true, fmt::format("drop<{}>(t, {}ull, {}u, {}, sample, {}, {}, {}, [&](int i, float dropped) {{ {}}})",
                          elements, static_cast<std::uint64_t>(member.call.attributes.integer("seed")),
                          static_cast<std::uint32_t>(member.call.attributes.integer("stream")), pointer(member, 1),
                          literal(static_cast<float>(rate), DType::float32),
                          literal(static_cast<float>(1 / (1 - rate)), DType::float32), pointer(member, 0), body));
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
