// SPDX-License-Identifier: Apache-2.0
// conv2d_weight_gradient with factors rounded to bfloat16: each channel of a block has its own plane, so that the
// pixels that any tap meets are one run of memory.
#include "backends/cpu/kernels/mixed_cost.h"
#include "backends/cpu/kernels/weight_gradient.h"

namespace pando::cpu {

namespace {

// The most channels that are copied together, which stay in the first-level cache and can be divided evenly.
constexpr std::int64_t most_block_channels = 16;

class MixedWeightGradient final : public Kernel {
 public:
  MixedWeightGradient(const KernelCall& call, const Window& window, const Routines& routines)
      : x_(call.inputs[0]),
        dy_(call.inputs[1]),
        result_(call.outputs[0]),
        window_(window),
        matrix_(*routines.matmul.mixed),
        runs_(window, x_.type.shape, dy_.type.shape),
        filters_(result_.type.shape[3]),
        block_(divide_up(result_.type.shape[2], divide_up(result_.type.shape[2], most_block_channels))),
        panel_(panel_width(matrix_, filters_)),
        pitch_(runs_.image().padded_width),
        joins_(joined_depth(runs_.most_rows()) < runs_.most_rows() * whole_steps(dy_.type.shape[2])),
        image_elements_(runs_.source_rows(runs_.most_rows()) * pitch_),
        // The last step may reach beyond the last pixel, where dy is 0.
        plane_(runs_.most_images() * image_elements_ + window.reach(1) + matrix_.best_depth_step),
        most_depth_(runs_.most_images() * image_depth(runs_.most_rows())),
        blocks_(window, result_.type.shape, block_, {.row = pitch_, .pixel = 1, .channel = plane_}),
        grid_(blocks_.work(1, divide_up(filters_, panel_), panel_)) {
    x_scratch_ = layout_.add_elements<BFloat16>(block_ * plane_);
    dy_scratch_ = layout_.add_elements<BFloat16>(most_depth_ * divide_up(filters_, panel_) * panel_);
    if (copies_rows()) rows_scratch_ = layout_.add_elements<float>(runs_.most_rows() * pitch_ * filters_);
    for (std::int64_t image = 0; image < runs_.most_images(); ++image) {
      for (std::int64_t row = 0; row < (joins_ ? 1 : runs_.most_rows()); ++row) {
        segments_.push_back(image * image_elements_ + row * pitch_);
      }
    }
  }

  std::size_t scratch_bytes() const override { return layout_.bytes(); }

  void run(const Tile& tile) const override {
    const Part part = grid_.part(tile);
    if (part.blocks.begin >= part.blocks.end || part.panels.begin >= part.panels.end) return;
    runs_.for_each([&](const PixelRun& run, bool accumulate) { add_run(tile, part, run, accumulate); });
  }

 private:
  std::int64_t whole_steps(std::int64_t depth) const { return round_up(depth, matrix_.best_depth_step); }
  // The pixels of an image summed as one run, with zeros between the rows, or row by row with zeros after each:
  // whichever is less work.
  std::int64_t joined_depth(std::int64_t rows) const { return whole_steps(rows * pitch_); }
  std::int64_t image_depth(std::int64_t rows) const {
    return joins_ ? joined_depth(rows) : rows * whole_steps(dy_.type.shape[2]);
  }

  void add_run(const Tile& tile, const Part& part, const PixelRun& run, bool accumulate) const {
    const Range filters = {part.panels.begin * panel_, std::min(part.panels.end * panel_, filters_)};
    BFloat16* const planes = at<BFloat16>(tile.scratch, x_scratch_);
    const std::int64_t depth = run.images * image_depth(run.rows);
    pack_gradient(tile, run, filters, depth);
    blocks_.for_each(part.blocks, [&](const ChannelBlocks::Rows& rows) {
      copy_planes(tile, run, rows.first_channel, rows.channels, planes);
      matrix_.multiply({.a = planes,
                        .a_rows = rows.x,
                        .segments = segments_.data(),
                        .segment_count = joins_ ? run.images : run.images * run.rows,
                        .depth = joins_ ? joined_depth(run.rows) : whole_steps(dy_.type.shape[2]),
                        .b = at<BFloat16>(tile.scratch, dy_scratch_),
                        .b_step = panel_,
                        .b_panel = depth * panel_,
                        .panel = panel_,
                        .c = pointer<float>(tile, result_) + rows.first_channel * filters_ + filters.begin,
                        .c_rows = rows.result,
                        .rows = rows.count,
                        .columns = filters.end - filters.begin,
                        .accumulate = accumulate});
    });
  }

  // A row by itself is packed in whole steps only.
  bool copies_rows() const { return joins_ && pitch_ % matrix_.depth_step != 0; }

