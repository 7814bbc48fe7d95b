// SPDX-License-Identifier: Apache-2.0
// conv2d and the gradient of its input: correlations, cut into blocks of rows or, where the filter is large and the
// images are small, into blocks of images and of filters.
#include "backends/cpu/kernels/correlation.h"
#include "backends/cpu/kernels/epilogue.h"
#include "backends/cpu/kernels/row_blocks.h"

namespace pando::cpu {

namespace {

template <class T>
std::int64_t row_bytes(const Shape& image) {
  return image[2] * image[3] * static_cast<std::int64_t>(sizeof(T));
}

// Which blocks a tile makes, and which of their channels: all, unless images are taken together. A tile then packs its
// own part of the large filter alone.
class Shares {
 public:
  // `unit` channels are not split.
  Shares(const RowBlocks& blocks, const CorrelationSizes& sizes, std::int64_t unit)
      : blocks_(blocks.count()), channels_(sizes.result_channels), unit_(unit) {
    if (const std::int64_t images = images_at_once(sizes); images > 1) grid_.emplace(work(sizes, images));
  }

  Range blocks(const Tile& tile) const { return grid_ ? grid_->part(tile).blocks : share(tile, blocks_); }
  // Of them all if they are not split.
  Range channels(const Tile& tile, Range all) const {
    if (!grid_) return all;
    const Range panels = grid_->part(tile).panels;
    return {panels.begin * unit_, std::min(panels.end * unit_, channels_)};
  }

 private:
  // In elements loaded, as in matmul.
  Work work(const CorrelationSizes& sizes, std::int64_t images) const {
    const auto depth = static_cast<double>(sizes.filter_taps() * sizes.source_channels);
    const auto width = static_cast<double>(unit_);
    const auto pixels = static_cast<double>(images * sizes.rows.steps(0) * sizes.columns.steps(0));
    const PaddedImage image = padded_source(sizes);
    return {.blocks = blocks_,
            .panels = divide_up(channels_, unit_),
            .block_cost = pixels * width * depth / 4,
            .load_rows = static_cast<double>(images * image.padded_height * image.row_elements()),
            .load_panel = width * depth};
  }

  std::int64_t blocks_, channels_, unit_;
  std::optional<TileGrid> grid_;
};

template <class T, class S>
Shares shares_of(const RowBlocks& blocks, const CorrelationSizes& sizes, const Routines& routines) {
  const auto& matrix = product_routines<T, S>(routines);
  return {blocks, sizes, std::is_same_v<T, S> ? matrix.lanes : panel_width(matrix, sizes.result_channels)};
}

template <class T, class S = T>
class CorrelationKernel final : public Kernel {
 public:
  // A step of the row axis makes this many rows of the result `raw`, which the epilogue takes.
  CorrelationKernel(const KernelCall& call, const CorrelationSizes& sizes, const Shape& raw, std::int64_t step_rows,
                    const Routines& routines)
      : source_(call.inputs[0]),
        filter_(call.inputs[1]),
        shape_(raw),
        step_rows_(step_rows),
        epilogue_(call, 2, {source_.type.dtype, raw}, routines),
        most_images_(images_at_once(sizes, raw[0])),
        blocks_(raw[0], divide_up(raw[1], step_rows), row_bytes<T>(raw) * step_rows, most_images_),
        shares_(shares_of<T, S>(blocks_, sizes, routines)),
        correlation_(sizes, blocks_.block_rows(), most_images_, routines, layout_),
        epilogue_scratch_(layout_.add(epilogue_.scratch_bytes())),
        raw_scratch_(epilogue_.raw_in_output()
                         ? 0
                         : layout_.add_elements<T>(most_images_ * blocks_.block_rows() * step_rows * raw.stride(1))) {}

  std::size_t scratch_bytes() const override { return layout_.bytes(); }

  void run(const Tile& tile) const override {
    const Range blocks = shares_.blocks(tile), channels = shares_.channels(tile, correlation_.columns());
    if (blocks.begin == blocks.end || channels.begin >= channels.end) return;
    correlation_.begin(pointer<const T>(tile, filter_), channels, tile.scratch);
    epilogue_.begin(tile, tile.scratch + epilogue_scratch_);
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      const std::int64_t image = blocks_.image(block), images = blocks_.images(block);
      const Range steps = blocks_.rows(block);
      const Range rows = {steps.begin * step_rows_, std::min(steps.end * step_rows_, shape_[1])};
      const std::int64_t first = image * shape_.stride(0) + rows.begin * shape_.stride(1);
      T* const raw = epilogue_.raw_in_output() ? epilogue_.raw<T>(tile) + first : at<T>(tile.scratch, raw_scratch_);
      correlation_.run(pointer<const T>(tile, source_) + image * source_.type.shape.stride(0), images, steps, channels,
                       raw, tile.scratch);
      finish_block(tile, channels, first, images * (rows.end - rows.begin) * shape_[2], raw);
    }
  }

 private:
  void finish_block(const Tile& tile, Range channels, std::int64_t first, std::int64_t pixels, const T* raw) const {
    std::byte* const scratch = tile.scratch + epilogue_scratch_;
    if (channels == correlation_.columns()) return epilogue_.finish(tile, scratch, first, pixels * shape_[3], raw);
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      const std::int64_t offset = pixel * shape_[3] + channels.begin;
      epilogue_.finish(tile, scratch, first + offset, channels.end - channels.begin, raw + offset);
    }
  }

  Operand source_, filter_;
  Shape shape_;
  std::int64_t step_rows_;
  Epilogue epilogue_;
  std::int64_t most_images_;
  RowBlocks blocks_;
  Shares shares_;
  ScratchLayout layout_;
  Correlation<T, S> correlation_;
  std::size_t epilogue_scratch_, raw_scratch_;
};

std::unique_ptr<Kernel> make_correlation(const KernelCall& call, const CorrelationSizes& sizes, const Shape& raw,
                                         std::int64_t step_rows, const Routines& routines) {
  const DType dtype = call.inputs[0].type.dtype;
  if (dtype == DType::float64)
    return std::make_unique<CorrelationKernel<double>>(call, sizes, raw, step_rows, routines);
  if (suits_mixed(sizes, dtype, routines))
    return std::make_unique<CorrelationKernel<float, BFloat16>>(call, sizes, raw, step_rows, routines);
  return std::make_unique<CorrelationKernel<float>>(call, sizes, raw, step_rows, routines);
}

}  // namespace

std::unique_ptr<Kernel> factories::conv2d(const KernelCall& call, const Routines& routines) {
  const Window window = conv_window(call.attributes, call.inputs[1].type.shape);
  return make_correlation(call, convolution_sizes(call, window), convolved_shape(call, window), 1, routines);
}

std::unique_ptr<Kernel> factories::conv2d_input_gradient(const KernelCall& call, const Routines& routines) {
  const Window window = conv_window(call.attributes, call.inputs[1].type.shape);
  const Shape& dy = call.inputs[0].type.shape;
  // Of the raw result, whose elements an epilogue may give another type, but no other place.
  const Shape& dx = call.outputs[0].type.shape;
  return make_correlation(call, input_gradient_sizes(dy, dx, window, call.attributes.integer("groups")), dx,
                          window.strides[0], routines);
}

}  // namespace pando::cpu
