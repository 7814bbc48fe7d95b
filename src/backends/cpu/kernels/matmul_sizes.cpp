// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/matmul_sizes.h"

#include <algorithm>
#include <bit>

#include "backends/cpu/kernels/product.h"
#include "ops/op_list.h"
#include "plan/matrices.h"

namespace pando::cpu {

namespace {

// The elements at which the matrices of an operand with the batch axes `own` start, for all of `batch`.
std::vector<std::int64_t> batch_starts(const Shape& own, const Shape& batch, const Matrices& matrices) {
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0, count = batch.elements(); i < count; ++i) {
    std::int64_t start = matrices.first, left = i;
    for (int axis = batch.rank() - 1, from = own.rank() - 1; axis >= 0 && from >= 0; --axis, --from) {
      if (own[from] != 1) start += left % batch[axis] * matrices.strides[static_cast<std::size_t>(from)];
      left /= batch[axis];
    }
    starts.push_back(start);
  }
  return starts;
}

// The products, of this shape, in the result, whose axes may have another order.
Matrices products_in(const Operand& result, const Shape& shape, const Integers& permutation) {
  Operand products = {.type = {result.type.dtype, shape}};
  products.strides.resize(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    products.strides[static_cast<std::size_t>(permutation[i])] = result.type.shape.stride(static_cast<int>(i));
  return Matrices(products);
}

}  // namespace

MatmulSizes::MatmulSizes(const KernelCall& call)
    : transpose_a(call.attributes.flag("transpose_a")), transpose_b(call.attributes.flag("transpose_b")) {
  const Shape &a = call.inputs[0].type.shape, &b = call.inputs[1].type.shape;
  rows = a[a.rank() - (transpose_a ? 1 : 2)];
  inner = a[a.rank() - (transpose_a ? 2 : 1)];
  columns = b[b.rank() - (transpose_b ? 2 : 1)];
  const Shape a_batch = a.part(0, a.rank() - 2), b_batch = b.part(0, b.rank() - 2);
  const Shape batch = broadcast_shapes(a_batch, b_batch);
  raw_shape = batch;
  raw_shape.append(rows);
  raw_shape.append(columns);
  const Matrices a_matrices(call.inputs[0]), b_matrices(call.inputs[1]);
  a_step = a_matrices.row_step();
  b_step = b_matrices.row_step();
  const bool permutes = call.op->id == Op::matmul && !call.attributes.integers("permutation").empty();
  const Matrices products =
      products_in(call.outputs[0], raw_shape, permutes ? call.attributes.integers("permutation") : Integers());
  c_step = products.row_step();
  if (b_batch.elements() == 1 && a_batch.elements() == batch.elements() && !transpose_a && a_matrices.is_one() &&
      products.is_one()) {
    // If all matrices of a are multiplied by the same b, they are one tall matrix.
    rows *= batch.elements();
    a_starts = {a_matrices.first};
    b_starts = {b_matrices.first};
    c_starts = {0};
  } else {
    a_starts = batch_starts(a_batch, batch, a_matrices);
    b_starts = batch_starts(b_batch, batch, b_matrices);
    c_starts = batch_starts(batch, batch, products);
  }
}

std::int64_t divided_runs(const KernelCall& call) {
  // With fewer rows nothing is used twice, and short runs read b in the order of its memory.
  constexpr std::int64_t least_rows = 5, most_rows = 128, least_depth = 96, most_runs = 8;
  const bool updates = call.op->id == Op::matmul_update;
  if (call.attributes.flag("transpose_a") != updates || call.attributes.flag("transpose_b")) return 0;
  const MatmulSizes sizes(call);
  if (sizes.a_starts.size() != 1 || sizes.c_step != sizes.columns) return 0;
  const auto [rows, inner] = updates ? std::pair(sizes.inner, sizes.rows) : std::pair(sizes.rows, sizes.inner);
  if (rows < least_rows || rows > most_rows || inner < 2 * least_depth) return 0;
  const auto fewest = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(inner / least_depth)));
  const std::int64_t runs = std::min(fewest, most_runs);
  if (inner < 2 * runs * rows) return 0;
  return divide_up(divide_up(inner, most_depth), runs) * runs;
}

}  // namespace pando::cpu
