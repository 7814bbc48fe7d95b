// SPDX-License-Identifier: Apache-2.0
// Products of matrices, with batches of them broadcast.
#include <pando/ops/ops.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "ops/build.h"
#include "ops/checks.h"

namespace pando {

namespace {

Type product_type(const OpCall& call) {
  for (std::size_t i : {0, 1}) {
    require_floating(call, i);
    require_rank_at_least(call, i, 2, "the last two a matrix");
  }
  require_equal_dtypes(call, 0, 1);
  const Shape &a = call.shape(0), &b = call.shape(1);
  const bool transpose_a = call.attributes.flag("transpose_a"), transpose_b = call.attributes.flag("transpose_b");
  const std::int64_t rows = a[a.rank() - (transpose_a ? 1 : 2)], inner_a = a[a.rank() - (transpose_a ? 2 : 1)];
  const std::int64_t inner_b = b[b.rank() - (transpose_b ? 1 : 2)], columns = b[b.rank() - (transpose_b ? 2 : 1)];
  if (inner_a != inner_b)
    call.fail(fmt::format("a is {}{} and b is {}{}: a has {} columns but b {} rows; reshape or transpose one of them",
                          to_string(a), transpose_a ? " transposed" : "", to_string(b),
                          transpose_b ? " transposed" : "", inner_a, inner_b));
  Shape shape;
  try {
    shape = broadcast_shapes(a.part(0, a.rank() - 2), b.part(0, b.rank() - 2));
  } catch (const Error&) {
    call.fail(
        fmt::format("the batch axes of {} and {} do not broadcast; reshape one of them", to_string(a), to_string(b)));
  }
  shape.append(rows);
  shape.append(columns);
  return {call.dtype(0), shape};
}

std::vector<Type> infer_matmul(const OpCall& call) {
  const Type product = product_type(call);
  const Integers& permutation = call.attributes.integers("permutation");
  if (permutation.empty()) return epilogue_types(call, product, 2);
  Integers axes(static_cast<std::size_t>(product.shape.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  if (!std::is_permutation(permutation.begin(), permutation.end(), axes.begin(), axes.end()) ||
      permutation.back() != axes.back() || call.attributes.program("epilogue") != nullptr)
    call.fail(
        fmt::format("permutation is [{}], but it must name all axes of {} once, the last one last, and there can be "
                    "no epilogue; use transpose",
                    fmt::join(permutation, ", "), to_string(product.shape)));
  Shape shape;
  for (std::int64_t axis : permutation) shape.append(product.shape[static_cast<int>(axis)]);
  return {{product.dtype, shape}};
}

std::vector<Type> infer_matmul_update(const OpCall& call) {
  const Type product = product_type(call);
  if (call.inputs[2] != product)
    call.fail(fmt::format("the parameter is {} but the product {}; give it the same type", to_string(call.inputs[2]),
                          to_string(product)));
  require_equal_dtypes(call, 0, 3);
  require_shape(call, 3, {}, "a scalar rate");
  return {product};
}

// [..., m, n] as one tall matrix.
Value stacked(Value x) {
  const Shape shape = x.shape();
  return ops::reshape(x, {shape.part(0, shape.rank() - 1).elements(), shape[shape.rank() - 1]});
}

Value gradient_of_a(Value g, Value a, Value b, bool transpose_a, bool transpose_b) {
  const Value product = transpose_a ? ops::matmul(b, g, {.transpose_a = transpose_b, .transpose_b = true})
                                    : ops::matmul(g, b, {.transpose_b = !transpose_b});
  return ops::sum_to(product, a.shape());
}

Value gradient_of_b(Value g, Value a, Value b, bool transpose_a, bool transpose_b) {
  // One product over all rows of the batch, instead of a sum of one product per batch.
  const bool one_matrix = b.shape().rank() == 2 && a.shape().rank() > 2 && !transpose_a;
  const Value rows_a = one_matrix ? stacked(a) : a, rows_g = one_matrix ? stacked(g) : g;
  const Value product = transpose_b ? ops::matmul(rows_g, rows_a, {.transpose_a = true, .transpose_b = transpose_a})
                                    : ops::matmul(rows_a, rows_g, {.transpose_a = !transpose_a});
  return ops::sum_to(product, b.shape());
}

std::vector<Value> matmul_gradient(const GradientCall& call) {
  require_no_epilogue(call);
  if (!call.node.attributes.integers("permutation").empty())
    throw InternalError("the gradient of a matmul that is permuted already was asked for");
  const Value g = call.gradients[0], a = call.inputs[0], b = call.inputs[1];
  const bool transpose_a = call.node.attributes.flag("transpose_a");
  const bool transpose_b = call.node.attributes.flag("transpose_b");
  return {call.needed[0] ? gradient_of_a(g, a, b, transpose_a, transpose_b) : Value(),
          call.needed[1] ? gradient_of_b(g, a, b, transpose_a, transpose_b) : Value()};
}

}  // namespace

namespace definitions {

namespace {

double matmul_flops(const std::vector<Type>& inputs, const std::vector<Type>& outputs, const Attributes& attributes) {
  const Shape& a = inputs[0].shape;
  const std::int64_t inner = a[a.rank() - (attributes.flag("transpose_a") ? 2 : 1)];
  return 2 * static_cast<double>(outputs[0].shape.elements()) * static_cast<double>(inner);
}

}  // namespace

const OpDefinition matmul = {
    .id = Op::matmul,
    .name = "matmul",
    .doc =
        "the products of the matrices in the last two axes of a and b; axis i of the result "
        "is axis permutation[i] of them",
    .attributes = {{"transpose_a", false}, {"transpose_b", false}, {"permutation", Integers()}, epilogue_attribute},
    .min_inputs = 2,
    .max_inputs = -1,
    .infer = infer_matmul,
    .gradient = matmul_gradient,
    .strided_inputs = 2,
    .flops = matmul_flops};
const OpDefinition matmul_update = {
    .id = Op::matmul_update,
    .name = "matmul_update",
    .doc = "parameter - rate * matmul(a, b) of a, b, parameter and rate, made by the compiler",
    .attributes = {{"transpose_a", false}, {"transpose_b", false}},
    .min_inputs = 4,
    .max_inputs = 4,
    .infer = infer_matmul_update,
    .in_place = [](const Node&, int) { return 2; },
    .flops = matmul_flops};

}  // namespace definitions

namespace ops {

Value matmul(Value a, Value b, const MatmulOptions& options) {
  return build(definitions::matmul, {a, b},
               {{"transpose_a", options.transpose_a}, {"transpose_b", options.transpose_b}});
}

}  // namespace ops

}  // namespace pando
