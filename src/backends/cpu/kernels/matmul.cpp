// SPDX-License-Identifier: Apache-2.0
// matmul: blocks of rows times panels of columns, in runs of the inner dimension that stay in the first-level cache.
// matmul_update adds the product, times -rate, to a parameter.
//
// Tiles divide rows and columns. Where few rows meet many weights, they divide the inner dimension instead: each reads
// the rows of weights, one after the other in memory, that it updates at the end of a step. Tiles that divide columns
// would have parts of the same rows, and a core that reads ahead takes from the other what that has just written.
#include "backends/cpu/kernels/epilogue.h"
#include "backends/cpu/kernels/matmul_sizes.h"
#include "backends/cpu/kernels/mixed_cost.h"
#include "backends/cpu/kernels/run_sums.h"

namespace pando::cpu {

namespace {

// Rows whose part of a is packed together and whose results the epilogue then finds in the cache.
constexpr std::int64_t most_group_rows = 128;
// With a row or two nothing is used twice, and short runs read b in the order of its memory.
constexpr std::int64_t most_depth_of_few_rows = 16;
// The same where a is transposed and b is read in place: what a group and a panel read of both fits the first-level
// cache.
constexpr std::int64_t most_rows_in_place = 48, most_depth_in_place = 128;
// Panels of b are packed together until their rows have this size, so that whole cache lines are read.
constexpr std::int64_t packed_row_bytes = 256;

// Results of type T from factors of type S: the same, or bfloat16 for float.
template <class T, class S = T>
class Matmul final : public Kernel {
 public:
  Matmul(const KernelCall& call, const Routines& routines)
      : sizes_(call),
        matrix_(product_routines<T, S>(routines)),
        a_(call.inputs[0]),
        b_(call.inputs[1]),
        updates_(call.op->id == Op::matmul_update),
        parameter_(updates_ ? call.inputs[2] : Operand{}),
        rate_(updates_ ? call.inputs[3] : Operand{}),
        result_(call.outputs[0]),
        epilogue_(call, 2, {call.inputs[0].type.dtype, sizes_.raw_shape}, routines),
        divided_runs_(runs_to_divide(call)),
        unit_(rounds ? panel_width(matrix_, sizes_.columns) : matrix_.lanes),
        pack_a_(packs_a()),
        pack_b_(packs_b()),
        depth_(choose_depth()),
        group_rows_(rows_of_group()),
        grid_(work()),
        run_sums_(runs(), sizes_.rows * sizes_.columns),
        run_grid_(work_of_runs()) {
    lay_out_rows();
    lay_out_scratch();
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  std::size_t shared_bytes(int tiles) const override { return sums_runs(tiles) ? run_sums_.bytes() : 0; }

  void run(const Tile& tile) const override {
    if (sums_runs(tile.count)) return sum_runs(tile);
    const Part part = grid_.part(tile);
    const Range rows = {part.blocks.begin * matrix_.block_rows,
                        std::min(part.blocks.end * matrix_.block_rows, sizes_.rows)};
    const Columns columns({part.panels.begin * unit_, std::min(part.panels.end * unit_, sizes_.columns)}, matrix_);
    if (columns.begin >= columns.end) return;
    if (updates_ && parameter_.buffer != result_.buffer) copy_parameter(tile, part.batches, rows, columns);
    epilogue_.begin(tile, tile.scratch + epilogue_scratch_);
    for (std::int64_t batch = part.batches.begin; batch < part.batches.end; ++batch) {
      for (std::int64_t row = rows.begin; row < rows.end; row += group_rows_) {
        run_group(tile, batch, {row, std::min(row + group_rows_, rows.end)}, columns);
      }
    }
  }

  void finish(const Tile& tile) const override {
    const std::int64_t elements = sizes_.rows * sizes_.columns, lines = divide_up(elements, RunSums<T>::line);
    const Range part = share(tile, lines);
    const std::int64_t end = std::min(part.end * RunSums<T>::line, elements), most = group_rows_ * sizes_.columns;
    epilogue_.begin(tile, tile.scratch + epilogue_scratch_);
    for (std::int64_t first = part.begin * RunSums<T>::line; first < end; first += most) {
      const std::int64_t count = std::min(most, end - first);
      T* const raw = epilogue_.raw_in_output() ? epilogue_.raw<T>(tile) + first : at<T>(tile.scratch, raw_scratch_);
      run_sums_.add_up(tile, first, count, raw);
      epilogue_.finish(tile, tile.scratch + epilogue_scratch_, first, count, raw);
    }
  }

 private:
  static constexpr bool rounds = !std::is_same_v<T, S>;

  // The columns of a tile, in panels of nearly equal width, some of which are packed together.
  struct Columns : Range {
    Columns(Range range, const ProductRoutines<T, S>& matrix)
        : Range(range),
          panel(panel_width(matrix, range.end - range.begin)),
          at_once(divide_up(packed_row_bytes, panel * static_cast<std::int64_t>(sizeof(T))) * panel) {}
    std::int64_t panel, at_once;
  };

  std::int64_t runs_to_divide(const KernelCall& call) const {
    if constexpr (!rounds) return matrix_.prefers_whole_rows ? divided_runs(call) : 0;
    return 0;
  }

  // Those that tiles divide.
  std::int64_t runs() const { return divided_runs_ > 0 ? divide_up(sizes_.inner, depth_) : 1; }
  bool sums_runs(int tiles) const { return divided_runs_ > 0 && !updates_ && tiles > 1; }

  void sum_runs(const Tile& tile) const {
    const Part part = run_grid_.part(tile);
    const Columns columns({part.panels.begin * unit_, std::min(part.panels.end * unit_, sizes_.columns)}, matrix_);
    if (columns.begin >= columns.end) return;
    for (std::int64_t run = part.batches.begin; run < part.batches.end; ++run) {
      const Range inner = {run * depth_, std::min((run + 1) * depth_, sizes_.inner)};
      for (std::int64_t row = 0; row < sizes_.rows; row += group_rows_) {
        const Range rows = {row, std::min(row + group_rows_, sizes_.rows)};
        multiply_group(tile, 0, rows, columns, inner, run_sums_.of(tile, run) + row * sizes_.columns, false);
      }
    }
  }

  Work work_of_runs() const {
    Work work = this->work();
    work.batches = runs();
    work.blocks = 1;
    return work;
  }

  Work work() const {
    const auto depth = static_cast<double>(sizes_.inner);
    const auto height = static_cast<double>(matrix_.block_rows), width = static_cast<double>(unit_);
    // In elements loaded; a multiply-add of a vector takes half as long as loading it from the second-level cache.
    return {.batches = static_cast<std::int64_t>(sizes_.a_starts.size()),
            .blocks = divide_up(sizes_.rows, matrix_.block_rows),
            .panels = divide_up(sizes_.columns, unit_),
            .block_cost = height * width * depth / 4,
            // A parameter is updated by the tiles that read its rows or columns in the next step.
            .load_rows = updates_ && divided_runs_ == 0 ? 0 : height * depth,
            .load_panel = updates_ && divided_runs_ > 0 ? 0 : width * depth};
  }

  void copy_parameter(const Tile& tile, Range batches, Range rows, Range columns) const {
    for (std::int64_t batch = batches.begin; batch < batches.end; ++batch) {
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        const std::int64_t first = (batch * sizes_.rows + row) * sizes_.columns + columns.begin;
        std::copy_n(pointer<const T>(tile, parameter_) + first, columns.end - columns.begin,
                    pointer<T>(tile, result_) + first);
      }
    }
  }

