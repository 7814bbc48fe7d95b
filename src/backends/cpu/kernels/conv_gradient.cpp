// SPDX-License-Identifier: Apache-2.0
// conv2d_weight_gradient of convolutions with few channels whose filters are not small, of groups, and of each channel
// by itself.
#include "backends/cpu/kernels/weight_gradient.h"

namespace pando::cpu {

namespace {

template <class T>
class Conv2dWeightGradient final : public Kernel {
 public:
  Conv2dWeightGradient(const KernelCall& call, const Window& window, const Routines& routines)
      : x_(call.inputs[0]),
        dy_(call.inputs[1]),
        result_(call.outputs[0]),
        window_(window),
        matrix_(matrix_routines<T>(routines)),
        runs_(window, x_.type.shape, dy_.type.shape),
        image_(runs_.image()),
        by_channel_(is_by_channel(call)),
        groups_(by_channel_ ? 1 : call.attributes.integer("groups")),
        rows_(result_.type.shape.part(0, by_channel_ ? 2 : 3).elements()),
        columns_(result_.type.shape[3] / groups_),
        panel_(by_channel_ ? matrix_.lanes : panel_width(matrix_, columns_)),
        grid_(work()),
        pixels_(runs_, window, x_, false, 0, layout_),
        segments_(pixels_.segments()) {
    lay_out_rows();
    choose_copies();
  }

  std::size_t scratch_bytes() const override { return layout_.bytes(); }

  void run(const Tile& tile) const override {
    const Part part = grid_.part(tile);
    runs_.for_each([&](const PixelRun& run, bool accumulate) { add_run(tile, part, run, accumulate); });
  }

 private:
  bool is_by_channel(const KernelCall& call) const {
    const std::int64_t groups = call.attributes.integer("groups");
    return groups > 1 && x_.type.shape[3] == groups && dy_.type.shape[3] == groups;
  }

  Work work() const {
    const auto height = static_cast<double>(matrix_.block_rows), width = static_cast<double>(panel_);
    return {.batches = groups_,
            .blocks = by_channel_ ? 1 : divide_up(rows_, matrix_.block_rows),
            .panels = divide_up(columns_, panel_),
            .block_cost = height * width / 4,
            .load_rows = height,
            .load_panel = width};
  }

  void choose_copies() {
    constexpr std::int64_t element_bytes = sizeof(T);
    // Rows of dy that do not end on a vector are copied; so are pixels so far apart that they share few cache sets.
    packs_ = !by_channel_ && (columns_ % matrix_.lanes != 0 || dy_.type.shape[3] * element_bytes >= 512);
    if (packs_) dy_scratch_ = layout_.add_elements<T>(runs_.most_pixels() * divide_up(columns_, panel_) * panel_);
  }

  void lay_out_rows() {
    const std::int64_t depth = by_channel_ ? 1 : result_.type.shape[2];
    for (std::int64_t row = 0; row < window_.kernel[0]; ++row) {
      for (std::int64_t column = 0; column < window_.kernel[1]; ++column) {
        const std::int64_t pixel = row * window_.dilations[0] * image_.padded_width + column * window_.dilations[1];
        for (std::int64_t channel = 0; channel < depth; ++channel) {
          x_rows_.push_back(pixel * image_.channels + channel);
          result_rows_.push_back(static_cast<std::int64_t>(result_rows_.size()) * result_.type.shape[3]);
        }
      }
    }
  }

  void add_run(const Tile& tile, const Part& part, const PixelRun& run, bool accumulate) const {
    const Shape& dy = dy_.type.shape;
    const T* const x = pixels_.place(tile, run);
    const T* const gradient = pointer<const T>(tile, dy_) + run.image * dy.stride(0) + run.row * dy.stride(1);
    const std::int64_t first_row = by_channel_ ? 0 : part.blocks.begin * matrix_.block_rows;
    const std::int64_t last_row = by_channel_ ? rows_ * (part.blocks.end - part.blocks.begin)
                                              : std::min(part.blocks.end * matrix_.block_rows, rows_);
    Product<T> product = {.a_rows = x_rows_.data() + first_row,
                          .segments = segments_.data(),
                          .segment_count = run.images * run.rows,
                          .depth = dy[2],
                          .a_step = window_.strides[1] * image_.channels,
                          .b_step = dy[3],
                          .b_panel = panel_,
                          .panel = panel_,
                          .c_rows = result_rows_.data() + first_row,
                          .rows = last_row - first_row,
                          .accumulate = accumulate};
    const Range columns = {part.panels.begin * panel_, std::min(part.panels.end * panel_, columns_)};
    for (std::int64_t group = part.batches.begin; group < part.batches.end; ++group) {
      product.a = x + group * (image_.channels / groups_);
      add_columns(tile, gradient + group * columns_, pointer<T>(tile, result_) + group * columns_, columns, product);
    }
  }

  void add_columns(const Tile& tile, const T* dy, T* result, Range columns, Product<T>& product) const {
    if (product.rows <= 0 || columns.begin >= columns.end) return;
    product.b = dy + columns.begin;
    product.c = result + columns.begin;
    product.columns = columns.end - columns.begin;
    if (by_channel_) {
      product.a += columns.begin;
      return matrix_.multiply_columns(product);
    }
    if (packs_) {
      T* const packed = at<T>(tile.scratch, dy_scratch_);
      product.b_panel = product.segment_count * product.depth * panel_;
      matrix_.pack({.from = product.b,
                    .step = dy_.type.shape[3],
                    .depth = product.segment_count * product.depth,
                    .columns = product.columns,
                    .panel = panel_,
                    .to = packed,
                    .panel_step = product.b_panel});
      product.b = packed;
      product.b_step = panel_;
    }
    matrix_.multiply(product);
  }

  Operand x_, dy_, result_;
  Window window_;
  const MatmulRoutinesOf<T>& matrix_;
  PixelRuns runs_;
  PaddedImage image_;
  // A convolution of each channel by itself runs over all channels at once, as one group.
  bool by_channel_;
  std::int64_t groups_, rows_, columns_, panel_;
  TileGrid grid_;
  ScratchLayout layout_;
  RunPixels<T> pixels_;
  std::vector<std::int64_t> x_rows_, result_rows_, segments_;
  bool packs_ = false;
  std::size_t dy_scratch_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> factories::conv2d_weight_gradient(const KernelCall& call, const Routines& routines) {
  const Window window = conv_window(call.attributes, call.outputs[0].type.shape);
  if (auto kernel = images_conv2d_weight_gradient(call, window, routines)) return kernel;
  if (auto kernel = mixed_conv2d_weight_gradient(call, window, routines)) return kernel;
  if (auto kernel = wide_conv2d_weight_gradient(call, window, routines)) return kernel;
  if (auto kernel = small_conv2d_weight_gradient(call, window, routines)) return kernel;
  if (call.inputs[0].type.dtype == DType::float64) {
    return std::make_unique<Conv2dWeightGradient<double>>(call, window, routines);
  }
  return std::make_unique<Conv2dWeightGradient<float>>(call, window, routines);
}

}  // namespace pando::cpu
