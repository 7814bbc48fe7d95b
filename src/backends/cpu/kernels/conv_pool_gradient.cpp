// SPDX-License-Identifier: Apache-2.0
// conv2d_max_pool_input_gradient: the gradients that are not zero are listed pixel by pixel, and each adds its multiple
// of a row of its filter's taps to the sums of the pixels under it. Pixels and taps come in the order of
// conv2d_input_gradient, and the sums are split where it splits them, so the result has the same bits.
#include "backends/cpu/kernels/correlation.h"
#include "backends/cpu/kernels/pooled_gradient.h"
#include "backends/cpu/kernels/row_blocks.h"

namespace pando::cpu {

namespace {

template <class T>
class Conv2dMaxPoolInputGradient final : public Kernel {
 public:
  Conv2dMaxPoolInputGradient(const KernelCall& call, const Window& window, const Window& pool, const Routines& routines)
      : filter_(call.inputs[1]),
        dx_(call.outputs[0]),
        window_(window),
        conv_(conv_routines<T>(routines)),
        dy_{dx_.type.shape[0], window.output_size(0, dx_.type.shape[1]), window.output_size(1, dx_.type.shape[2]),
            filter_.type.shape[3]},
        gradient_(call.inputs[0], call.inputs[2], pool, dy_, routines),
        sizes_(input_gradient_sizes(dy_, dx_.type.shape, window, 1)),
        segments_(tap_segments<T>(sizes_, 0)),
        block_rows_(matrix_routines<T>(routines).block_rows),
        channels_(divide_up(dx_.type.shape[3], conv_.lanes) * conv_.lanes),
        blocks_(dx_.type.shape[0], dx_.type.shape[1], dx_.type.shape.stride(1) * static_cast<std::int64_t>(sizeof(T))),
        most_rows_(std::min(blocks_.block_rows() + window.kernel[0] - 1, dy_[1])),
        sums_elements_((dy_[2] + window.kernel[1] - 1) * channels_),
        filter_scratch_(layout_.add_elements<T>(window.kernel[0] * dy_[3] * filter_row())),
        starts_(layout_.add_elements<std::int64_t>(most_rows_ * (dy_[2] + 1))),
        values_(layout_.add_elements<T>(gradient_.most_listed(most_rows_) * dy_[3] + gradient_.slack)),
        filters_(layout_.add_elements<std::int32_t>(gradient_.most_listed(most_rows_) * dy_[3] + gradient_.slack)),
        sums_(layout_.add_elements<T>(sums_elements_)) {}

  std::size_t scratch_bytes() const override { return layout_.bytes(); }

  void run(const Tile& tile) const override {
    const Range blocks = share(tile, blocks_.count());
    if (blocks.begin == blocks.end) return;
    lay_out_filter(tile);
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      const std::int64_t image = blocks_.image(block);
      const Range rows = blocks_.rows(block);
      const Range needed = {std::max<std::int64_t>(rows.begin + sizes_.rows.taps[0].front().offset, 0),
                            std::min(rows.end + sizes_.rows.taps[0].back().offset, dy_[1])};
      list_rows(tile, image, needed);
      for (std::int64_t row = rows.begin; row < rows.end; ++row) make_row(tile, image, row, needed.begin);
    }
  }

 private:
  // A row of a filter's taps: whole vectors of channels for each tap.
  std::int64_t filter_row() const { return window_.kernel[1] * channels_; }

  // By rows of taps, then by filters.
  void lay_out_filter(const Tile& tile) const {
    const Shape& shape = filter_.type.shape;
    T* const to = at<T>(tile.scratch, filter_scratch_);
    if (channels_ != shape[2]) std::fill_n(to, shape[0] * shape[3] * filter_row(), T(0));
    for (std::int64_t tap = 0; tap < shape[0] * shape[1]; ++tap) {
      const std::int64_t row = tap / shape[1], column = tap % shape[1];
      conv_.transpose(pointer<const T>(tile, filter_) + tap * shape.stride(1), shape[3], shape[2], shape[3],
                      to + row * shape[3] * filter_row() + column * channels_, filter_row());
    }
  }