  // Panels of b are packed anew for each group. An update has no epilogue, so the part of a alone bounds its groups.
  std::int64_t rows_of_group() const {
    if (!epilogue_.raw_in_output()) return matrix_.block_rows;
    if (reads_in_place())
      return std::max<std::int64_t>(most_rows_in_place / matrix_.block_rows, 1) * matrix_.block_rows;
    const std::int64_t blocks = most_group_rows * most_depth / std::max<std::int64_t>(depth_, 1) / matrix_.block_rows;
    return updates_ ? std::max(most_group_rows, blocks * matrix_.block_rows) : most_group_rows;
  }

  std::int64_t choose_depth() const {
    if (divided_runs_ > 0 && !updates_) return divide_up(sizes_.inner, divided_runs_);
    const std::int64_t most = sizes_.rows <= matrix_.block_rows / 2 ? most_depth_of_few_rows
                              : reads_in_place()                    ? most_depth_in_place
                                                                    : most_depth;
    return whole_steps(divide_up(sizes_.inner, std::max<std::int64_t>(divide_up(sizes_.inner, most), 1)));
  }

  std::int64_t whole_steps(std::int64_t depth) const {
    if constexpr (rounds) return divide_up(depth, matrix_.depth_step) * matrix_.depth_step;
    return depth;
  }

