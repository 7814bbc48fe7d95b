// SPDX-License-Identifier: Apache-2.0
// conv2d_weight_gradient of wide convolutions: a block of channels of x is copied side by side, pixel for pixel, and
// then meets all taps and filters from the first-level cache. Tiles divide the runs of pixels if the sums of all runs
// stay in their caches, or else channels, taps and filters.
#include "backends/cpu/kernels/weight_gradient.h"

namespace pando::cpu {

namespace {

template <class T>
class WideWeightGradient final : public Kernel {
 public:
  WideWeightGradient(const KernelCall& call, const Window& window, const Routines& routines)
      : x_(call.inputs[0]),
        dy_(call.inputs[1]),
        result_(call.outputs[0]),
        window_(window),
        matrix_(matrix_routines<T>(routines)),
        runs_(window, x_.type.shape, dy_.type.shape),
        groups_(call.attributes.integer("groups")),
        channels_(result_.type.shape[2]),
        filters_(result_.type.shape[3] / groups_),
        block_(matrix_.block_rows),
        panel_(panel_width(matrix_, filters_)),
        image_elements_(runs_.source_rows(runs_.most_rows()) * runs_.image().padded_width * block_),
        blocks_(window, result_.type.shape, block_,
                {.row = runs_.image().padded_width * block_, .pixel = block_, .channel = 1}),
        grid_(blocks_.work(groups_, divide_up(filters_, panel_), panel_)),
        run_grid_(blocks_.work(runs_.count(), divide_up(filters_, panel_), panel_)),
        run_sums_(runs_.count(), result_.type.shape.elements()),
        x_scratch_(layout_.add_elements<T>(runs_.most_images() * image_elements_)),
        dy_scratch_(layout_.add_elements<T>(runs_.most_pixels() * divide_up(filters_, panel_) * panel_)) {
    const std::int64_t row_elements = window_.strides[0] * runs_.image().padded_width * block_;
    for (std::int64_t image = 0; image < runs_.most_images(); ++image) {
      for (std::int64_t row = 0; row < runs_.most_rows(); ++row) {
        segments_.push_back(image * image_elements_ + row * row_elements);
      }
    }
  }

  std::size_t scratch_bytes() const override { return layout_.bytes(); }
  std::size_t shared_bytes(int tiles) const override { return is_by_runs(tiles) ? run_sums_.bytes() : 0; }

  void run(const Tile& tile) const override {
    const bool by_runs = is_by_runs(tile.count);
    const Part part = (by_runs ? run_grid_ : grid_).part(tile);
    if (part.blocks.begin >= part.blocks.end || part.panels.begin >= part.panels.end) return;
    const Range runs = by_runs ? part.batches : Range{0, runs_.count()};
    const Range groups = by_runs ? Range{0, groups_} : part.batches;
    for (std::int64_t run = runs.begin; run < runs.end; ++run) {
      T* const sums = by_runs ? run_sums_.of(tile, run) : pointer<T>(tile, result_);
      for (std::int64_t group = groups.begin; group < groups.end; ++group) {
        add_run(tile, part, runs_[run], group, sums, !by_runs && run > 0);
      }
    }
  }

  void finish(const Tile& tile) const override {
    const Range elements = share(tile, result_.type.shape.elements());
    run_sums_.add_up(tile, elements.begin, elements.end - elements.begin, pointer<T>(tile, result_) + elements.begin);
  }

 private:
  bool is_by_runs(int tiles) const { return tiles > 1 && run_sums_.suits(tiles); }

