// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pando::test {

namespace {

Shape broadcast_of(const Tensors& inputs) {
  Shape shape;
  for (const Tensor& input : inputs) {
    const Shape& other = input.shape;
    const int rank = std::max(shape.rank(), other.rank());
    Shape wide;
    for (int axis = 0; axis < rank; ++axis) {
      const int a = axis - rank + shape.rank(), b = axis - rank + other.rank();
      const std::int64_t size_a = a < 0 ? 1 : shape[a], size_b = b < 0 ? 1 : other[b];
      wide.append(size_a == 1 ? size_b : size_a);
    }
    shape = wide;
  }
  return shape;
}

Shape without(const Shape& shape, const Integers& axes, bool keep_dims) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!reduced || keep_dims) result.append(reduced ? 1 : shape[axis]);
  }
  return result;
}

struct Rows {
  std::int64_t count, columns;
};

Rows rows_of(const Tensor& x) {
  const int last = x.shape.rank() - 1;
  return {x.shape.part(0, last).elements(), x.shape[last]};
}

}  // namespace

Tensor elementwise(const Tensors& inputs, DType dtype, const std::function<double(const std::vector<double>&)>& f) {
  Tensor result = filled(dtype, broadcast_of(inputs));
  std::vector<double> arguments(inputs.size());
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    for (std::size_t k = 0; k < inputs.size(); ++k)
      arguments[k] = inputs[k][broadcast_place(inputs[k].shape, result.shape, i)];
    result[i] = f(arguments);
  }
  return result;
}

Tensor elementwise(const Tensors& inputs, const std::function<double(const std::vector<double>&)>& f) {
  return elementwise(inputs, inputs.back().dtype, f);
}

Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  const int last_a = a.shape.rank() - 1, last_b = b.shape.rank() - 1;
  const Tensor batch_a = {a.dtype, a.shape.part(0, last_a - 1), {}},
               batch_b = {b.dtype, b.shape.part(0, last_b - 1), {}};
  const Shape batch = broadcast_of({batch_a, batch_b});
  const std::int64_t rows = a.shape[transpose_a ? last_a : last_a - 1],
                     inner = a.shape[transpose_a ? last_a - 1 : last_a];
  const std::int64_t columns = b.shape[transpose_b ? last_b - 1 : last_b];
  Shape shape = batch;
  shape.append(rows);
  shape.append(columns);
  Tensor result = filled(a.dtype, shape);
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    const std::int64_t column = i % columns, row = i / columns % rows, matrix = i / columns / rows;
    const std::int64_t start_a = broadcast_place(batch_a.shape, batch, matrix) * rows * inner;
    const std::int64_t start_b = broadcast_place(batch_b.shape, batch, matrix) * inner * columns;
    for (std::int64_t k = 0; k < inner; ++k)
      result[i] += a[start_a + (transpose_a ? k * rows + row : row * inner + k)] *
                   b[start_b + (transpose_b ? column * inner + k : k * columns + column)];
  }
  return result;
}

Tensor reduce(const Tensor& x, const Integers& axes, bool keep_dims, double initial,
              const std::function<double(double, double)>& f) {
  Tensor kept = filled(x.dtype, without(x.shape, axes, true), initial);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    double& total = kept[broadcast_place(kept.shape, x.shape, i)];
    total = f(total, x[i]);
  }
  kept.shape = without(x.shape, axes, keep_dims);
  return kept;
}

Tensor reduce_mean(const Tensor& x, const Integers& axes, bool keep_dims) {
  Tensor result = reduce(x, axes, keep_dims, 0, [](double a, double b) { return a + b; });
  double count = 1;
  for (std::int64_t axis : axes) count *= static_cast<double>(x.shape[static_cast<int>(axis)]);
  for (double& value : result.values) value /= count;
  return result;
}

Tensor argmax(const Tensor& x, int axis) {
  Tensor largest = filled(x.dtype, without(x.shape, {axis}, true), -std::numeric_limits<double>::infinity());
  Tensor result = filled(DType::int32, largest.shape);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const std::int64_t place = broadcast_place(largest.shape, x.shape, i);
    if (x[i] <= largest[place]) continue;
    largest[place] = x[i];
    result[place] = static_cast<double>(unravel(i, x.shape)[static_cast<std::size_t>(axis)]);
  }
  result.shape = without(x.shape, {axis}, false);
  return result;
}

Tensor log_softmax(const Tensor& x) {
  Tensor result = x;
  const Rows rows = rows_of(x);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t i = 0; i < rows.columns; ++i) largest = std::max(largest, x[row * rows.columns + i]);
    for (std::int64_t i = 0; i < rows.columns; ++i) sum += std::exp(x[row * rows.columns + i] - largest);
    for (std::int64_t i = 0; i < rows.columns; ++i) result[row * rows.columns + i] -= largest + std::log(sum);
  }
  return result;
}

Tensors softmax_cross_entropy(const Tensor& logits, const Tensor& targets) {
  const Tensor logarithms = log_softmax(logits);
  const Rows rows = rows_of(logits);
  Tensor losses = filled(logits.dtype, logits.shape.part(0, logits.shape.rank() - 1)), derivative = logits;
  for (std::int64_t row = 0; row < rows.count; ++row) {
    double total = 0;
    for (std::int64_t i = row * rows.columns; i < (row + 1) * rows.columns; ++i) {
      // 0 * -infinity is 0 here: a class that is impossible and never meant costs nothing.
      if (targets[i] != 0) losses[row] -= targets[i] * logarithms[i];
      total += targets[i];
    }
    for (std::int64_t i = row * rows.columns; i < (row + 1) * rows.columns; ++i)
      derivative[i] = std::exp(logarithms[i]) * total - targets[i];
  }
  return {losses, derivative};
}

Tensors sparse_softmax_cross_entropy(const Tensor& logits, const Tensor& labels) {
  const Rows rows = rows_of(logits);
  Tensor targets = filled(logits.dtype, logits.shape);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const auto label = static_cast<std::int64_t>(labels[row]);
    if (label >= 0 && label < rows.columns) targets[row * rows.columns + label] = 1;
    else
      for (std::int64_t i = 0; i < rows.columns; ++i)
        targets[row * rows.columns + i] = std::numeric_limits<double>::quiet_NaN();
  }
  return softmax_cross_entropy(logits, targets);
}

Tensor moved(const Tensor& x, const Shape& shape, double otherwise,
             const std::function<std::int64_t(const Index&)>& from) {
  Tensor result = filled(x.dtype, shape);
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    const std::int64_t place = from(unravel(i, shape));
    result[i] = place < 0 ? otherwise : x[place];
  }
  return result;
}

Tensor transpose(const Tensor& x, const Integers& permutation) {
  Shape shape;
  for (std::int64_t axis : permutation) shape.append(x.shape[static_cast<int>(axis)]);
  return moved(x, shape, 0, [&](const Index& index) {
    Index old = {};
    for (std::size_t i = 0; i < permutation.size(); ++i) old[static_cast<std::size_t>(permutation[i])] = index[i];
    return ravel(old, x.shape);
  });
}

}  // namespace pando::test