  bool reads_in_place() const { return sizes_.transpose_a && !pack_b_; }

  // Long rows of b would share few cache sets; copying them pays if enough rows of a meet the copy. A copy also waits
  // for less than a product does where another tile has just written b, as it has the gradient that an update reads.
  bool packs_b() const {
    const std::int64_t row_bytes = sizes_.columns * static_cast<std::int64_t>(sizeof(T));
    const bool has_long_rows = row_bytes >= 1024, is_written_by_others = updates_ && divided_runs_ > 0;
    return rounds || sizes_.transpose_b ||
           (sizes_.rows >= 4 * matrix_.block_rows && (has_long_rows || is_written_by_others));
  }

  // The same for a, where a block of rows is transposed vector by vector. Rows that are side by side then, and were not
  // before, pay for it sooner.
  bool packs_a() const {
    if constexpr (!rounds) {
      const std::int64_t step_bytes =
          (sizes_.transpose_a ? sizes_.rows : sizes_.inner) * static_cast<std::int64_t>(sizeof(T));
      const bool packs_fast = sizes_.transpose_a || matrix_.block_rows % matrix_.lanes == 0;
      const bool becomes_faster = matrix_.prefers_side_by_side && !sizes_.transpose_a;
      const std::int64_t fewest_panels = matrix_.prefers_side_by_side ? 3 : 12;
      return packs_fast && sizes_.columns >= fewest_panels * panel_width(matrix_, sizes_.columns) &&
             (becomes_faster || step_bytes >= 512);
    }
    return true;
  }

  void lay_out_rows() {
    const std::int64_t height = matrix_.block_rows;
    const std::int64_t step = sizes_.transpose_a ? 1 : sizes_.a_step;
    for (std::int64_t i = 0; i < group_rows_; ++i) {
      a_rows_.push_back(rounds ? i * depth_ : pack_a_ ? i / height * depth_ * height + i % height : i * step);
      c_rows_.push_back(i * sizes_.columns);
    }
  }

  void lay_out_scratch() {
    ScratchLayout layout;
    epilogue_scratch_ = layout.add(epilogue_.scratch_bytes());
    if (!epilogue_.raw_in_output()) raw_scratch_ = layout.add_elements<T>(group_rows_ * sizes_.columns);
    if (pack_a_) a_scratch_ = layout.add_elements<S>((group_rows_ + matrix_.block_rows) * depth_);
    const std::int64_t widest = matrix_.panel_vectors * matrix_.lanes;
    b_scratch_ = layout.add_elements<S>((packed_row_bytes / static_cast<std::int64_t>(sizeof(T)) + widest) * depth_);
    scratch_bytes_ = layout.bytes();
  }

  void run_group(const Tile& tile, std::int64_t batch, Range rows, const Columns& columns) const {
    const std::int64_t first = (batch * sizes_.rows + rows.begin) * sizes_.columns;
    T* const raw = epilogue_.raw_in_output() ? epilogue_.raw<T>(tile) + first : at<T>(tile.scratch, raw_scratch_);
    std::int64_t inner = 0;
    do {  // once even if there is nothing to sum: the result is zero then
      multiply_group(tile, batch, rows, columns, {inner, std::min(inner + depth_, sizes_.inner)}, raw,
                     updates_ || inner > 0);
      inner += depth_;
    } while (inner < sizes_.inner);
    finish_group(tile, first, rows.end - rows.begin, columns, raw);
  }

