// SPDX-License-Identifier: Apache-2.0
// conv2d_weight_gradient of few filters: tiles divide the runs of pixels, so that none of them copies what another
// copies too. Each run is a product of pixels and gradients; the vectors are those of the filters or, where these would
// fill less of them, of the channels under a row of taps. The gradients of a run may come from a max pooling, as
// conv2d_max_pool_weight_gradient reads them: they are spread out in the cache.
#include "backends/cpu/kernels/pool_rows.h"
#include "backends/cpu/kernels/weight_gradient.h"
#include "plan/pooled_gradients.h"

namespace pando::cpu {

namespace {

// Multiplications of vectors for a pixel.
struct Costs {
  std::int64_t by_filters, by_channels;
};

// Taps that lie side by side in an image and meet consecutive channels: a row of them, or one.
std::int64_t joined_taps(const Window& window) { return window.dilations[1] == 1 ? window.kernel[1] : 1; }

Costs costs_of(const Window& window, const Shape& filter, std::int64_t lanes) {
  const std::int64_t joined = joined_taps(window), taps = filter[0] * filter[1];
  return {.by_filters = taps * filter[2] * divide_up(filter[3], lanes),
          .by_channels = filter[3] * taps / joined * divide_up(joined * filter[2], lanes)};
}

template <class T>
class SmallWeightGradient final : public Kernel {
 public:
  // With `pool`, the gradient is that of the pooled result.
  SmallWeightGradient(const KernelCall& call, const Window& window, const Window* pool, const Routines& routines)
      : x_(call.inputs[0]),
        dy_(call.inputs[1]),
        result_(call.outputs[0]),
        shape_(pool != nullptr ? convolved_of(call, window) : dy_.type.shape),
        window_(window),
        matrix_(matrix_routines<T>(routines)),
        runs_(window, x_.type.shape, shape_),
        image_(runs_.image()),
        filters_(result_.type.shape[3]),
        rows_(result_.type.shape.part(0, 3).elements()),
        sums_(runs_.count(), rows_ * filters_) {
    const Costs costs = costs_of(window, result_.type.shape, matrix_.lanes);
    by_channels_ = costs.by_channels < costs.by_filters;
    columns_ = by_channels_ ? joined_taps(window) * image_.channels : filters_;
    panel_ = panel_width(matrix_, columns_);
    pixels_.emplace(runs_, window, x_, by_channels_, panel_, layout_);
    if (pool != nullptr) spread_.emplace(dy_, call.inputs[2], *pool, shape_, routines);
    if (spread_ || copies_last_gradients())
      dy_scratch_ = layout_.add_elements<T>(runs_.most_pixels() * filters_ + panel_);
    result_scratch_ = layout_.add_elements<T>(by_channels_ ? rows_ * filters_ : 0);
    lay_out();
  }

  std::size_t scratch_bytes() const override { return layout_.bytes(); }
  std::size_t shared_bytes(int) const override { return sums_.bytes(); }

  void run(const Tile& tile) const override {
    const Range runs = share(tile, runs_.count());
    for (std::int64_t run = runs.begin; run < runs.end; ++run) {
      const PixelRun pixels = runs_[run];
      const T *const x = pixels_->place(tile, pixels), *const dy = place_dy(tile, pixels);
      by_channels_ ? sum_channels(pixels, x, dy, sums_.of(tile, run)) : sum_filters(pixels, x, dy, sums_.of(tile, run));
    }
  }

  void finish(const Tile& tile) const override {
    T* const result = pointer<T>(tile, result_);
    if (!by_channels_) {
      const Range elements = share(tile, rows_ * filters_);
      return sums_.add_up(tile, elements.begin, elements.end - elements.begin, result + elements.begin);
    }
    // The sums lie filter by filter; in the result the filters are the last axis.
    const Range filters = share(tile, filters_);
    T* const sums = at<T>(tile.scratch, result_scratch_);
    sums_.add_up(tile, filters.begin * rows_, (filters.end - filters.begin) * rows_, sums);
    for (std::int64_t row = 0; row < rows_; ++row) {
      for (std::int64_t f = filters.begin; f < filters.end; ++f) {
        result[row * filters_ + f] = sums[(f - filters.begin) * rows_ + row];
      }
    }
  }

 private:
  // Vectors of filters reach beyond the last gradient, unless they are whole.
  bool copies_last_gradients() const { return !by_channels_ && filters_ % matrix_.lanes != 0; }

  void lay_out() {
    const std::int64_t step = by_channels_ ? joined_taps(window_) : 1;
    const std::int64_t depth = by_channels_ ? 1 : image_.channels;
    for (std::int64_t tap = 0; tap < window_.kernel[0] * window_.kernel[1]; tap += step) {
      const std::int64_t pixel = tap / window_.kernel[1] * window_.dilations[0] * image_.padded_width +
                                 tap % window_.kernel[1] * window_.dilations[1];
      for (std::int64_t channel = 0; channel < depth; ++channel) {
        x_rows_.push_back(pixel * image_.channels + channel);
        if (!by_channels_) result_rows_.push_back(static_cast<std::int64_t>(result_rows_.size()) * filters_);
      }
    }
    for (std::int64_t f = 0; by_channels_ && f < filters_; ++f) {
      dy_rows_.push_back(f);
      result_rows_.push_back(f * rows_);
    }
    x_segments_ = pixels_->segments();
    for (std::size_t i = 0; i < x_segments_.size(); ++i) {
      dy_segments_.push_back(static_cast<std::int64_t>(i) * shape_.stride(1));
    }
  }

