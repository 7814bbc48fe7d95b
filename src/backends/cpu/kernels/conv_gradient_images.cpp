// SPDX-License-Identifier: Apache-2.0
// conv2d_weight_gradient with factors rounded to bfloat16, for batches of many images: the inner dimension of the
// product is a group of images. A channel of a pixel of all of them is a row of a tile, and a tap is a step to another
// pixel, so tiles are read where they are, whatever the size of the images. Tiles divide the runs of rows if the sums
// of all runs stay in their caches, or else channels, taps and filters.
#include "backends/cpu/kernels/mixed_cost.h"
#include "backends/cpu/kernels/weight_gradient.h"

namespace pando::cpu {

namespace {

// The most channels that are copied together, and what the copies of x and dy for a run take at most: together they
// stay in the second-level cache.
constexpr std::int64_t most_channels_at_once = 32, most_copy_bytes = 1 << 19;

// Rows of dy in a group of images.
struct GroupRun {
  std::int64_t image, images, row, rows;
};

class ImagesWeightGradient final : public Kernel {
 public:
  ImagesWeightGradient(const KernelCall& call, const Window& window, const Routines& routines)
      : x_(call.inputs[0]),
        dy_(call.inputs[1]),
        result_(call.outputs[0]),
        window_(window),
        matrix_(*routines.matmul.mixed),
        image_(PixelRuns(window, x_.type.shape, dy_.type.shape).image()),
        group_(matrix_.image_group),
        filters_(result_.type.shape[3]),
        block_(divide_up(result_.type.shape[2], divide_up(result_.type.shape[2], most_channels_at_once))),
        panel_(panel_width(matrix_, filters_)),
        panels_(divide_up(filters_, panel_)),
        rows_(rows_of_a_run()),
        row_runs_(divide_up(dy_.type.shape[1], rows_)),
        runs_(divide_up(dy_.type.shape[0], group_) * row_runs_),
        blocks_(window, result_.type.shape, block_,
                {.row = image_.padded_width * pixel(), .pixel = pixel(), .channel = group_}),
        grid_(blocks_.work(1, panels_, panel_)),
        run_grid_(blocks_.work(runs_, panels_, panel_)),
        run_sums_(runs_, result_.type.shape.elements()),
        x_scratch_(layout_.add_elements<BFloat16>(source_rows(rows_) * image_.padded_width * pixel())),
        dy_scratch_(layout_.add_elements<BFloat16>(rows_ * dy_.type.shape[2] * gradient_pixel())),
        sums_scratch_(layout_.add_elements<float>(runs_ > 1 ? result_.type.shape.elements() : 0)) {
    for (std::int64_t row = 0; row < rows_; ++row) {
      for (std::int64_t column = 0; column < dy_.type.shape[2]; ++column) {
        x_segments_.push_back((row * window_.strides[0] * image_.padded_width + column * window_.strides[1]) * pixel());
        dy_segments_.push_back(static_cast<std::int64_t>(dy_segments_.size()) * gradient_pixel());
      }
    }
  }

  std::size_t scratch_bytes() const override { return layout_.bytes(); }
  std::size_t shared_bytes(int tiles) const override { return is_by_runs(tiles) ? run_sums_.bytes() : 0; }

  void run(const Tile& tile) const override {
    const bool by_runs = is_by_runs(tile.count);
    const Part part = (by_runs ? run_grid_ : grid_).part(tile);
    if (part.blocks.begin >= part.blocks.end || part.panels.begin >= part.panels.end) return;
    const Range runs = by_runs ? part.batches : Range{0, runs_};
    for (std::int64_t run = runs.begin; run < runs.end; ++run) {
      float* const result = pointer<float>(tile, result_);
      // The sum of a run is made by itself, as where others make it.
      float* const sums = by_runs    ? run_sums_.of(tile, run)
                          : run == 0 ? result
                                     : at<float>(tile.scratch, sums_scratch_);
      sum_run(tile, part, run, sums);
      if (sums != result && !by_runs) add_sums(part, sums, result);
    }
  }

