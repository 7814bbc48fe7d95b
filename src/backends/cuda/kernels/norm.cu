// SPDX-License-Identifier: Apache-2.0
// Batch normalisation, over the rows of each channel, and layer normalisation, over each row. Sums over rows are made
// in two kernels: chunks of rows give partial sums, and the next kernel adds those in the order of the chunks.
#include "backends/cuda/kernel.h"
#include "backends/cuda/kernels/column_sums.cuh"
#include "backends/cuda/kernels/warp.cuh"
#include "backends/cuda/launch.h"
#include "ops/scalar.h"

namespace pando::cuda {

namespace {

namespace math = scalar::math;

// x[samples, places, channels]; the rows are samples and places.
template <class T>
struct Batch {
  ColumnSums sums;
  std::int64_t samples, places;
  const T* weights = nullptr;

  explicit Batch(const Shape& x)
      : sums(x.part(0, x.rank() - 1).elements(), x[x.rank() - 1]),
        samples(x[0]),
        places(x.part(1, x.rank() - 1).elements()) {}

  __device__ T weight(std::int64_t row) const { return weights == nullptr ? T(1) : weights[row / places]; }

  // 1 / the sum of the weights of all rows, or 0 if there is none: then the statistics are 0 rather than NaN.
  __device__ double share() const {
    double sum = static_cast<double>(samples);
    if (weights != nullptr) sum = warp_sum_of(samples, [this](std::int64_t i) { return weights[i]; });
    sum *= static_cast<double>(places);
    return sum != 0 ? 1 / sum : 0.0;
  }
};

// A batch_norm in three kernels: sums, sums of squares about the mean, and the result.
template <class T>
struct BatchNorm {
  const T *x, *scale, *offset;
  T *y, *mean, *variance, *inverse_deviation;
  T epsilon;
  Pair *sums, *squares;
};

template <class T>
__global__ void sum_batch(const Batch<T> batch, const BatchNorm<T> norm) {
  sum_chunk(batch.sums, norm.sums, [&](std::int64_t row, std::int64_t column) {
    return Pair{static_cast<double>(batch.weight(row)) *
                static_cast<double>(norm.x[row * batch.sums.columns + column])};
  });
}

template <class T>
__global__ void sum_batch_squares(const Batch<T> batch, const BatchNorm<T> norm) {
  const T mean = static_cast<T>(sum_of_chunks(batch.sums, norm.sums).first * batch.share());
  sum_chunk(batch.sums, norm.squares, [&](std::int64_t row, std::int64_t column) {
    const double centered = static_cast<double>(norm.x[row * batch.sums.columns + column] - mean);
    return Pair{static_cast<double>(batch.weight(row)) * (centered * centered)};
  });
}

template <class T>
__global__ void normalise_batch(const Batch<T> batch, const BatchNorm<T> norm) {
  const double share = batch.share();
  const T mean = static_cast<T>(sum_of_chunks(batch.sums, norm.sums).first * share);
  const T variance = static_cast<T>(sum_of_chunks(batch.sums, norm.squares).first * share);
  const T inverse = T(1) / math::sqrt(variance + norm.epsilon);
  const std::int64_t column = own_column(), columns = batch.sums.columns;
  if (column >= columns) return;
  if (blockIdx.y == 0 && threadIdx.y == 0) {
    if (norm.mean != nullptr) norm.mean[column] = mean;
    if (norm.variance != nullptr) norm.variance[column] = variance;
    if (norm.inverse_deviation != nullptr) norm.inverse_deviation[column] = inverse;
  }
  if (norm.y == nullptr) return;
  const T factor = inverse * norm.scale[column], offset = norm.offset[column];
  for_chunk(batch.sums, [&](std::int64_t row) {
    norm.y[row * columns + column] = (norm.x[row * columns + column] - mean) * factor + offset;
  });
}

template <class T>
struct NormGradient {
  const T *dy, *x, *scale, *mean, *inverse_deviation;
  T *dx, *dscale, *doffset;
  Pair* sums;
};

template <class T>
__global__ void sum_batch_gradient(const Batch<T> batch, const NormGradient<T> norm) {
  sum_chunk(batch.sums, norm.sums, [&](std::int64_t row, std::int64_t column) {
    const std::int64_t at = row * batch.sums.columns + column;
    const double dy = static_cast<double>(norm.dy[at]);
    return Pair{dy, dy * static_cast<double>(norm.x[at] - norm.mean[column])};
  });
}

template <class T>
__global__ void spread_batch_gradient(const Batch<T> batch, const NormGradient<T> norm) {
  const double share = batch.share();
  const Pair sums = sum_of_chunks(batch.sums, norm.sums);
  const std::int64_t column = own_column(), columns = batch.sums.columns;
  if (column >= columns) return;
  const T inverse = norm.inverse_deviation[column];
  if (blockIdx.y == 0 && threadIdx.y == 0) {
    if (norm.doffset != nullptr) norm.doffset[column] = static_cast<T>(sums.first);
    if (norm.dscale != nullptr) norm.dscale[column] = static_cast<T>(sums.second) * inverse;
  }
  if (norm.dx == nullptr) return;
  const T shift = static_cast<T>(sums.first * share), slope = static_cast<T>(sums.second * share) * inverse * inverse;
  const T mean = norm.mean[column], factor = inverse * norm.scale[column];
  for_chunk(batch.sums, [&](std::int64_t row) {
    const std::int64_t at = row * columns + column;
    norm.dx[at] = (norm.dy[at] - batch.weight(row) * (shift + (norm.x[at] - mean) * slope)) * factor;
  });
}

template <class T>
struct LayerNorm {
  const T *x, *scale, *offset;
  T *y, *mean, *inverse_deviation;
  double epsilon;
};

// A warp has a row.
template <class T>
__global__ void normalise_rows(const std::int64_t rows, const std::int64_t columns, const LayerNorm<T> norm) {
  // Rows of no elements have the statistics 0.
  const double share = columns > 0 ? 1 / static_cast<double>(columns) : 0.0;
  for (std::int64_t row = first_element() / warp_lanes; row < rows; row += element_stride() / warp_lanes) {
    const T* const x = norm.x + row * columns;
    const T mean = static_cast<T>(warp_sum_of(columns, [=](std::int64_t i) { return x[i]; }) * share);
    const double squares = warp_sum_of(columns, [=](std::int64_t i) { return (x[i] - mean) * (x[i] - mean); });
    const T inverse = static_cast<T>(1 / math::sqrt(squares * share + norm.epsilon));
    if (lane() == 0) {
      if (norm.mean != nullptr) norm.mean[row] = mean;
      if (norm.inverse_deviation != nullptr) norm.inverse_deviation[row] = inverse;
    }
    if (norm.y == nullptr) continue;
    for (std::int64_t i = lane(); i < columns; i += warp_lanes)
      norm.y[row * columns + i] = (x[i] - mean) * inverse * norm.scale[i] + norm.offset[i];
  }
}

template <class T>
__global__ void spread_row_gradients(const std::int64_t rows, const std::int64_t columns, const NormGradient<T> norm) {
  const double share = 1 / static_cast<double>(columns);
  for (std::int64_t row = first_element() / warp_lanes; row < rows; row += element_stride() / warp_lanes) {
    const T *const x = norm.x + row * columns, *const dy = norm.dy + row * columns, *const scale = norm.scale;
    const T mean = norm.mean[row], inverse = norm.inverse_deviation[row];
    const auto inner = [=](std::int64_t i) { return dy[i] * scale[i]; };
    const auto normalised = [=](std::int64_t i) { return (x[i] - mean) * inverse; };
    const T shift = static_cast<T>(warp_sum_of(columns, inner) * share);
    const T tilt =
        static_cast<T>(warp_sum_of(columns, [=](std::int64_t i) { return inner(i) * normalised(i); }) * share);
    for (std::int64_t i = lane(); i < columns; i += warp_lanes)
      norm.dx[row * columns + i] = ((inner(i) - shift) - normalised(i) * tilt) * inverse;
  }
}

template <class T>
__global__ void sum_row_gradients(const ColumnSums sums, const NormGradient<T> norm) {
  sum_chunk(sums, norm.sums, [&](std::int64_t row, std::int64_t column) {
    const std::int64_t at = row * sums.columns + column;
    const double normalised = static_cast<double>((norm.x[at] - norm.mean[row]) * norm.inverse_deviation[row]);
    const double dy = static_cast<double>(norm.dy[at]);
    return Pair{dy, dy * normalised};
  });
}

template <class T>
__global__ void write_row_gradients(const ColumnSums sums, const NormGradient<T> norm) {
  const Pair sum = sum_of_chunks(sums, norm.sums);
  const std::int64_t column = own_column();
  if (threadIdx.y != 0 || column >= sums.columns) return;
  if (norm.doffset != nullptr) norm.doffset[column] = static_cast<T>(sum.first);
  if (norm.dscale != nullptr) norm.dscale[column] = static_cast<T>(sum.second);
}

template <class T>
std::unique_ptr<Kernel> make_batch_norm(const KernelCall& call) {
  const Batch<T> shapes(call.inputs[0].type.shape);
  const T epsilon = static_cast<T>(call.attributes.number("epsilon"));
  const auto launch = [=](const Operands& operands, cudaStream_t stream) {
    if (shapes.sums.columns == 0) return;
    Batch<T> batch = shapes;
    if (operands.inputs.size() > 3) batch.weights = input<T>(operands, 3);
    auto* const sums = reinterpret_cast<Pair*>(operands.scratch);
    const BatchNorm<T> norm = {input<T>(operands, 0),
                               input<T>(operands, 1),
                               input<T>(operands, 2),
                               output<T>(operands, 0),
                               output<T>(operands, 1),
                               output<T>(operands, 2),
                               output<T>(operands, 3),
                               epsilon,
                               sums,
                               sums + batch.sums.chunks * batch.sums.columns};
    const dim3 grid = batch.sums.grid(), block(column_threads, row_threads);
    sum_batch<T><<<grid, block, 0, stream>>>(batch, norm);
    sum_batch_squares<T><<<grid, block, 0, stream>>>(batch, norm);
    normalise_batch<T><<<grid, block, 0, stream>>>(batch, norm);
    check_launch("batch_norm");
  };
  return make_kernel(launch, 2 * shapes.sums.scratch_bytes());
}

template <class T>
NormGradient<T> gradient_of(const Operands& operands) {
  return {input<T>(operands, 0),  input<T>(operands, 1),  input<T>(operands, 2),
          input<T>(operands, 3),  input<T>(operands, 4),  output<T>(operands, 0),
          output<T>(operands, 1), output<T>(operands, 2), reinterpret_cast<Pair*>(operands.scratch)};
}

template <class T>
std::unique_ptr<Kernel> make_batch_norm_gradient(const KernelCall& call) {
  const Batch<T> shapes(call.inputs[1].type.shape);
  const auto launch = [=](const Operands& operands, cudaStream_t stream) {
    if (shapes.sums.columns == 0) return;
    Batch<T> batch = shapes;
    if (operands.inputs.size() > 5) batch.weights = input<T>(operands, 5);
    const dim3 grid = batch.sums.grid(), block(column_threads, row_threads);
    sum_batch_gradient<T><<<grid, block, 0, stream>>>(batch, gradient_of<T>(operands));
    spread_batch_gradient<T><<<grid, block, 0, stream>>>(batch, gradient_of<T>(operands));
    check_launch("batch_norm_gradient");
  };
  return make_kernel(launch, shapes.sums.scratch_bytes());
}

// The rows and the columns of x, of which rows without elements count too.
ColumnSums matrix_of(const Shape& x) { return {x.part(0, x.rank() - 1).elements(), x[x.rank() - 1]}; }

template <class T>
std::unique_ptr<Kernel> make_layer_norm(const KernelCall& call) {
  const ColumnSums matrix = matrix_of(call.inputs[0].type.shape);
  return make_kernel(
      [matrix, epsilon = call.attributes.number("epsilon")](const Operands& operands, cudaStream_t stream) {
        const LayerNorm<T> norm = {input<T>(operands, 0),
                                   input<T>(operands, 1),
                                   input<T>(operands, 2),
                                   output<T>(operands, 0),
                                   output<T>(operands, 1),
                                   output<T>(operands, 2),
                                   epsilon};
        normalise_rows<T>
            <<<blocks_for(matrix.rows * warp_lanes), block_threads, 0, stream>>>(matrix.rows, matrix.columns, norm);
        check_launch("layer_norm");
      });
}

template <class T>
std::unique_ptr<Kernel> make_layer_norm_gradient(const KernelCall& call) {
  const ColumnSums matrix = matrix_of(call.inputs[1].type.shape);
  const auto launch = [matrix](const Operands& operands, cudaStream_t stream) {
    if (matrix.columns == 0) return;
    const NormGradient<T> norm = gradient_of<T>(operands);
    if (norm.dx != nullptr)
      spread_row_gradients<T>
          <<<blocks_for(matrix.rows * warp_lanes), block_threads, 0, stream>>>(matrix.rows, matrix.columns, norm);
    if (norm.dscale != nullptr || norm.doffset != nullptr) {
      dim3 grid = matrix.grid();
      const dim3 block(column_threads, row_threads);
      sum_row_gradients<T><<<grid, block, 0, stream>>>(matrix, norm);
      grid.y = 1;
      write_row_gradients<T><<<grid, block, 0, stream>>>(matrix, norm);
    }
    check_launch("layer_norm_gradient");
  };
  return make_kernel(launch, matrix.scratch_bytes());
}

bool normalises_doubles(const KernelCall& call) { return call.inputs[0].type.dtype == DType::float64; }

}  // namespace

std::unique_ptr<Kernel> factories::batch_norm(const KernelCall& call, const KernelContext&) {
  return normalises_doubles(call) ? make_batch_norm<double>(call) : make_batch_norm<float>(call);
}

std::unique_ptr<Kernel> factories::batch_norm_gradient(const KernelCall& call, const KernelContext&) {
  return normalises_doubles(call) ? make_batch_norm_gradient<double>(call) : make_batch_norm_gradient<float>(call);
}

std::unique_ptr<Kernel> factories::layer_norm(const KernelCall& call, const KernelContext&) {
  return normalises_doubles(call) ? make_layer_norm<double>(call) : make_layer_norm<float>(call);
}

std::unique_ptr<Kernel> factories::layer_norm_gradient(const KernelCall& call, const KernelContext&) {
  return normalises_doubles(call) ? make_layer_norm_gradient<double>(call) : make_layer_norm_gradient<float>(call);
}

}  // namespace pando::cuda
