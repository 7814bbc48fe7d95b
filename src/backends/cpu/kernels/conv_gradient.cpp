// conv2d_weight_gradient: products of x and dy summed over pixels, a run of pixels at a time for all weights of a tile,
// so that each run is read from the cache and long sums stay accurate.
#include <algorithm>

#include "backends/cpu/kernels/correlation.h"
#include "backends/cpu/onednn.h"

namespace pando::cpu {

namespace {

// Pixels of dy that are summed in registers before the sum is added to the result.
constexpr std::int64_t most_pixels = 512;

template <class T>
class Conv2dWeightGradient final : public Kernel {
 public:
  Conv2dWeightGradient(const KernelCall& call, const Window& window, const Routines& routines)
      : x_(call.inputs[0]),
        dy_(call.inputs[1]),
        result_(call.outputs[0]),
        window_(window),
        matrix_(matrix_routines<T>(routines)),
        image_(padded_image()),
        by_channel_(is_by_channel(call)),
        groups_(by_channel_ ? 1 : call.attributes.integer("groups")),
        rows_(result_.type.shape.part(0, by_channel_ ? 2 : 3).elements()),
        columns_(result_.type.shape[3] / groups_),
        panel_(by_channel_ ? matrix_.lanes : panel_width(matrix_, columns_)),
        grid_(work()) {
    choose_runs();
    lay_out_rows();
    choose_copies();
  }

  std::size_t scratch_bytes() const override { return layout_.bytes(); }

  void run(const Tile& tile) const override {
    const Part part = grid_.part(tile);
    const Shape& dy = dy_.type.shape;
    bool accumulate = false;
    for (std::int64_t image = 0; image < dy[0]; image += run_images_) {
      for (std::int64_t row = 0; row < dy[1]; row += run_rows_) {
        const Run run = {image, std::min(run_images_, dy[0] - image), row, std::min(run_rows_, dy[1] - row),
                         accumulate};
        add_run(tile, part, run);
        accumulate = true;
      }
    }
    if (!accumulate) add_run(tile, part, {.accumulate = false});
  }

 private:
  // Rows of dy of one image, or all rows of several images.
  struct Run {
    std::int64_t image = 0, images = 0, row = 0, rows = 0;
    bool accumulate;
  };

  bool is_by_channel(const KernelCall& call) const {
    const std::int64_t groups = call.attributes.integer("groups");
    return groups > 1 && x_.type.shape[3] == groups && dy_.type.shape[3] == groups;
  }