  void finish(const Tile& tile) const override {
    const Range elements = share(tile, result_.type.shape.elements());
    run_sums_.add_up(tile, elements.begin, elements.end - elements.begin,
                     pointer<float>(tile, result_) + elements.begin);
  }

 private:
  bool is_by_runs(int tiles) const { return tiles > 1 && runs_ > 1 && run_sums_.suits(tiles); }
  // Elements of a pixel of x, in a block, and of dy.
  std::int64_t pixel() const { return block_ * group_; }
  std::int64_t gradient_pixel() const { return panels_ * panel_ * group_; }
  std::int64_t source_rows(std::int64_t rows) const { return (rows - 1) * window_.strides[0] + window_.reach(0); }

  std::int64_t rows_of_a_run() const {
    constexpr auto bytes = static_cast<std::int64_t>(sizeof(BFloat16));
    const std::int64_t height = std::max<std::int64_t>(dy_.type.shape[1], 1);
    const std::int64_t x_rows = most_copy_bytes / (image_.padded_width * pixel() * bytes);
    const std::int64_t most = std::min((x_rows - window_.reach(0)) / window_.strides[0] + 1,
                                       most_copy_bytes / (dy_.type.shape[2] * gradient_pixel() * bytes));
    return divide_up(height, divide_up(height, std::clamp<std::int64_t>(most, 1, height)));
  }

  GroupRun rows_of(std::int64_t run) const {
    const std::int64_t image = run / row_runs_ * group_, row = run % row_runs_ * rows_;
    return {image, std::min(group_, dy_.type.shape[0] - image), row, std::min(rows_, dy_.type.shape[1] - row)};
  }

  Range filters_of(const Part& part) const {
    return {part.panels.begin * panel_, std::min(part.panels.end * panel_, filters_)};
  }

  void sum_run(const Tile& tile, const Part& part, std::int64_t index, float* sums) const {
    const GroupRun run = rows_of(index);
    const Range filters = filters_of(part);
    pack_gradient(tile, run, filters);
    blocks_.for_each(part.blocks, [&](const ChannelBlocks::Rows& rows) {
      copy_channels(tile, run, rows.first_channel, rows.channels);
      matrix_.multiply({.a = at<BFloat16>(tile.scratch, x_scratch_),
                        .a_rows = rows.x,
                        .segments = x_segments_.data(),
                        .segment_count = run.rows * dy_.type.shape[2],
                        .depth = group_,
                        .b = at<BFloat16>(tile.scratch, dy_scratch_),
                        .b_step = panel_,
                        .b_segments = dy_segments_.data(),
                        .b_panel = group_ * panel_,
                        .panel = panel_,
                        .c = sums + rows.first_channel * filters_ + filters.begin,
                        .c_rows = rows.result,
                        .rows = rows.count,
                        .columns = filters.end - filters.begin});
    });
  }

  void add_sums(const Part& part, const float* sums, float* result) const {
    const Range filters = filters_of(part);
    blocks_.for_each(part.blocks, [&](const ChannelBlocks::Rows& rows) {
      for (std::int64_t row = 0; row < rows.count; ++row) {
        const std::int64_t first = rows.result[row] + rows.first_channel * filters_;
        for (std::int64_t i = first + filters.begin; i < first + filters.end; ++i) result[i] += sums[i];
      }
    });
  }

  // Pixel by pixel, the images of a panel of filters side by side; zeros for images after the last.
  void pack_gradient(const Tile& tile, const GroupRun& run, Range filters) const {
    const Shape& dy = dy_.type.shape;
    BFloat16* to = at<BFloat16>(tile.scratch, dy_scratch_);
    const std::int64_t pixels = run.rows * dy[2], columns = filters.end - filters.begin;
    if (run.images < group_) std::fill_n(to, pixels * gradient_pixel(), BFloat16{});
    // All filters of pixels that follow each other are panels that follow each other.
    const bool follow = columns == filters_ && filters_ % panel_ == 0;
    const std::int64_t at_once = follow ? pixels : 1;
    const float* from = pointer<const float>(tile, dy_) + run.image * dy.stride(0) + run.row * dy.stride(1);
    for (std::int64_t i = 0; i < pixels; i += at_once, from += at_once * filters_, to += at_once * gradient_pixel()) {
      matrix_.pack({.from = from + filters.begin,
                    .step = dy.stride(0),
                    .depth = run.images,
                    .columns = at_once * columns,
                    .panel = panel_,
                    .to = to,
                    .panel_step = group_ * panel_});
    }
  }