  // The lists of these rows of the gradient follow each other.
  void list_rows(const Tile& tile, std::int64_t image, Range rows) const {
    std::int64_t listed = 0;
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const GradientList<T> list = list_of(tile, row - rows.begin);
      list.starts[0] = listed;
      gradient_.list_pixels(tile, image, row, list);
      listed = list.starts[dy_[2]];
    }
  }

  GradientList<T> list_of(const Tile& tile, std::int64_t row) const {
    return {.starts = at<std::int64_t>(tile.scratch, starts_) + row * (dy_[2] + 1),
            .values = at<T>(tile.scratch, values_),
            .filters = at<std::int32_t>(tile.scratch, filters_)};
  }

  // Row `row` of dx; the lists begin with row `first` of the gradient.
  void make_row(const Tile& tile, std::int64_t image, std::int64_t row, std::int64_t first) const {
    const Shape& dx = dx_.type.shape;
    const Range taps = row_taps(sizes_, 0, dx[2] * images_at_once(sizes_), block_rows_, row);
    const std::int64_t last_segment = taps.end * segments_.row_segments;
    std::int64_t segment = taps.begin * segments_.row_segments;
    T* const sums = at<T>(tile.scratch, sums_);
    bool accumulate = false;
    do {  // once even without taps: the result is zero then
      const std::int64_t end = std::min(segment + segments_.at_once, last_segment);
      std::fill_n(sums, sums_elements_, T(0));
      while (segment < end) segment = add_segments(tile, row, first, segment, end);
      conv_.write_row(sums + window_.before(1) * channels_, channels_, dx[2], dx[3],
                      pointer<T>(tile, dx_) + image * dx.stride(0) + row * dx.stride(1), accumulate);
      accumulate = true;
    } while (segment < last_segment);
  }

  // Those of the segments [segment, end) that are in the same row of taps as the first; returns the next.
  std::int64_t add_segments(const Tile& tile, std::int64_t row, std::int64_t first, std::int64_t segment,
                            std::int64_t end) const {
    const std::int64_t row_segments = segments_.row_segments, width = window_.kernel[1];
    const auto& tap = sizes_.rows.taps[0][static_cast<std::size_t>(segment / row_segments)];
    const std::int64_t next = std::min(end, (segment / row_segments + 1) * row_segments);
    const std::int64_t source = row + tap.offset;
    if (source < 0 || source >= dy_[1]) return next;
    // The taps of a row come from right to left.
    const std::int64_t first_tap = segment % row_segments, taps = segments_.joins ? width : next - segment;
    const std::int64_t column = width - first_tap - taps;
    conv_.sum_row(
        {.list = list_of(tile, source - first),
         .pixels = dy_[2],
         .filter = at<T>(tile.scratch, filter_scratch_) + tap.index * dy_[3] * filter_row() + column * channels_,
         .filter_step = filter_row(),
         .vectors = taps * channels_ / conv_.lanes,
         .sums = at<T>(tile.scratch, sums_) + column * channels_,
         .sums_step = channels_});
    return next;
  }

  Operand filter_, dx_;
  Window window_;
  const ConvRoutinesOf<T>& conv_;
  // The shape of the gradient before the pooling.
  Shape dy_;
  PooledGradient<T> gradient_;
  CorrelationSizes sizes_;
  TapSegments segments_;
  // The channels of dx as whole vectors.
  std::int64_t block_rows_, channels_;
  RowBlocks blocks_;
  // Rows of the gradient that a block needs, and the sums of a row of dx with the padding around it.
  std::int64_t most_rows_, sums_elements_;
  ScratchLayout layout_;
  std::size_t filter_scratch_, starts_, values_, filters_, sums_;
};

}  // namespace

std::unique_ptr<Kernel> factories::conv2d_max_pool_input_gradient(const KernelCall& call, const Routines& routines) {
  const Window window = conv_window(call.attributes, call.inputs[1].type.shape);
  const Window pool = pool_window(call.attributes, "pool_");
  if (call.inputs[0].type.dtype == DType::float64) {
    return std::make_unique<Conv2dMaxPoolInputGradient<double>>(call, window, pool, routines);
  }
  return std::make_unique<Conv2dMaxPoolInputGradient<float>>(call, window, pool, routines);
}

}  // namespace pando::cpu
