// SPDX-License-Identifier: Apache-2.0
// conv2d_max_pool: the rows of the convolution that a few pooled rows need are computed in scratch memory, pooled there
// and dropped; they never reach main memory.
#include "backends/cpu/kernels/correlation.h"
#include "backends/cpu/kernels/epilogue.h"
#include "backends/cpu/kernels/pool_rows.h"
#include "backends/cpu/kernels/row_blocks.h"

namespace pando::cpu {

namespace {

template <class T, class S = T>
class Conv2dMaxPool final : public Kernel {
 public:
  Conv2dMaxPool(const KernelCall& call, const Window& window, const Window& pool_window, const Routines& routines)
      : x_(call.inputs[0]),
        filter_(call.inputs[1]),
        positions_(call.outputs.back()),
        wide_(positions_.type.dtype == DType::int32),
        convolved_(convolved_shape(call, window)),
        pooled_(positions_.type.shape),
        pool_(pool_routines<T>(routines)),
        rows_(pool_window, convolved_, pooled_),
        epilogue_(call, 2, {x_.type.dtype, pooled_}, routines),
        most_images_(images_at_once(convolution_sizes(call, window), pooled_[0])),
        blocks_(pooled_[0], pooled_[1], pool_window.strides[0] * convolved_.stride(1) * element_bytes, most_images_),
        most_rows_(
            std::min((blocks_.block_rows() - 1) * pool_window.strides[0] + pool_window.kernel[0], convolved_[1])),
        correlation_(convolution_sizes(call, window), most_rows_, most_images_, routines, layout_),
        epilogue_scratch_(layout_.add(epilogue_.scratch_bytes())),
        convolved_scratch_(layout_.add_elements<T>(most_images_ > 1 ? most_images_ * convolved_.stride(0)
                                                                    : most_rows_ * convolved_.stride(1))),
        raw_scratch_(epilogue_.raw_in_output()
                         ? 0
                         : layout_.add_elements<T>(most_images_ * blocks_.block_rows() * pooled_.stride(1))) {}

  std::size_t scratch_bytes() const override { return layout_.bytes(); }

  void run(const Tile& tile) const override {
    const Range blocks = share(tile, blocks_.count());
    if (blocks.begin == blocks.end) return;
    std::byte* const epilogue_scratch = tile.scratch + epilogue_scratch_;
    correlation_.begin(pointer<const T>(tile, filter_), correlation_.columns(), tile.scratch);
    epilogue_.begin(tile, epilogue_scratch);
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      const std::int64_t image = blocks_.image(block), images = blocks_.images(block);
      const Range rows = blocks_.rows(block);
      const std::int64_t first = image * pooled_.stride(0) + rows.begin * pooled_.stride(1);
      T* const raw = epilogue_.raw_in_output() ? epilogue_.raw<T>(tile) + first : at<T>(tile.scratch, raw_scratch_);
      convolve(tile, image, images, rows);
      const std::int64_t elements = (rows.end - rows.begin) * pooled_.stride(1);
      for (std::int64_t i = 0; i < images; ++i) pool(tile, i, rows, first + i * elements, raw + i * elements);
      epilogue_.finish(tile, epilogue_scratch, first, images * elements, raw);
    }
  }

 private:
  static constexpr std::int64_t element_bytes = sizeof(T);

  // The rows of the convolution that these pooled rows need.
  Range needed(Range rows) const { return {rows_.image_rows(rows.begin).begin, rows_.image_rows(rows.end - 1).end}; }

  void convolve(const Tile& tile, std::int64_t image, std::int64_t images, Range rows) const {
    correlation_.run(pointer<const T>(tile, x_) + image * x_.type.shape.stride(0), images, needed(rows),
                     correlation_.columns(), at<T>(tile.scratch, convolved_scratch_), tile.scratch);
  }

  // The rows of image `index` of those that are convolved.
  void pool(const Tile& tile, std::int64_t index, Range rows, std::int64_t first, T* raw) const {
    const T* const convolved = at<T>(tile.scratch, convolved_scratch_) + index * convolved_.stride(0);
    const auto position_bytes = static_cast<std::int64_t>(size_of(positions_.type.dtype));
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const std::int64_t done = (row - rows.begin) * pooled_.stride(1);
      std::byte* const positions =
          positions_.buffer >= 0 ? pointer<std::byte>(tile, positions_) + (first + done) * position_bytes : nullptr;
      max_pool_row(pool_, wide_, rows_[row],
                   convolved + (rows_.image_rows(row).begin - needed(rows).begin) * convolved_.stride(1), raw + done,
                   positions);
    }
  }

  Operand x_, filter_, positions_;
  bool wide_;
  Shape convolved_, pooled_;
  const PoolRoutinesOf<T>& pool_;
  PoolRows rows_;
  Epilogue epilogue_;
  std::int64_t most_images_;
  RowBlocks blocks_;
  // Rows of the convolution that a block of pooled rows needs.
  std::int64_t most_rows_;
  ScratchLayout layout_;
  Correlation<T, S> correlation_;
  std::size_t epilogue_scratch_, convolved_scratch_, raw_scratch_;
};

}  // namespace

std::unique_ptr<Kernel> factories::conv2d_max_pool(const KernelCall& call, const Routines& routines) {
  const Window window = conv_window(call.attributes, call.inputs[1].type.shape);
  const Window pool = pool_window(call.attributes, "pool_");
  if (call.inputs[0].type.dtype == DType::float64) {
    return std::make_unique<Conv2dMaxPool<double>>(call, window, pool, routines);
  }
  if (suits_mixed(convolution_sizes(call, window), call.inputs[0].type.dtype, routines)) {
    return std::make_unique<Conv2dMaxPool<float, BFloat16>>(call, window, pool, routines);
  }
  return std::make_unique<Conv2dMaxPool<float>>(call, window, pool, routines);
}

}  // namespace pando::cpu