  // `width` channels of the padded pixels that the run meets, the images of each side by side.
  void copy_channels(const Tile& tile, const GroupRun& run, std::int64_t first, std::int64_t width) const {
    const Shape& shape = x_.type.shape;
    const float* const x = pointer<const float>(tile, x_) + run.image * shape.stride(0) + first;
    BFloat16* to = at<BFloat16>(tile.scratch, x_scratch_);
    const std::int64_t top = run.row * window_.strides[0] - image_.lead_rows, count = source_rows(run.rows);
    const std::int64_t row_elements = image_.padded_width * pixel(), before = image_.lead_columns * pixel();
    const std::int64_t inside = image_.width * pixel();
    const bool is_whole = run.images == group_;
    for (std::int64_t row = top; row < top + count; ++row, to += row_elements) {
      if (row < 0 || row >= image_.height || !is_whole) std::fill_n(to, row_elements, BFloat16{});
      if (row < 0 || row >= image_.height) continue;
      std::fill_n(to, before, BFloat16{});
      std::fill(to + before + inside, to + row_elements, BFloat16{});
      const float* from = x + row * shape.stride(1);
      for (std::int64_t column = 0; column < image_.width; ++column, from += image_.channels) {
        matrix_.round_transposed({.from = from,
                                  .from_step = shape.stride(0),
                                  .rows = width,
                                  .columns = run.images,
                                  .to = to + before + column * pixel(),
                                  .to_step = group_,
                                  .run = run.images,
                                  .run_step = 0});
      }
    }
  }

  Operand x_, dy_, result_;
  Window window_;
  const MixedMatmulRoutines& matrix_;
  PaddedImage image_;
  // The images of a group.
  std::int64_t group_;
  std::int64_t filters_, block_, panel_, panels_;
  // Rows of dy in a run, the runs of a group, and of all groups.
  std::int64_t rows_, row_runs_, runs_;
  ChannelBlocks blocks_;
  TileGrid grid_, run_grid_;
  RunSums<float> run_sums_;
  ScratchLayout layout_;
  std::size_t x_scratch_, dy_scratch_, sums_scratch_;
  std::vector<std::int64_t> x_segments_, dy_segments_;
};

}  // namespace

std::unique_ptr<Kernel> images_conv2d_weight_gradient(const KernelCall& call, const Window& window,
                                                      const Routines& routines) {
  const MixedMatmulRoutines* const mixed = routines.matmul.mixed;
  const Shape &x = call.inputs[0].type.shape, &dy = call.inputs[1].type.shape, &result = call.outputs[0].type.shape;
  if (mixed == nullptr || !fills_groups(x[0], mixed->image_group) || call.inputs[0].type.dtype != DType::float32 ||
      call.attributes.integer("groups") != 1 || result[2] < 8 || result[3] < 16 || dy.elements() == 0)
    return nullptr;
  const std::int64_t rows = result[0] * result[1] * result[2];
  const std::int64_t images = round_up(x[0], mixed->image_group);
  // In float32 the copies of the factors take another third.
  const auto float32 =
      static_cast<double>(dy[0] * dy[1] * dy[2] * rows * round_up(result[3], routines.matmul.float32.lanes));
  if (!pays(*mixed, {.products = 1.36 * float32,
                     .mixed_products =
                         static_cast<double>(images * dy[1] * dy[2] * rows * round_up(result[3], 2 * mixed->lanes)),
                     .packed = static_cast<double>(x.elements() + dy.elements())}))
    return nullptr;
  return std::make_unique<ImagesWeightGradient>(call, window, routines);
}

}  // namespace pando::cpu