  void pack_gradient(const Tile& tile, const PixelRun& run, Range filters, std::int64_t depth) const {
    const Shape& dy = dy_.type.shape;
    BFloat16* to = at<BFloat16>(tile.scratch, dy_scratch_);
    const std::int64_t row_depth = joins_ ? pitch_ : whole_steps(dy[2]);
    for (std::int64_t image = run.image; image < run.image + run.images; ++image) {
      const float* from = pointer<const float>(tile, dy_) + image * dy.stride(0) + run.row * dy.stride(1);
      const std::int64_t image_steps = image_depth(run.rows);
      if (copies_rows()) {
        const float* const rows = copy_rows(tile, run.rows, from);
        pack_pixels(rows, run.rows * pitch_, image_steps, filters, depth * panel_, to);
      } else {
        for (std::int64_t row = 0; row < run.rows; ++row, from += dy.stride(1)) {
          // The zeros after the last row, too.
          const std::int64_t steps = row + 1 < run.rows ? row_depth : image_steps - row * row_depth;
          pack_pixels(from, dy[2], steps, filters, depth * panel_, to + row * row_depth * panel_);
        }
      }
      to += image_steps * panel_;
    }
  }

  // With zeros between the rows.
  const float* copy_rows(const Tile& tile, std::int64_t count, const float* from) const {
    float* const rows = at<float>(tile.scratch, rows_scratch_);
    const std::int64_t elements = dy_.type.shape.stride(1), step = pitch_ * filters_;
    for (std::int64_t row = 0; row < count; ++row) {
      float* const end = std::copy_n(from + row * elements, elements, rows + row * step);
      std::fill(end, rows + (row + 1) * step, 0.0F);
    }
    return rows;
  }

  // The gradients of that many pixels in these filters, and zeros up to `steps`.
  void pack_pixels(const float* from, std::int64_t pixels, std::int64_t steps, Range filters, std::int64_t panel_step,
                   BFloat16* to) const {
    matrix_.pack({.from = from + filters.begin,
                  .step = filters_,
                  .depth = pixels,
                  .columns = filters.end - filters.begin,
                  .panel = panel_,
                  .to = to,
                  .panel_step = panel_step});
    const std::int64_t packed = round_up(pixels, matrix_.depth_step);
    for (std::int64_t filter = filters.begin; filter < filters.end; filter += panel_, to += panel_step)
      std::fill(to + packed * panel_, to + steps * panel_, BFloat16{});
  }

  // `width` channels of the padded pixels that the run meets.
  void copy_planes(const Tile& tile, const PixelRun& run, std::int64_t first, std::int64_t width, BFloat16* to) const {
    const PaddedImage& image = runs_.image();
    const std::int64_t image_size = image.height * image.width * image.channels;
    const float* const x = pointer<const float>(tile, x_) + run.image * image_size + first;
    std::fill_n(to, width * plane_, BFloat16{});
    const std::int64_t top = run.row - image.lead_rows;
    const Range rows = {std::max<std::int64_t>(top, 0), std::min(top + runs_.source_rows(run.rows), image.height)};
    for (std::int64_t i = 0; i < run.images; ++i) {
      // The pixels of all rows lie side by side in x.
      matrix_.round_transposed({.from = x + i * image_size + rows.begin * image.width * image.channels,
                                .from_step = image.channels,
                                .rows = width,
                                .columns = (rows.end - rows.begin) * image.width,
                                .to = to + i * image_elements_ + (rows.begin - top) * pitch_ + image.lead_columns,
                                .to_step = plane_,
                                .run = image.width,
                                .run_step = pitch_});
    }
  }

  Operand x_, dy_, result_;
  Window window_;
  const MixedMatmulRoutines& matrix_;
  PixelRuns runs_;
  std::int64_t filters_, block_, panel_;
  // Pixels between the rows of a plane.
  std::int64_t pitch_;
  bool joins_;
  std::int64_t image_elements_, plane_, most_depth_;
  ChannelBlocks blocks_;
  TileGrid grid_;
  ScratchLayout layout_;
  std::size_t x_scratch_ = 0, dy_scratch_ = 0, rows_scratch_ = 0;
  std::vector<std::int64_t> segments_;
};

}  // namespace

std::unique_ptr<Kernel> mixed_conv2d_weight_gradient(const KernelCall& call, const Window& window,
                                                     const Routines& routines) {
  const MixedMatmulRoutines* const mixed = routines.matmul.mixed;
  const Shape &x = call.inputs[0].type.shape, &dy = call.inputs[1].type.shape, &result = call.outputs[0].type.shape;
  if (mixed == nullptr || call.inputs[0].type.dtype != DType::float32 || call.attributes.integer("groups") != 1 ||
      window.strides[0] != 1 || window.strides[1] != 1 || result[2] < 8 || result[3] < 16)
    return nullptr;
  const PixelRuns runs(window, x, dy);
  const std::int64_t rows = result[0] * result[1] * result[2], count = runs.count();
  const std::int64_t depth = round_up(dy[1] * runs.image().padded_width, 2 * mixed->lanes);
  // In float32 the copies of the factors take another third.
  const auto float32 =
      static_cast<double>(dy[0] * dy[1] * dy[2] * rows * round_up(result[3], routines.matmul.float32.lanes));
  if (!pays(*mixed,
            {.products = 1.36 * float32,
             .mixed_products = static_cast<double>(dy[0] * depth * rows * round_up(result[3], 2 * mixed->lanes)),
             .transposed = static_cast<double>(x.elements() + dy.elements()),
             .rows = static_cast<double>(count * rows),
             .results = static_cast<double>(count * rows * result[3])}))
    return nullptr;
  return std::make_unique<MixedWeightGradient>(call, window, routines);
}

}  // namespace pando::cpu