  const T* place_dy(const Tile& tile, const PixelRun& run) const {
    const std::int64_t first = run.image * shape_[1] + run.row, end = first + run.images * run.rows;
    T* const to = at<T>(tile.scratch, dy_scratch_);
    if (spread_) {
      spread_->make_rows(tile, {first, end}, to);
      return to;
    }
    const T* const dy = pointer<const T>(tile, dy_) + first * shape_.stride(1);
    if (!copies_last_gradients() || end < shape_[0] * shape_[1]) return dy;
    std::copy_n(dy, (end - first) * shape_.stride(1), to);
    return to;
  }

  // Rows of taps and channels, columns of filters.
  void sum_filters(const PixelRun& run, const T* x, const T* dy, T* sums) const {
    matrix_.multiply({.a = x,
                      .a_rows = x_rows_.data(),
                      .segments = x_segments_.data(),
                      .segment_count = run.images * run.rows,
                      .depth = shape_[2],
                      .a_step = window_.strides[1] * image_.channels,
                      .b = dy,
                      .b_step = filters_,
                      .b_panel = panel_,
                      .panel = panel_,
                      .c = sums,
                      .c_rows = result_rows_.data(),
                      .rows = rows_,
                      .columns = columns_});
  }

  // Rows of filters, columns of the channels under a row of taps, one such row after the other.
  void sum_channels(const PixelRun& run, const T* x, const T* dy, T* sums) const {
    for (std::size_t row = 0; row < x_rows_.size(); ++row) {
      matrix_.multiply({.a = dy,
                        .a_rows = dy_rows_.data(),
                        .segments = dy_segments_.data(),
                        .segment_count = run.images * run.rows,
                        .depth = shape_[2],
                        .a_step = filters_,
                        .b = x + x_rows_[row],
                        .b_step = window_.strides[1] * image_.channels,
                        .b_segments = x_segments_.data(),
                        .b_panel = panel_,
                        .panel = panel_,
                        .c = sums + static_cast<std::int64_t>(row) * columns_,
                        .c_rows = result_rows_.data(),
                        .rows = filters_,
                        .columns = columns_});
    }
  }

  Operand x_, dy_, result_;
  // Of the gradient with its zeros.
  Shape shape_;
  Window window_;
  const MatmulRoutinesOf<T>& matrix_;
  PixelRuns runs_;
  PaddedImage image_;
  // Rows of the filter: its taps and channels.
  std::int64_t filters_, rows_;
  RunSums<T> sums_;
  // Whether the columns of the products are channels rather than filters; how many, and in panels of which width.
  bool by_channels_ = false;
  std::int64_t columns_ = 0, panel_ = 0;
  std::vector<std::int64_t> x_rows_, dy_rows_, result_rows_, x_segments_, dy_segments_;
  ScratchLayout layout_;
  std::optional<RunPixels<T>> pixels_;
  std::optional<SpreadGradient<T>> spread_;
  std::size_t dy_scratch_ = 0, result_scratch_ = 0;
};

template <class T>
std::unique_ptr<Kernel> make_if_small(const KernelCall& call, const Window& window, const Routines& routines) {
  const Shape &x = call.inputs[0].type.shape, &dy = call.inputs[1].type.shape, &result = call.outputs[0].type.shape;
  // Pixels so far apart share few sets of the cache, and are copied first.
  constexpr std::int64_t most_filter_bytes = most_small_filters * 4;
  if (call.attributes.integer("groups") != 1 || result.elements() == 0 ||
      result[3] * static_cast<std::int64_t>(sizeof(T)) > most_filter_bytes) {
    return nullptr;
  }
  if (!RunSums<T>(PixelRuns(window, x, dy).count(), result.elements()).suits(1)) return nullptr;
  return std::make_unique<SmallWeightGradient<T>>(call, window, nullptr, routines);
}

}  // namespace

std::unique_ptr<Kernel> small_conv2d_weight_gradient(const KernelCall& call, const Window& window,
                                                     const Routines& routines) {
  if (call.inputs[0].type.dtype == DType::float64) return make_if_small<double>(call, window, routines);
  return make_if_small<float>(call, window, routines);
}

std::unique_ptr<Kernel> spread_conv2d_weight_gradient(const KernelCall& call, const Window& window, const Window& pool,
                                                      const Routines& routines) {
  const Shape &dy = call.inputs[1].type.shape, &result = call.outputs[0].type.shape;
  if (result.elements() == 0 || result[3] > most_small_filters ||
      prefers_fewer_products({.of_filter = true, .filter = result, .pooled = dy, .pixels = convolved_of(call, window)}))
    return nullptr;
  if (call.inputs[0].type.dtype == DType::float64)
    return std::make_unique<SmallWeightGradient<double>>(call, window, &pool, routines);
  return std::make_unique<SmallWeightGradient<float>>(call, window, &pool, routines);
}

}  // namespace pando::cpu