  void multiply_group(const Tile& tile, std::int64_t batch, Range rows, const Columns& columns, Range inner, T* raw,
                      bool accumulate) const {
    static constexpr std::int64_t only_segment = 0;
    Product<T, S> product = {.a_rows = a_rows_.data(),
                             .segments = &only_segment,
                             .segment_count = 1,
                             .depth = whole_steps(inner.end - inner.begin),
                             .panel = columns.panel,
                             .c_rows = c_rows_.data(),
                             .rows = rows.end - rows.begin,
                             .accumulate = accumulate,
                             .scale = updates_ ? -*pointer<const T>(tile, rate_) : T(1)};
    place_a(tile, batch, rows, inner, product);
    // Columns that do not fill a vector are packed in any case: the next row or nothing follows them.
    const std::int64_t direct =
        pack_b_ ? columns.begin : std::max(columns.begin, columns.end - columns.end % matrix_.lanes);
    if constexpr (!rounds) {
      if (direct > columns.begin) multiply_direct(tile, batch, columns.begin, direct, inner.begin, raw, product);
    }
    for (std::int64_t column = direct; column < columns.end; column += columns.at_once) {
      product.columns = std::min(columns.at_once, columns.end - column);
      place_panels(tile, batch, inner, column, product);
      product.c = raw + column;
      matrix_.multiply(product);
    }
  }

  // Columns [first, last), whole vectors of them, from b itself.
  void multiply_direct(const Tile& tile, std::int64_t batch, std::int64_t first, std::int64_t last, std::int64_t inner,
                       T* raw, Product<T> product) const {
    product.b = pointer<const T>(tile, b_) + b_start(batch) + inner * sizes_.b_step + first;
    product.b_step = sizes_.b_step;
    product.b_panel = product.panel;
    product.c = raw + first;
    product.columns = last - first;
    matrix_.multiply(product);
  }

  void place_a(const Tile& tile, std::int64_t batch, Range rows, Range inner, Product<T, S>& product) const {
    const T* const a = pointer<const T>(tile, a_) + sizes_.a_starts[static_cast<std::size_t>(batch)];
    const std::int64_t step = sizes_.a_step;
    const T* const from =
        sizes_.transpose_a ? a + inner.begin * step + rows.begin : a + rows.begin * step + inner.begin;
    if constexpr (rounds) {
      product.a = round_a(from, step, rows.end - rows.begin, inner.end - inner.begin, at<S>(tile.scratch, a_scratch_));
    } else {
      pack_a(from, step, at<T>(tile.scratch, a_scratch_), product);
    }
  }

  const S* round_a(const T* from, std::int64_t step, std::int64_t rows, std::int64_t inner, S* to) const {
    if (sizes_.transpose_a) matrix_.round_transposed(from, step, rows, inner, to, depth_);
    for (std::int64_t row = 0; row < rows; ++row) {
      if (!sizes_.transpose_a) matrix_.round(from + row * step, inner, to + row * depth_);
      std::fill(to + row * depth_ + inner, to + row * depth_ + whole_steps(inner), S{});
    }
    return to;
  }

  void pack_a(const T* from, std::int64_t step, T* to, Product<T>& product) const {
    product.a = from;
    product.a_step = sizes_.transpose_a ? step : 1;
    if (!pack_a_) return;
    const std::int64_t height = matrix_.block_rows;
    // A block of rows of a is laid out like a panel of columns of its transpose.
    (sizes_.transpose_a ? matrix_.pack : matrix_.pack_transposed)({.from = from,
                                                                   .step = step,
                                                                   .depth = product.depth,
                                                                   .columns = product.rows,
                                                                   .panel = height,
                                                                   .to = to,
                                                                   .panel_step = depth_ * height});
    product.a = to;
    product.a_step = height;
  }