  void add_run(const Tile& tile, const Part& part, const PixelRun& run, std::int64_t group, T* sums,
               bool accumulate) const {
    const Shape& dy = dy_.type.shape;
    const Range filters = {part.panels.begin * panel_, std::min(part.panels.end * panel_, filters_)};
    T *const packed = at<T>(tile.scratch, dy_scratch_), *const copied = at<T>(tile.scratch, x_scratch_);
    const std::int64_t pixels = run.images * run.rows * dy[2];
    matrix_.pack({.from = pointer<const T>(tile, dy_) + run.image * dy.stride(0) + run.row * dy.stride(1) +
                          group * filters_ + filters.begin,
                  .step = dy[3],
                  .depth = pixels,
                  .columns = filters.end - filters.begin,
                  .panel = panel_,
                  .to = packed,
                  .panel_step = pixels * panel_});
    blocks_.for_each(part.blocks, [&](const ChannelBlocks::Rows& rows) {
      copy_channels(tile, run, group * channels_ + rows.first_channel, rows.channels, copied);
      matrix_.multiply({.a = copied,
                        .a_rows = rows.x,
                        .segments = segments_.data(),
                        .segment_count = run.images * run.rows,
                        .depth = dy[2],
                        .a_step = window_.strides[1] * block_,
                        .b = packed,
                        .b_step = panel_,
                        .b_panel = pixels * panel_,
                        .panel = panel_,
                        .c = sums + rows.first_channel * result_.type.shape[3] + group * filters_ + filters.begin,
                        .c_rows = rows.result,
                        .rows = rows.count,
                        .columns = filters.end - filters.begin,
                        .accumulate = accumulate});
    });
  }

  // `width` channels of the padded pixels that the run meets.
  void copy_channels(const Tile& tile, const PixelRun& run, std::int64_t first, std::int64_t width, T* to) const {
    const PaddedImage& image = runs_.image();
    const T* const x = pointer<const T>(tile, x_) + run.image * x_.type.shape.stride(0) + first;
    const std::int64_t before = image.lead_columns * block_, inside = image.width * block_;
    const std::int64_t after = image.padded_width * block_ - before - inside;
    const std::int64_t top = run.row * window_.strides[0] - image.lead_rows;
    for (std::int64_t i = 0; i < run.images; ++i) {
      T* row_to = to + i * image_elements_;
      for (std::int64_t row = top; row < top + runs_.source_rows(run.rows); ++row) {
        if (row < 0 || row >= image.height) {
          row_to = std::fill_n(row_to, before + inside + after, T(0));
          continue;
        }
        row_to = std::fill_n(row_to, before, T(0));
        matrix_.pack({.from = x + (i * image.height + row) * image.width * image.channels,
                      .step = image.channels,
                      .depth = image.width,
                      .columns = width,
                      .panel = block_,
                      .to = row_to,
                      .panel_step = 0});
        row_to = std::fill_n(row_to + inside, after, T(0));
      }
    }
  }

  Operand x_, dy_, result_;
  Window window_;
  const MatmulRoutinesOf<T>& matrix_;
  PixelRuns runs_;
  std::int64_t groups_, channels_, filters_, block_, panel_, image_elements_;
  ChannelBlocks blocks_;
  TileGrid grid_, run_grid_;
  RunSums<T> run_sums_;
  ScratchLayout layout_;
  std::size_t x_scratch_, dy_scratch_;
  std::vector<std::int64_t> segments_;
};

// The products that an element of x must be part of to be worth its copy.
constexpr std::int64_t fewest_products = 256;

template <class T>
std::unique_ptr<Kernel> make_if_wide(const KernelCall& call, const Window& window, const Routines& routines) {
  const Shape& result = call.outputs[0].type.shape;
  const std::int64_t products = result[0] * result[1] * result[3] / call.attributes.integer("groups");
  if (result[2] < matrix_routines<T>(routines).block_rows || products < fewest_products) return nullptr;
  return std::make_unique<WideWeightGradient<T>>(call, window, routines);
}

}  // namespace

std::unique_ptr<Kernel> wide_conv2d_weight_gradient(const KernelCall& call, const Window& window,
                                                    const Routines& routines) {
  if (call.inputs[0].type.dtype == DType::float64) return make_if_wide<double>(call, window, routines);
  return make_if_wide<float>(call, window, routines);
}

}  // namespace pando::cpu