  PaddedImage padded_image() const {
    const Shape &x = x_.type.shape, &dy = dy_.type.shape;
    const auto rows = CorrelationAxis::of_convolution(window_, 0, x[1], dy[1]);
    const auto columns = CorrelationAxis::of_convolution(window_, 1, x[2], dy[2]);
    return {.height = x[1],
            .width = x[2],
            .channels = x[3],
            .lead_rows = rows.lead(),
            .lead_columns = columns.lead(),
            .padded_height = rows.padded(),
            .padded_width = columns.padded()};
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

  void choose_runs() {
    const Shape& dy = dy_.type.shape;
    const std::int64_t pixels = std::max<std::int64_t>(dy[1] * dy[2], 1);
    run_images_ = std::clamp<std::int64_t>(most_pixels / 2 / pixels, 1, std::max<std::int64_t>(dy[0], 1));
    run_rows_ = std::max<std::int64_t>(dy[1], 1);
    if (pixels > most_pixels) {
      const std::int64_t runs = divide_up(pixels, most_pixels);
      run_rows_ = divide_up(dy[1], std::min(runs, dy[1]));
    }
  }

  void choose_copies() {
    constexpr std::int64_t element_bytes = sizeof(T);
    const std::int64_t pixels = run_images_ * run_rows_ * dy_.type.shape[2], panels = divide_up(columns_, panel_);
    // Rows of dy that do not end on a vector are copied; so are pixels so far apart that they share few cache sets.
    packs_ = !by_channel_ && (columns_ % matrix_.lanes != 0 || dy_.type.shape[3] * element_bytes >= 512);
    gathers_ = !by_channel_ && panels >= 8 && window_.strides[1] * image_.channels * element_bytes >= 512;
    if (image_.is_padded()) image_scratch_ = layout_.add_elements<T>(run_images_ * run_image_elements());
    if (packs_) dy_scratch_ = layout_.add_elements<T>(pixels * panels * panel_);
    if (gathers_) x_scratch_ = layout_.add_elements<T>(pixels * matrix_.block_rows);
    for (std::int64_t i = 0; i < matrix_.block_rows; ++i) block_rows_.push_back(i);
  }

  std::int64_t source_rows(std::int64_t rows) const { return (rows - 1) * window_.strides[0] + window_.reach(0); }
  // What one image of a run takes, in scratch memory or in x.
  std::int64_t run_image_elements() const {
    return image_.is_padded() ? source_rows(run_rows_) * image_.row_elements() : x_.type.shape.stride(0);
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
    for (std::int64_t image = 0; image < run_images_; ++image) {
      for (std::int64_t row = 0; row < run_rows_; ++row) {
        segments_.push_back(image * run_image_elements() + row * window_.strides[0] * image_.row_elements());
      }
    }
  }

  const T* place_x(const Tile& tile, const Run& run) const {
    const T* const x = pointer<const T>(tile, x_) + run.image * x_.type.shape.stride(0);
    const std::int64_t first = run.row * window_.strides[0];
    if (!image_.is_padded()) return x + first * image_.row_elements();
    T* const to = at<T>(tile.scratch, image_scratch_);
    for (std::int64_t i = 0; i < run.images; ++i) {
      image_.copy_rows(x + i * x_.type.shape.stride(0), first, source_rows(run.rows), to + i * run_image_elements());
    }
    return to;
  }

  void add_run(const Tile& tile, const Part& part, const Run& run) const {
    const Shape& dy = dy_.type.shape;
    const T* const x = place_x(tile, run);
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
                          .accumulate = run.accumulate};
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
    gathers_ ? multiply_gathered(tile, product) : matrix_.multiply(product);
  }

  // Block by block of rows, each with its part of x copied side by side.
  void multiply_gathered(const Tile& tile, const Product<T>& product) const {
    static constexpr std::int64_t only_segment = 0;
    T* const gathered = at<T>(tile.scratch, x_scratch_);
    for (std::int64_t row = 0; row < product.rows; row += matrix_.block_rows) {
      Product<T> block = product;
      block.a_rows += row;
      block.c_rows += row;
      block.rows = std::min(matrix_.block_rows, product.rows - row);
      matrix_.gather(block, gathered);
      block.a = gathered;
      block.a_rows = block_rows_.data();
      block.a_step = block.rows;
      block.segments = &only_segment;
      block.segment_count = 1;
      block.depth = product.segment_count * product.depth;
      matrix_.multiply(block);
    }
  }

  Operand x_, dy_, result_;
  Window window_;
  const MatrixRoutinesOf<T>& matrix_;
  PaddedImage image_;
  // A convolution of each channel by itself runs over all channels at once, as one group.
  bool by_channel_;
  std::int64_t groups_, rows_, columns_, panel_;
  TileGrid grid_;
  std::int64_t run_images_ = 1, run_rows_ = 1;
  std::vector<std::int64_t> x_rows_, result_rows_, segments_, block_rows_;
  bool packs_ = false, gathers_ = false;
  ScratchLayout layout_;
  std::size_t image_scratch_ = 0, dy_scratch_ = 0, x_scratch_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> factories::conv2d_weight_gradient(const KernelCall& call, const Routines& routines) {
  if (auto kernel = onednn_conv2d_weight_gradient(call)) return kernel;
  const Window window = conv_window(call.attributes, call.outputs[0].type.shape);
  if (call.inputs[0].type.dtype == DType::float64) {
    return std::make_unique<Conv2dWeightGradient<double>>(call, window, routines);
  }
  return std::make_unique<Conv2dWeightGradient<float>>(call, window, routines);
}

}  // namespace pando::cpu
