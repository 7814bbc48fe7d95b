// SPDX-License-Identifier: Apache-2.0
// Pooling and its gradients. A gradient is made by rows of the input, so that windows may overlap and no two tiles
// write to one place.
#include "backends/cpu/kernels/pool_rows.h"

namespace pando::cpu {

namespace {

template <class T>
class MaxPool final : public Kernel {
 public:
  MaxPool(const KernelCall& call, const Window& window, const Routines& routines)
      : pool_(pool_routines<T>(routines)),
        x_(call.inputs[0]),
        values_(call.outputs[0]),
        positions_(call.outputs[1]),
        wide_(positions_.type.dtype == DType::int32),
        rows_(window, x_.type.shape, values_.type.shape) {}

  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(values_.type.shape.stride(1)) * sizeof(T);
  }

  void run(const Tile& tile) const override {
    const Shape &x = x_.type.shape, &y = values_.type.shape;
    const std::int64_t position_bytes = y.stride(1) * static_cast<std::int64_t>(size_of(positions_.type.dtype));
    const Range rows = share(tile, y[0] * y[1]);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const std::int64_t image = row / y[1], in_image = row % y[1];
      const T* const from =
          pointer<const T>(tile, x_) + image * x.stride(0) + rows_.image_rows(in_image).begin * x.stride(1);
      T* const values = values_.buffer >= 0 ? pointer<T>(tile, values_) + row * y.stride(1) : at<T>(tile.scratch, 0);
      std::byte* const positions =
          positions_.buffer >= 0 ? pointer<std::byte>(tile, positions_) + row * position_bytes : nullptr;
      max_pool_row(pool_, wide_, rows_[in_image], from, values, positions);
    }
  }

 private:
  const PoolRoutinesOf<T>& pool_;
  Operand x_, values_, positions_;
  bool wide_;
  PoolRows rows_;
};

template <class T>
class MaxPoolGradient final : public Kernel {
 public:
  MaxPoolGradient(const KernelCall& call, const Window& window, const Routines& routines)
      : dx_(call.outputs[0]), gradient_(call.inputs[0], call.inputs[1], window, dx_.type.shape, routines) {}

  void run(const Tile& tile) const override {
    const Shape& dx = dx_.type.shape;
    const Range rows = share(tile, dx[0] * dx[1]);
    gradient_.make_rows(tile, rows, pointer<T>(tile, dx_) + rows.begin * dx.stride(1));
  }

 private:
  Operand dx_;
  SpreadGradient<T> gradient_;
};

// What the sum over each window of a pooled image is divided by, [rows, columns].
template <class T>
std::vector<T> window_divisors(const Window& window, const Shape& x, const Shape& y, bool count_padding) {
  const auto places = [&](std::size_t axis, std::int64_t index) {
    const std::int64_t first = count_padding ? -window.before(axis) : 0;
    const std::int64_t last = x[static_cast<int>(axis) + 1] + (count_padding ? window.after(axis) : 0);
    const std::int64_t start = index * window.strides[axis] - window.before(axis);
    return std::min(start + window.kernel[axis], last) - std::max(start, first);
  };
  std::vector<T> divisors;
  for (std::int64_t row = 0; row < y[1]; ++row) {
    for (std::int64_t column = 0; column < y[2]; ++column) {
      divisors.push_back(static_cast<T>(places(0, row) * places(1, column)));
    }
  }
  return divisors;
}

template <class T>
class AveragePool final : public Kernel {
 public:
  AveragePool(const KernelCall& call, const Window& window, const Routines& routines)
      : pool_(pool_routines<T>(routines)),
        x_(call.inputs[0]),
        y_(call.outputs[0]),
        rows_(window, x_.type.shape, y_.type.shape),
        divisors_(window_divisors<T>(window, x_.type.shape, y_.type.shape, call.attributes.flag("count_padding"))) {}

  void run(const Tile& tile) const override {
    const Shape &x = x_.type.shape, &y = y_.type.shape;
    const Range rows = share(tile, y[0] * y[1]);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const std::int64_t image = row / y[1], in_image = row % y[1];
      const T* const from =
          pointer<const T>(tile, x_) + image * x.stride(0) + rows_.image_rows(in_image).begin * x.stride(1);
      pool_.average_pool(rows_[in_image], from, divisors_.data() + in_image * y[2],
                         pointer<T>(tile, y_) + row * y.stride(1));
    }
  }

 private:
  const PoolRoutinesOf<T>& pool_;
  Operand x_, y_;
  PoolRows rows_;
  std::vector<T> divisors_;
};

template <class T>
class AveragePoolGradient final : public Kernel {
 public:
  AveragePoolGradient(const KernelCall& call, const Window& window, const Routines& routines)
      : pool_(pool_routines<T>(routines)),
        dy_(call.inputs[0]),
        dx_(call.outputs[0]),
        rows_(window, dx_.type.shape, dy_.type.shape),
        divisors_(window_divisors<T>(window, dx_.type.shape, dy_.type.shape, call.attributes.flag("count_padding"))) {}

  void run(const Tile& tile) const override {
    const Shape &dx = dx_.type.shape, &dy = dy_.type.shape;
    const Range rows = share(tile, dx[0] * dx[1]);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      T* const to = pointer<T>(tile, dx_) + row * dx.stride(1);
      make_gradient_row(rows_, dx, dy, row, to, [&](const PoolRow& windows, std::int64_t from, std::int64_t first) {
        pool_.average_pool_gradient(windows, pointer<const T>(tile, dy_) + first, divisors_.data() + from * dy[2], to);
      });
    }
  }

 private:
  const PoolRoutinesOf<T>& pool_;
  Operand dy_, dx_;
  PoolRows rows_;
  std::vector<T> divisors_;
};

template <template <class> class K>
std::unique_ptr<Kernel> make(const KernelCall& call, const Routines& routines) {
  const Window window = pool_window(call.attributes);
  if (call.inputs[0].type.dtype == DType::float64) return std::make_unique<K<double>>(call, window, routines);
  return std::make_unique<K<float>>(call, window, routines);
}

}  // namespace

std::unique_ptr<Kernel> factories::max_pool(const KernelCall& call, const Routines& routines) {
  return make<MaxPool>(call, routines);
}

std::unique_ptr<Kernel> factories::max_pool_gradient(const KernelCall& call, const Routines& routines) {
  return make<MaxPoolGradient>(call, routines);
}

std::unique_ptr<Kernel> factories::average_pool(const KernelCall& call, const Routines& routines) {
  return make<AveragePool>(call, routines);
}

std::unique_ptr<Kernel> factories::average_pool_gradient(const KernelCall& call, const Routines& routines) {
  return make<AveragePoolGradient>(call, routines);
}

}  // namespace pando::cpu
