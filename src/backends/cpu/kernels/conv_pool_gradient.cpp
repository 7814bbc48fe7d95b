// SPDX-License-Identifier: Apache-2.0
// conv2d_max_pool_input_gradient: the gradients that are not zero are listed pixel by pixel, and each adds its multiple
// of a row of its filter's taps to the sums of the pixels under it. Pixels and taps come in the order of
// conv2d_input_gradient, and the sums are split where it splits them, so the result has the same bits.
//
// A pixel has few gradients, and processors cannot predict how many. So where registers are free, the sums under
// several pixels are made at once, without branches: the filter is padded with zeros, which stand for the sums of the
// other pixels. As zero times infinity is not zero, gradients that are not finite are taken pixel by pixel.
#include <cmath>
#include <limits>

#include "backends/cpu/kernels/correlation.h"
#include "backends/cpu/kernels/epilogue.h"
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
        routines_(pooled_routines<T>(routines)),
        dy_{dx_.type.shape[0], window.output_size(0, dx_.type.shape[1]), window.output_size(1, dx_.type.shape[2]),
            filter_.type.shape[3]},
        gradient_(call.inputs[0], call.inputs[2], pool, dy_, routines),
        sizes_(input_gradient_sizes(dy_, dx_.type.shape, window, 1)),
        segments_(tap_segments<T>(sizes_, 0)),
        block_rows_(matrix_routines<T>(routines).block_rows),
        tap_vectors_(divide_up(dx_.type.shape[3], routines_.lanes)),
        channels_(tap_vectors_ * routines_.lanes),
        pixels_at_once_(choose_pixels_at_once()),
        pixels_in_row_(dx_.type.shape[2] * images_at_once(sizes_)),
        tap_row_step_(dy_[3] * filter_row()),
        image_step_(dx_.type.shape.stride(0)),
        row_step_(dx_.type.shape.stride(1)),
        epilogue_(call, 3, {call.inputs[0].type.dtype, dx_.type.shape}, routines),
        blocks_(dx_.type.shape[0], dx_.type.shape[1], dx_.type.shape.stride(1) * static_cast<std::int64_t>(sizeof(T))),
        most_rows_(std::min(blocks_.block_rows() + window.kernel[0] - 1, dy_[1])),
        sums_elements_((dy_[2] + window.kernel[1] - 1 + pixels_at_once_ - 1) * channels_),
        filter_scratch_(layout_.add_elements<T>(margin() + window.kernel[0] * dy_[3] * filter_row())),
        starts_(layout_.add_elements<std::int64_t>(most_rows_ * (dy_[2] + 1))),
        values_(layout_.add_elements<T>(gradient_.most_listed(most_rows_) * dy_[3] + gradient_.slack)),
        filters_(layout_.add_elements<std::int32_t>(gradient_.most_listed(most_rows_) * dy_[3] + gradient_.slack)),
        sums_(layout_.add_elements<T>(sums_elements_)),
        epilogue_scratch_(layout_.add(epilogue_.scratch_bytes())),
        raw_scratch_(epilogue_.raw_in_output() ? 0 : layout_.add_elements<T>(blocks_.block_rows() * row_step_)) {
    for (std::int64_t column = 0; column < dy_[2]; ++column)
      first_filter_of_.push_back(-(column % pixels_at_once_) * channels_);
  }

  std::size_t scratch_bytes() const override { return layout_.bytes(); }

  void run(const Tile& tile) const override {
    const Range blocks = share(tile, blocks_.count());
    if (blocks.begin == blocks.end) return;
    lay_out_filter(tile);
    epilogue_.begin(tile, tile.scratch + epilogue_scratch_);
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      const std::int64_t image = blocks_.image(block);
      const Range rows = blocks_.rows(block);
      const Range needed = {std::max<std::int64_t>(rows.begin + sizes_.rows.taps[0].front().offset, 0),
                            std::min(rows.end + sizes_.rows.taps[0].back().offset, dy_[1])};
      const std::int64_t listed = list_rows(tile, image, needed);
      const bool at_once = pixels_at_once_ > 1 && are_finite(at<T>(tile.scratch, values_), listed);
      const std::int64_t first = image * image_step_ + rows.begin * row_step_;
      T* const raw = epilogue_.raw_in_output() ? epilogue_.raw<T>(tile) + first : at<T>(tile.scratch, raw_scratch_);
      for (std::int64_t row = rows.begin; row < rows.end; ++row)
        make_row(tile, row, needed.begin, at_once, raw + (row - rows.begin) * row_step_);
      epilogue_.finish(tile, tile.scratch + epilogue_scratch_, first, (rows.end - rows.begin) * row_step_, raw);
    }
  }

 private:
  // As many as have their sums in the registers that hide the time of a multiply-add, and their filters in the
  // first-level cache.
  std::int64_t choose_pixels_at_once() const {
    constexpr std::int64_t most_sums = 8, most_filter_bytes = 40 << 10;
    std::int64_t pixels = 1;
    const auto suits = [&](std::int64_t count) {
      const std::int64_t row = (window_.kernel[1] + count - 1) * channels_;
      return row <= most_sums * routines_.lanes &&
             window_.kernel[0] * dy_[3] * row * static_cast<std::int64_t>(sizeof(T)) <= most_filter_bytes;
    };
    while (segments_.joins && pixels < dy_[2] && suits(pixels + 1)) ++pixels;
    return pixels;
  }

  // A row of a filter's taps: whole vectors of channels for each tap, then the zeros that follow it and come before the
  // next.
  std::int64_t margin() const { return (pixels_at_once_ - 1) * channels_; }
  std::int64_t filter_row() const { return window_.kernel[1] * channels_ + margin(); }

  // By rows of taps, then by filters.
  void lay_out_filter(const Tile& tile) const {
    const Shape& shape = filter_.type.shape;
    T* const first = at<T>(tile.scratch, filter_scratch_);
    T* const to = first + margin();
    if (margin() > 0 || channels_ != shape[2]) std::fill_n(first, margin() + shape[0] * shape[3] * filter_row(), T(0));
    for (std::int64_t tap = 0; tap < shape[0] * shape[1]; ++tap) {
      const std::int64_t row = tap / shape[1], column = tap % shape[1];
      routines_.transpose(pointer<const T>(tile, filter_) + tap * shape.stride(1), shape[3], shape[2], shape[3],
                          to + row * shape[3] * filter_row() + column * channels_, filter_row());
    }
  }

  static bool are_finite(const T* values, std::int64_t count) {
    bool result = true;
    for (std::int64_t i = 0; i < count; ++i) result &= std::abs(values[i]) <= std::numeric_limits<T>::max();
    return result;
  }

  // The lists of these rows of the gradient follow each other. Returns how many there are in all.
  std::int64_t list_rows(const Tile& tile, std::int64_t image, Range rows) const {
    std::int64_t listed = 0;
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const GradientList<T> list = list_of(tile, row - rows.begin);
      list.starts[0] = listed;
      gradient_.list_pixels(tile, image, row, {filter_row(), pixels_at_once_ > 1 ? first_filter_of_.data() : nullptr},
                            list);
      listed = list.starts[dy_[2]];
    }
    return listed;
  }

  GradientList<T> list_of(const Tile& tile, std::int64_t row) const {
    return {.starts = at<std::int64_t>(tile.scratch, starts_) + row * (dy_[2] + 1),
            .values = at<T>(tile.scratch, values_),
            .filters = at<std::int32_t>(tile.scratch, filters_)};
  }

  // Row `row` of dx; the lists begin with row `first` of the gradient.
  void make_row(const Tile& tile, std::int64_t row, std::int64_t first, bool at_once, T* to) const {
    const Range taps = row_taps(sizes_, 0, pixels_in_row_, block_rows_, row);
    T* const sums = at<T>(tile.scratch, sums_);
    std::fill_n(sums, sums_elements_, T(0));
    // Segments that are still to be summed before the sums are added to dx.
    std::int64_t left = segments_.at_once;
    bool accumulate = false;
    for (std::int64_t tap = taps.begin; tap < taps.end; ++tap) {
      for (std::int64_t segment = 0; segment < segments_.row_segments;) {
        if (left == 0) {
          write_row(sums, to, accumulate);
          std::fill_n(sums, sums_elements_, T(0));
          accumulate = true;
          left = segments_.at_once;
        }
        const std::int64_t count = std::min(left, segments_.row_segments - segment);
        add_segments(tile, row, first, tap, {segment, segment + count}, at_once);
        segment += count;
        left -= count;
      }
    }
    write_row(sums, to, accumulate);
  }

  void write_row(const T* sums, T* to, bool accumulate) const {
    const Shape& dx = dx_.type.shape;
    routines_.write_row(sums + window_.before(1) * channels_, channels_, dx[2], dx[3], to, accumulate);
  }

  // Some segments of a row of taps, which is one segment or has one for each tap.
  void add_segments(const Tile& tile, std::int64_t row, std::int64_t first, std::int64_t tap_row, Range segments,
                    bool at_once) const {
    const auto& tap = sizes_.rows.taps[0][static_cast<std::size_t>(tap_row)];
    const std::int64_t source = row + tap.offset;
    if (source < 0 || source >= dy_[1]) return;
    // The taps of a row come from right to left.
    const std::int64_t width = window_.kernel[1];
    const std::int64_t taps = segments_.joins ? width : segments.end - segments.begin;
    const std::int64_t column = segments_.joins ? 0 : width - segments.end;
    RowSums<T> sums = {
        .list = list_of(tile, source - first),
        .pixels = dy_[2],
        .filter = at<T>(tile.scratch, filter_scratch_) + margin() + tap.index * tap_row_step_ + column * channels_,
        .vectors = taps * tap_vectors_,
        .sums = at<T>(tile.scratch, sums_) + column * channels_,
        .sums_step = channels_};
    if (at_once) {
      sums.vectors += (pixels_at_once_ - 1) * tap_vectors_;
      sums.pixels_at_once = pixels_at_once_;
    } else if (pixels_at_once_ > 1) {
      return add_pixels(sums);
    }
    routines_.sum_row(sums);
  }

  // Each pixel by itself, whose entries are listed for several at once.
  void add_pixels(RowSums<T> sums) const {
    const T* const filter = sums.filter;
    sums.pixels = 1;
    for (std::int64_t pixel = 0; pixel < dy_[2]; ++pixel, ++sums.list.starts, sums.sums += channels_) {
      sums.filter = filter - first_filter_of_[static_cast<std::size_t>(pixel)];
      routines_.sum_row(sums);
    }
  }

  Operand filter_, dx_;
  Window window_;
  const PooledRoutinesOf<T>& routines_;
  // The shape of the gradient before the pooling.
  Shape dy_;
  PooledGradient<T> gradient_;
  CorrelationSizes sizes_;
  TapSegments segments_;
  std::int64_t block_rows_;
  // The channels of dx as whole vectors, and how many elements these have.
  std::int64_t tap_vectors_, channels_;
  std::int64_t pixels_at_once_;
  // Pixels in a row of dx of the images that conv2d_input_gradient takes at once.
  std::int64_t pixels_in_row_;
  // Elements from a row of taps to the next, and from an image and a row of dx to the next.
  std::int64_t tap_row_step_, image_step_, row_step_;
  Epilogue epilogue_;
  RowBlocks blocks_;
  // Rows of the gradient that a block needs, and the sums of a row of dx with the padding around it.
  std::int64_t most_rows_, sums_elements_;
  ScratchLayout layout_;
  std::size_t filter_scratch_, starts_, values_, filters_, sums_, epilogue_scratch_, raw_scratch_;
  // By columns: the elements by which the row of a filter begins earlier for a pixel that is not the first of those at
  // once.
  std::vector<std::int64_t> first_filter_of_;
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
