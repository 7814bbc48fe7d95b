// SPDX-License-Identifier: Apache-2.0
// conv2d_max_pool_weight_gradient: the gradients that are not zero are listed by filter, and each adds its multiple of
// the pixels under the window to the filter's sums, which stay in registers. The pixels come in the runs and in the
// order of conv2d_weight_gradient, so the sums have the same bits. Tiles divide the runs if the sums of all runs stay
// in their caches, or else the filters, for each of which they read all pixels.
#include "backends/cpu/kernels/pooled_gradient.h"
#include "backends/cpu/kernels/weight_gradient.h"

namespace pando::cpu {

namespace {

template <class T>
class Conv2dMaxPoolWeightGradient final : public Kernel {
 public:
  Conv2dMaxPoolWeightGradient(const KernelCall& call, const Window& window, const Window& pool,
                              const Routines& routines)
      : x_(call.inputs[0]),
        result_(call.outputs[0]),
        window_(window),
        routines_(pooled_routines<T>(routines)),
        gradient_(call.inputs[1], call.inputs[2], pool, convolved_of(call, window), routines),
        runs_(window, x_.type.shape, gradient_.convolved()),
        filters_(result_.type.shape[3]),
        row_(result_.type.shape[1] * result_.type.shape[2]),
        padded_row_(divide_up(row_, routines_.lanes) * routines_.lanes),
        blocks_(cut_into_blocks()),
        filter_grid_(work_of_filters()),
        run_grid_(work_of_runs()),
        finish_grid_({.blocks = sums_step() / routines_.lanes, .panels = divide_up(filters_, line), .load_panel = 4}),
        run_sums_(runs_.count(), filters_ * sums_step()),
        most_listed_(runs_.most_images() * gradient_.most_listed(runs_.most_rows())),
        pixels_(runs_, window, x_, padded_row_ != row_, routines_.lanes, layout_),
        row_values_(layout_.add_elements<T>(filters_ * gradient_.most_listed(1) + gradient_.slack)),
        row_filters_(layout_.add_elements<std::int32_t>(filters_ * gradient_.most_listed(1) + gradient_.slack)),
        row_columns_(layout_.add_elements<std::int32_t>(filters_ * gradient_.most_listed(1) + gradient_.slack)),
        counts_(layout_.add_elements<std::int64_t>(filters_)),
        values_(layout_.add_elements<T>(filters_ * most_listed_)),
        offsets_(layout_.add_elements<std::int64_t>(filters_ * most_listed_)),
        sums_(layout_.add_elements<T>(filters_ * sums_step())) {}

  std::size_t scratch_bytes() const override { return layout_.bytes(); }
  std::size_t shared_bytes(int tiles) const override { return is_by_runs(tiles) ? run_sums_.bytes() : 0; }

  void run(const Tile& tile) const override {
    if (is_by_runs(tile.count)) return sum_runs(tile);
    const Part part = filter_grid_.part(tile);
    if (part.blocks.begin >= part.blocks.end || part.panels.begin >= part.panels.end) return;
    T* const sums = at<T>(tile.scratch, sums_);
    runs_.for_each(
        [&](const PixelRun& run, bool accumulate) { add_run(tile, part.panels, part.blocks, run, accumulate, sums); });
    for (std::int64_t block = part.blocks.begin; block < part.blocks.end; ++block) {
      write_block(tile, part.panels, blocks_[static_cast<std::size_t>(block)]);
    }
  }