  void place_panels(const Tile& tile, std::int64_t batch, Range inner, std::int64_t column,
                    Product<T, S>& product) const {
    const T* const b = pointer<const T>(tile, b_) + b_start(batch);
    const std::int64_t step = sizes_.b_step;
    S* const to = at<S>(tile.scratch, b_scratch_);
    (sizes_.transpose_b ? matrix_.pack_transposed : matrix_.pack)(
        {.from = sizes_.transpose_b ? b + column * step + inner.begin : b + inner.begin * step + column,
         .step = step,
         .depth = inner.end - inner.begin,
         .columns = product.columns,
         .panel = product.panel,
         .to = to,
         .panel_step = product.panel * depth_});
    product.b = to;
    product.b_step = product.panel;
    product.b_panel = product.panel * depth_;
  }

  void finish_group(const Tile& tile, std::int64_t first, std::int64_t rows, Range columns, const T* raw) const {
    std::byte* const scratch = tile.scratch + epilogue_scratch_;
    const std::int64_t width = columns.end - columns.begin;
    if (width == sizes_.columns) return epilogue_.finish(tile, scratch, first, rows * width, raw);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t offset = row * sizes_.columns + columns.begin;
      epilogue_.finish(tile, scratch, first + offset, width, raw + offset);
    }
  }

  std::int64_t b_start(std::int64_t batch) const { return sizes_.b_starts[static_cast<std::size_t>(batch)]; }

  MatmulSizes sizes_;
  const ProductRoutines<T, S>& matrix_;
  Operand a_, b_;
  bool updates_;
  // For an update.
  Operand parameter_, rate_;
  Operand result_;
  Epilogue epilogue_;
  // If not 0, tiles divide the inner dimension, and for an update the same rows of the parameter.
  std::int64_t divided_runs_;
  // Columns that tiles do not split: a vector of them, or a panel where a vector alone would leave a half unused.
  std::int64_t unit_;
  bool pack_a_, pack_b_;
  std::int64_t depth_, group_rows_;
  TileGrid grid_;
  RunSums<T> run_sums_;
  TileGrid run_grid_;
  std::vector<std::int64_t> a_rows_, c_rows_;
  std::size_t epilogue_scratch_ = 0, raw_scratch_ = 0, a_scratch_ = 0, b_scratch_ = 0, scratch_bytes_ = 0;
};

bool suits_mixed(const MatmulSizes& sizes, const Routines& routines) {
  const MixedMatmulRoutines* const mixed = routines.matmul.mixed;
  // Few rows or columns use what was packed too seldom.
  constexpr std::int64_t least_size = 32;
  if (mixed == nullptr || std::min(sizes.rows, sizes.columns) < least_size || sizes.inner < mixed->least_depth)
    return false;
  const auto rows = static_cast<double>(sizes.rows), inner = static_cast<double>(sizes.inner),
             columns = static_cast<double>(sizes.columns);
  const auto runs = static_cast<double>(divide_up(sizes.inner, most_depth));
  return pays(*mixed,
              {.products = rows * inner * static_cast<double>(round_up(sizes.columns, routines.matmul.float32.lanes)),
               .mixed_products = static_cast<double>(round_up(sizes.rows, 2 * mixed->lanes) *
                                                     round_up(sizes.columns, 2 * mixed->lanes) *
                                                     round_up(sizes.inner, mixed->depth_step)),
               .packed = rows * inner + inner * columns,
               .rows = rows * runs,
               .results = rows * columns * runs});
}

}  // namespace

std::unique_ptr<Kernel> factories::matmul(const KernelCall& call, const Routines& routines) {
  if (call.inputs[0].type.dtype == DType::float64) return std::make_unique<Matmul<double>>(call, routines);
  if (suits_mixed(MatmulSizes(call), routines)) return std::make_unique<Matmul<float, BFloat16>>(call, routines);
  return std::make_unique<Matmul<float>>(call, routines);
}

std::unique_ptr<Kernel> factories::matmul_update(const KernelCall& call, const Routines& routines) {
  return matmul(call, routines);
}

}  // namespace pando::cpu
