// SPDX-License-Identifier: Apache-2.0
// PooledGradient: the gradient of a convolution's result as it comes from a max pooling, values and positions. In each
// filter at most one pixel of a window has a gradient, and with relu many windows have none. Kernels visit only the
// pixels that have one.
#pragma once
#include "backends/cpu/kernels/product.h"
#include "ops/window.h"

namespace pando::cpu {

template <class T>
const PooledRoutinesOf<T>& pooled_routines(const Routines& routines) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return routines.pooled.float32;
  } else {
    return routines.pooled.float64;
  }
}

// The windows of `pool` do not overlap.
template <class T>
class PooledGradient {
 public:
  // `convolved` is the shape of what was pooled.
  PooledGradient(const Operand& dy, const Operand& positions, const Window& pool, const Shape& convolved,
                 const Routines& routines)
      : dy_(dy), positions_(positions), pool_(pool), convolved_(convolved), routines_(pooled_routines<T>(routines)) {
    for (std::int64_t window = 0; window < dy.type.shape[2]; ++window) {
      for (std::int64_t filter = 0; filter < dy.type.shape[3]; ++filter) {
        filter_of_.push_back(static_cast<std::int32_t>(filter));
        column_of_.push_back(static_cast<std::int32_t>(window * pool.strides[1] - pool.before(1)));
      }
    }
  }

  // The shape of what was pooled: what the gradient would be if it held its zeros.
  const Shape& convolved() const { return convolved_; }

  // As GradientRow has them.
  struct PixelSteps {
    std::int64_t filter;
    const std::int64_t* first_filter_of;
  };

  // Lists what is not zero in a row of the convolution: by pixels, or by windows in these filters, whose numbers then
  // count from the first of them. The list has room for `slack` entries more.
  void list_pixels(const Tile& tile, std::int64_t image, std::int64_t row, const PixelSteps& steps,
                   const GradientList<T>& list) const {
    if (is_wide()) routines_.list_pixels_wide(by_pixels<std::int32_t>(tile, image, row, steps), list);
    else routines_.list_pixels(by_pixels<std::uint8_t>(tile, image, row, steps), list);
  }
  std::int64_t list_windows(const Tile& tile, std::int64_t image, std::int64_t row, Range filters,
                            const GradientList<T>& list) const {
    if (is_wide()) return routines_.list_windows_wide(gradients<std::int32_t>(tile, image, row, filters), list);
    return routines_.list_windows(gradients<std::uint8_t>(tile, image, row, filters), list);
  }
  static constexpr std::int64_t slack = 16;

  // The most gradients that one filter has in this many rows of the convolution, one below the other.
  std::int64_t most_listed(std::int64_t rows) const {
    return std::min(rows / pool_.strides[0] + 2, dy_.type.shape[1]) * dy_.type.shape[2];
  }

 private:
  bool is_wide() const { return positions_.type.dtype == DType::int32; }

  template <class P>
  GradientRow<T, P> by_pixels(const Tile& tile, std::int64_t image, std::int64_t row, const PixelSteps& steps) const {
    GradientRow<T, P> result = gradients<P>(tile, image, row, {0, convolved_[3]});
    result.filter_step = steps.filter;
    result.first_filter_of = steps.first_filter_of;
    return result;
  }

  template <class P>
  GradientRow<T, P> gradients(const Tile& tile, std::int64_t image, std::int64_t row, Range filters) const {
    const Shape& dy = dy_.type.shape;
    // Short divisions: those of 64 bits take several times as long on many processors.
    const auto place = static_cast<std::uint32_t>(row + pool_.before(0));
    const auto stride = static_cast<std::uint32_t>(pool_.strides[0]);
    const std::int64_t pooled = place / stride, in_window = place % stride;
    const bool has_windows = in_window < pool_.kernel[0] && pooled < dy[1];
    const std::int64_t first = image * dy.stride(0) + pooled * dy.stride(1) + filters.begin;
    const bool has_all_filters = filters.end - filters.begin == dy[3];
    return {.dy = pointer<const T>(tile, dy_) + first,
            .positions = pointer<const P>(tile, positions_) + first,
            .step = dy[3],
            .filters = filters.end - filters.begin,
            .width = convolved_[2],
            .windows = has_windows ? dy[2] : 0,
            .kernel = pool_.kernel[1],
            .stride = pool_.strides[1],
            .before = pool_.before(1),
            .place = in_window * pool_.kernel[1],
            .filter_of = has_all_filters ? filter_of_.data() : nullptr,
            .column_of = has_all_filters ? column_of_.data() : nullptr};
  }

  Operand dy_, positions_;
  // For each gradient of a row, in the order of memory.
  std::vector<std::int32_t> filter_of_, column_of_;
  Window pool_;
  Shape convolved_;
  const PooledRoutinesOf<T>& routines_;
};

}  // namespace pando::cpu