  // Each tile writes whole lines of memory, and reads sums that lie side by side.
  void finish(const Tile& tile) const override {
    const Part part = finish_grid_.part(tile);
    const Range filters = {part.panels.begin * line, std::min(part.panels.end * line, filters_)};
    const Range elements = {part.blocks.begin * routines_.lanes, part.blocks.end * routines_.lanes};
    const std::int64_t count = elements.end - elements.begin;
    T* const sums = at<T>(tile.scratch, sums_);
    for (std::int64_t filter = filters.begin; filter < filters.end; ++filter) {
      run_sums_.add_up(tile, filter * sums_step() + elements.begin, count, sums + (filter - filters.begin) * count);
    }
    for (std::int64_t row = 0; row < window_.kernel[0]; ++row) {
      const std::int64_t begin = std::max(elements.begin, row * padded_row_);
      const std::int64_t end = std::min(elements.end, row * padded_row_ + row_);
      if (begin >= end || filters.begin >= filters.end) continue;
      routines_.transpose(sums + begin - elements.begin, count, filters.end - filters.begin, end - begin,
                          pointer<T>(tile, result_) + (row * (row_ - padded_row_) + begin) * filters_ + filters.begin,
                          filters_);
    }
  }

 private:
  static constexpr std::int64_t line = RunSums<T>::line;

  // Some rows of taps, and some vectors of each: sums that fit into registers.
  struct Block {
    std::int64_t first_row, rows, first_vector, vectors;
  };

  std::vector<Block> cut_into_blocks() const {
    const std::int64_t all_rows = window_.kernel[0], all_vectors = padded_row_ / routines_.lanes;
    std::vector<Block> blocks;
    if (all_vectors == 0) return blocks;
    const std::int64_t parts = divide_up(all_vectors, routines_.most_vectors);
    const std::int64_t most_rows = std::min(routines_.most_sums / divide_up(all_vectors, parts), routines_.most_rows);
    const std::int64_t bands = divide_up(all_rows, std::max<std::int64_t>(most_rows, 1));
    for (std::int64_t band = 0; band < bands; ++band) {
      const std::int64_t row = all_rows * band / bands, end = all_rows * (band + 1) / bands;
      for (std::int64_t part = 0; part < parts; ++part) {
        const std::int64_t vector = all_vectors * part / parts, last = all_vectors * (part + 1) / parts;
        blocks.push_back({row, end - row, vector, last - vector});
      }
    }
    return blocks;
  }

  bool is_by_runs(int tiles) const { return tiles > 1 && result_.type.shape.elements() > 0 && run_sums_.suits(tiles); }

  // A filter is a panel. Listing what it has costs about as much as a few vectors of its sums.
  Work work_of_filters() const {
    const Block block = blocks_.empty() ? Block{} : blocks_.front();
    return {.blocks = static_cast<std::int64_t>(blocks_.size()),
            .panels = filters_,
            .block_cost = static_cast<double>(block.rows * block.vectors),
            .load_panel = 8};
  }

  // Runs, and the filters if there are fewer runs than tiles: copying the pixels of a run, and listing only some
  // filters of it, costs about as much as a few filters.
  Work work_of_runs() const { return {.batches = runs_.count(), .panels = filters_, .load_rows = 4}; }

  std::int64_t sums_step() const { return window_.kernel[0] * padded_row_; }

  void sum_runs(const Tile& tile) const {
    const Part part = run_grid_.part(tile);
    if (part.panels.begin >= part.panels.end) return;
    for (std::int64_t run = part.batches.begin; run < part.batches.end; ++run) {
      add_run(tile, part.panels, {0, static_cast<std::int64_t>(blocks_.size())}, runs_[run], false,
              run_sums_.of(tile, run) + part.panels.begin * sums_step());
    }
  }

  void add_run(const Tile& tile, Range filters, Range blocks, const PixelRun& run, bool accumulate, T* sums) const {
    const T* const x = pixels_.place(tile, run);
    auto* const counts = at<std::int64_t>(tile.scratch, counts_);
    std::fill_n(counts, filters.end - filters.begin, 0);
    for (std::int64_t i = 0; i < run.images; ++i) {
      for (std::int64_t row = 0; row < run.rows; ++row) {
        const std::int64_t first = i * pixels_.image_step() + row * pixels_.row_step();
        list_row(tile, run.image + i, run.row + row, filters, first);
      }
    }
    for (std::int64_t filter = 0; filter < filters.end - filters.begin; ++filter) {
      for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
        add_block(tile, x, filter, blocks_[static_cast<std::size_t>(block)], accumulate, sums);
      }
    }
  }

