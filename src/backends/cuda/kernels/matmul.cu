// SPDX-License-Identifier: Apache-2.0
// matmul: products of matrices by tiles. matmul_update subtracts the product, times the rate, from a parameter.
#include "backends/cuda/kernels/product.cuh"
#include "plan/matrices.h"

namespace pando::cuda {

namespace {

// Where the matrices of a value start that has the batch axes `own` and steps `strides` between its elements, by their
// index along all axes of `batch`.
BatchStarts batch_starts(const Shape& own, const Shape& batch, const Integers& strides, const char* op) {
  if (batch.rank() > BatchStarts::most_axes) throw Error(std::string(op) + ": more batch axes than the GPU kernel has");
  BatchStarts starts;
  starts.axes = batch.rank();
  for (int axis = 0; axis < batch.rank(); ++axis) {
    const int own_axis = axis - (batch.rank() - own.rank());
    starts.sizes[axis] = Divisor(narrow(batch[axis], op));
    if (own_axis >= 0 && own[own_axis] != 1) starts.strides[axis] = strides[static_cast<std::size_t>(own_axis)];
  }
  return starts;
}

// The steps in the result between neighbours along each axis of the product.
Integers result_strides(const Shape& result, const Integers& permutation) {
  Integers strides;
  for (int axis = 0; axis < result.rank(); ++axis) strides.push_back(result.stride(axis));
  if (permutation.empty()) return strides;
  Integers of_product(strides.size());
  for (std::size_t i = 0; i < strides.size(); ++i) of_product[static_cast<std::size_t>(permutation[i])] = strides[i];
  return of_product;
}

struct Matmul {
  bool transpose_a, transpose_b;
  std::int64_t a_step, b_step;
  BatchStarts a_starts, b_starts;
  ProductSizes sizes;
  ResultLayout layout;
  const char* op;

  explicit Matmul(const KernelCall& call);
};

Matmul::Matmul(const KernelCall& call)
    : transpose_a(call.attributes.flag("transpose_a")),
      transpose_b(call.attributes.flag("transpose_b")),
      op(call.op->name.data()) {
  const Shape &a = call.inputs[0].type.shape, &b = call.inputs[1].type.shape;
  std::int64_t rows = a[a.rank() - (transpose_a ? 1 : 2)];
  const std::int64_t inner = a[a.rank() - (transpose_a ? 2 : 1)];
  const std::int64_t columns = b[b.rank() - (transpose_b ? 2 : 1)];
  const Shape a_batch = a.part(0, a.rank() - 2), b_batch = b.part(0, b.rank() - 2);
  Shape batch = broadcast_shapes(a_batch, b_batch);
  const Matrices a_matrices(call.inputs[0]), b_matrices(call.inputs[1]);
  a_step = a_matrices.row_step();
  b_step = b_matrices.row_step();
  const bool is_update = call.op->name == "matmul_update";
  const Integers permutation = is_update ? Integers() : call.attributes.integers("permutation");
  const bool is_tall = b_batch.elements() == 1 && a_batch.elements() == batch.elements() && !transpose_a &&
                       a_matrices.is_one() && permutation.empty();
  if (is_tall) {
    // If all matrices of a are multiplied by the same b, they are one tall matrix.
    rows *= batch.elements();
    batch = Shape();
  }
  a_starts = batch_starts(is_tall ? batch : a_batch, batch, a_matrices.strides, op);
  a_starts.first = a_matrices.first;
  b_starts = batch_starts(is_tall ? batch : b_batch, batch, b_matrices.strides, op);
  b_starts.first = b_matrices.first;
  sizes = {narrow(rows, op), narrow(columns, op), narrow(inner, op), narrow(batch.elements(), op)};
  const Integers strides = result_strides(call.outputs[0].type.shape, permutation);
  layout = {batch_starts(batch, batch, strides, op), strides[strides.size() - 2], is_update ? 2 : -1, find_bias(call)};
}

template <class T>
std::unique_ptr<Kernel> make_matmul(const Matmul& m, const KernelContext& context) {
  const auto multiply = [&](const auto& a, const auto& b) {
    return make_product<T>(m.op, a, b, m.sizes, m.layout, context);
  };
  const auto with_b = [&](const auto& a) {
    return m.transpose_b ? multiply(a, StoredFactor<true>{m.b_step, m.b_starts})
                         : multiply(a, StoredFactor<false>{m.b_step, m.b_starts});
  };
  return m.transpose_a ? with_b(StoredFactor<false>{m.a_step, m.a_starts})
                       : with_b(StoredFactor<true>{m.a_step, m.a_starts});
}

}  // namespace

std::unique_ptr<Kernel> factories::matmul(const KernelCall& call, const KernelContext& context) {
  const Matmul sizes(call);
  if (has_epilogue(call) && !(sizes.layout.bias.found && sizes.sizes.batches == 1))
    return make_with_epilogue(call, context, matmul);
  if (call.inputs[0].type.dtype == DType::float64) return make_matmul<double>(sizes, context);
  return make_matmul<float>(sizes, context);
}

std::unique_ptr<Kernel> factories::matmul_update(const KernelCall& call, const KernelContext& context) {
  return matmul(call, context);
}

}  // namespace pando::cuda
