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
class Conv2d final : public Kernel {
 public:
  Conv2d(const KernelCall& call, const CorrelationSizes& sizes, const Window& window, const Routines& routines)
      : x_(call.inputs[0]),
        filter_(call.inputs[1]),
        y_(convolved_shape(call, window)),
        epilogue_(call, 2, {x_.type.dtype, y_}, routines),
        most_images_(images_at_once(sizes, y_[0])),
        blocks_(y_[0], y_[1], row_bytes<T>(y_), most_images_),
        shares_(shares_of<T, S>(blocks_, sizes, routines)),
        correlation_(sizes, blocks_.block_rows(), most_images_, routines, layout_),
        epilogue_scratch_(layout_.add(epilogue_.scratch_bytes())),
        raw_scratch_(epilogue_.raw_in_output()
                         ? 0
                         : layout_.add_elements<T>(most_images_ * blocks_.block_rows() * y_.stride(1))) {}

  std::size_t scratch_bytes() const override { return layout_.bytes(); }

  void run(const Tile& tile) const override {
    const Range blocks = shares_.blocks(tile), channels = shares_.channels(tile, correlation_.columns());
    if (blocks.begin == blocks.end || channels.begin >= channels.end) return;
    correlation_.begin(pointer<const T>(tile, filter_), channels, tile.scratch);
    epilogue_.begin(tile, tile.scratch + epilogue_scratch_);
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      const std::int64_t image = blocks_.image(block), images = blocks_.images(block);
      const Range rows = blocks_.rows(block);
      const std::int64_t first = image * y_.stride(0) + rows.begin * y_.stride(1);
      T* const raw = epilogue_.raw_in_output() ? epilogue_.raw<T>(tile) + first : at<T>(tile.scratch, raw_scratch_);
      correlation_.run(pointer<const T>(tile, x_) + image * x_.type.shape.stride(0), images, rows, channels, raw,
                       tile.scratch);
      finish_block(tile, channels, first, images * (rows.end - rows.begin) * y_[2], raw);
    }
  }

 private:
  void finish_block(const Tile& tile, Range channels, std::int64_t first, std::int64_t pixels, const T* raw) const {
    std::byte* const scratch = tile.scratch + epilogue_scratch_;
    if (channels == correlation_.columns()) return epilogue_.finish(tile, scratch, first, pixels * y_[3], raw);
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      const std::int64_t offset = pixel * y_[3] + channels.begin;
      epilogue_.finish(tile, scratch, first + offset, channels.end - channels.begin, raw + offset);
    }
  }

  Operand x_, filter_;
  Shape y_;
  Epilogue epilogue_;
  std::int64_t most_images_;
  RowBlocks blocks_;
  Shares shares_;
  ScratchLayout layout_;
  Correlation<T, S> correlation_;
  std::size_t epilogue_scratch_, raw_scratch_;
};

CorrelationSizes sizes_of_input_gradient(const KernelCall& call, const Window& window) {
  return input_gradient_sizes(call.inputs[0].type.shape, call.outputs[0].type.shape, window,
                              call.attributes.integer("groups"));
}

template <class T, class S = T>
class Conv2dInputGradient final : public Kernel {
 public:
  Conv2dInputGradient(const KernelCall& call, const CorrelationSizes& sizes, const Window& window,
                      const Routines& routines)
      : dy_(call.inputs[0]),
        filter_(call.inputs[1]),
        dx_(call.outputs[0]),
        stride_(window.strides[0]),
        most_images_(images_at_once(sizes, dx_.type.shape[0])),
        blocks_(dx_.type.shape[0], divide_up(dx_.type.shape[1], stride_), row_bytes<T>(dx_.type.shape) * stride_,
                most_images_),
        shares_(shares_of<T, S>(blocks_, sizes, routines)),
        correlation_(sizes, blocks_.block_rows(), most_images_, routines, layout_) {}

  std::size_t scratch_bytes() const override { return layout_.bytes(); }

  void run(const Tile& tile) const override {
    const Range blocks = shares_.blocks(tile), channels = shares_.channels(tile, correlation_.columns());
    if (blocks.begin == blocks.end || channels.begin >= channels.end) return;
    const Shape &dx = dx_.type.shape, &dy = dy_.type.shape;
    correlation_.begin(pointer<const T>(tile, filter_), channels, tile.scratch);
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      const std::int64_t image = blocks_.image(block);
      const Range steps = blocks_.rows(block);
      correlation_.run(pointer<const T>(tile, dy_) + image * dy.stride(0), blocks_.images(block), steps, channels,
                       pointer<T>(tile, dx_) + image * dx.stride(0) + steps.begin * stride_ * dx.stride(1),
                       tile.scratch);
    }
  }

 private:
  Operand dy_, filter_, dx_;
  // Rows of dx in a step.
  std::int64_t stride_, most_images_;
  RowBlocks blocks_;
  Shares shares_;
  ScratchLayout layout_;
  Correlation<T, S> correlation_;
};

template <template <class, class> class K>
std::unique_ptr<Kernel> make(const KernelCall& call, const CorrelationSizes& sizes, const Window& window,
                             const Routines& routines) {
  const DType dtype = call.inputs[0].type.dtype;
  if (dtype == DType::float64) return std::make_unique<K<double, double>>(call, sizes, window, routines);
  if (suits_mixed(sizes, dtype, routines)) return std::make_unique<K<float, BFloat16>>(call, sizes, window, routines);
  return std::make_unique<K<float, float>>(call, sizes, window, routines);
}

}  // namespace

std::unique_ptr<Kernel> factories::conv2d(const KernelCall& call, const Routines& routines) {
  const Window window = conv_window(call.attributes, call.inputs[1].type.shape);
  return make<Conv2d>(call, convolution_sizes(call, window), window, routines);
}

std::unique_ptr<Kernel> factories::conv2d_input_gradient(const KernelCall& call, const Routines& routines) {
  const Window window = conv_window(call.attributes, call.inputs[1].type.shape);
  return make<Conv2dInputGradient>(call, sizes_of_input_gradient(call, window), window, routines);
}

}  // namespace pando::cpu