  // Appends a row of the convolution to the lists of its filters. The window of the row's first pixel is at `first`.
  void list_row(const Tile& tile, std::int64_t image, std::int64_t row, Range filters, std::int64_t first) const {
    const GradientList<T> list = {.values = at<T>(tile.scratch, row_values_),
                                  .filters = at<std::int32_t>(tile.scratch, row_filters_),
                                  .columns = at<std::int32_t>(tile.scratch, row_columns_)};
    const std::int64_t listed = gradient_.list_windows(tile, image, row, filters, list);
    T* const values = at<T>(tile.scratch, values_);
    auto* const counts = at<std::int64_t>(tile.scratch, counts_);
    auto* const offsets = at<std::int64_t>(tile.scratch, offsets_);
    const std::int64_t pixel_step = window_.strides[1] * runs_.image().channels;
    for (std::int64_t e = 0; e < listed; ++e) {
      const std::int64_t filter = list.filters[e], place = filter * most_listed_ + counts[filter]++;
      values[place] = list.values[e];
      offsets[place] = first + list.columns[e] * pixel_step;
    }
  }

  void add_block(const Tile& tile, const T* x, std::int64_t filter, const Block& block, bool accumulate,
                 T* sums) const {
    const std::int64_t first = block.first_vector * routines_.lanes, row_elements = runs_.image().row_elements();
    routines_.sum_filter({.x = x + block.first_row * row_elements + first,
                          .offsets = at<std::int64_t>(tile.scratch, offsets_) + filter * most_listed_,
                          .values = at<T>(tile.scratch, values_) + filter * most_listed_,
                          .count = at<std::int64_t>(tile.scratch, counts_)[filter],
                          .x_step = row_elements,
                          .rows = block.rows,
                          .vectors = block.vectors,
                          .sums = sums + filter * sums_step() + block.first_row * padded_row_ + first,
                          .sums_step = padded_row_,
                          .accumulate = accumulate});
  }

  // The sums lie filter by filter; in the result the filters are the last axis.
  void write_block(const Tile& tile, Range filters, const Block& block) const {
    const std::int64_t first = block.first_vector * routines_.lanes;
    const std::int64_t elements = std::min(block.vectors * routines_.lanes, row_ - first);
    for (std::int64_t row = block.first_row; row < block.first_row + block.rows; ++row) {
      routines_.transpose(at<T>(tile.scratch, sums_) + row * padded_row_ + first, sums_step(),
                          filters.end - filters.begin, elements,
                          pointer<T>(tile, result_) + (row * row_ + first) * filters_ + filters.begin, filters_);
    }
  }

  Operand x_, result_;
  Window window_;
  const PooledRoutinesOf<T>& routines_;
  PooledGradient<T> gradient_;
  PixelRuns runs_;
  // The elements of x that a row of taps meets, side by side; the same as whole vectors.
  std::int64_t filters_, row_, padded_row_;
  std::vector<Block> blocks_;
  TileGrid filter_grid_, run_grid_, finish_grid_;
  RunSums<T> run_sums_;
  // What a filter can have in a run.
  std::int64_t most_listed_;
  ScratchLayout layout_;
  // Rows that do not end on a vector are read beyond their end.
  RunPixels<T> pixels_;
  std::size_t row_values_, row_filters_, row_columns_, counts_, values_, offsets_, sums_;
};

}  // namespace

std::unique_ptr<Kernel> factories::conv2d_max_pool_weight_gradient(const KernelCall& call, const Routines& routines) {
  const Window window = conv_window(call.attributes, call.outputs[0].type.shape);
  const Window pool = pool_window(call.attributes, "pool_");
  if (auto kernel = spread_conv2d_weight_gradient(call, window, pool, routines)) return kernel;
  if (call.inputs[0].type.dtype == DType::float64) {
    return std::make_unique<Conv2dMaxPoolWeightGradient<double>>(call, window, pool, routines);
  }
  return std::make_unique<Conv2dMaxPoolWeightGradient<float>>(call, window, pool, routines);
}

}  // namespace pando::cpu
