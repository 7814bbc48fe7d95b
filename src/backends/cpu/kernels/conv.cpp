// SPDX-License-Identifier: Apache-2.0
// conv2d and the gradient of its input: correlations, cut into blocks of rows.
#include "backends/cpu/kernels/correlation.h"
#include "backends/cpu/kernels/epilogue.h"
#include "backends/cpu/kernels/row_blocks.h"

namespace pando::cpu {

namespace {

template <class T>
std::int64_t row_bytes(const Shape& image) {
  return image[2] * image[3] * static_cast<std::int64_t>(sizeof(T));
}

template <class T, class S = T>
class Conv2d final : public Kernel {
 public:
  Conv2d(const KernelCall& call, const Window& window, const Routines& routines)
      : x_(call.inputs[0]),
        filter_(call.inputs[1]),
        y_(convolved_shape(call, window)),
        epilogue_(call, 2, {x_.type.dtype, y_}, routines),
        blocks_(y_[0], y_[1], row_bytes<T>(y_)),
        correlation_(convolution_sizes(call, window), blocks_.block_rows(), routines, layout_),
        epilogue_scratch_(layout_.add(epilogue_.scratch_bytes())),
        raw_scratch_(epilogue_.raw_in_output() ? 0 : layout_.add_elements<T>(blocks_.block_rows() * y_.stride(1))) {}

  std::size_t scratch_bytes() const override { return layout_.bytes(); }

  void run(const Tile& tile) const override {
    const Range blocks = share(tile, blocks_.count());
    if (blocks.begin == blocks.end) return;
    std::byte* const epilogue_scratch = tile.scratch + epilogue_scratch_;
    correlation_.begin(pointer<const T>(tile, filter_), tile.scratch);
    epilogue_.begin(tile, epilogue_scratch);
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      const std::int64_t image = blocks_.image(block);
      const Range rows = blocks_.rows(block);
      const std::int64_t first = image * y_.stride(0) + rows.begin * y_.stride(1);
      T* const raw = epilogue_.raw_in_output() ? epilogue_.raw<T>(tile) + first : at<T>(tile.scratch, raw_scratch_);
      correlation_.run(pointer<const T>(tile, x_) + image * x_.type.shape.stride(0), rows.begin, rows.end, raw,
                       tile.scratch);
      epilogue_.finish(tile, epilogue_scratch, first, (rows.end - rows.begin) * y_.stride(1), raw);
    }
  }

 private:
  Operand x_, filter_;
  Shape y_;
  Epilogue epilogue_;
  RowBlocks blocks_;
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
  Conv2dInputGradient(const KernelCall& call, const Window& window, const Routines& routines)
      : dy_(call.inputs[0]),
        filter_(call.inputs[1]),
        dx_(call.outputs[0]),
        stride_(window.strides[0]),
        blocks_(dx_.type.shape[0], divide_up(dx_.type.shape[1], stride_), row_bytes<T>(dx_.type.shape) * stride_),
        correlation_(sizes_of_input_gradient(call, window), blocks_.block_rows(), routines, layout_) {}

  std::size_t scratch_bytes() const override { return layout_.bytes(); }

  void run(const Tile& tile) const override {
    const Range blocks = share(tile, blocks_.count());
    if (blocks.begin == blocks.end) return;
    const Shape &dx = dx_.type.shape, &dy = dy_.type.shape;
    correlation_.begin(pointer<const T>(tile, filter_), tile.scratch);
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      const std::int64_t image = blocks_.image(block);
      const Range steps = blocks_.rows(block);
      correlation_.run(pointer<const T>(tile, dy_) + image * dy.stride(0), steps.begin, steps.end,
                       pointer<T>(tile, dx_) + image * dx.stride(0) + steps.begin * stride_ * dx.stride(1),
                       tile.scratch);
    }
  }

 private:
  Operand dy_, filter_, dx_;
  // Rows of dx in a step.
  std::int64_t stride_;
  RowBlocks blocks_;
  ScratchLayout layout_;
  Correlation<T, S> correlation_;
};

template <template <class, class> class K>
std::unique_ptr<Kernel> make(const KernelCall& call, const CorrelationSizes& sizes, const Window& window,
                             const Routines& routines) {
  const DType dtype = call.inputs[0].type.dtype;
  if (dtype == DType::float64) return std::make_unique<K<double, double>>(call, window, routines);
  if (suits_mixed(sizes, dtype, routines)) return std::make_unique<K<float, BFloat16>>(call, window, routines);
  return std::make_unique<K<float, float>>(call, window, routines);
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
