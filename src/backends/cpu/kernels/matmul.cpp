// SPDX-License-Identifier: Apache-2.0
// matmul: blocks of rows times panels of columns, in runs of the inner dimension that stay in the first-level cache.
// matmul_update adds the product, times -rate, to a parameter.
//
// Tiles divide rows and columns. Where few rows meet many weights, they divide the inner dimension instead: each reads
// the rows of weights, one after the other in memory, that it updates at the end of a step. Tiles that divide columns
// would have parts of the same rows, and a core that reads ahead takes from the other what that has just written.
#include <optional>

#include "backends/cpu/kernels/epilogue.h"
#include "backends/cpu/kernels/matmul_cut.h"
#include "backends/cpu/kernels/mixed_cost.h"
#include "backends/cpu/kernels/run_sums.h"

namespace pando::cpu {

namespace {

// Panels of b are packed together until their rows have this size, so that whole cache lines are read. Rounded ones
// take half as much of the cache, and the more of them there are, the more often a row of a is met there.
template <bool rounds>
constexpr std::int64_t packed_row_bytes = rounds ? 512 : 256;

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
        cut_(call, sizes_, matrix_, !epilogue_.raw_in_output()),
        grid_(cut_.work()),
        run_sums_(cut_.runs(), sizes_.rows * sizes_.columns) {
    if (cut_.divided_runs > 0 && !updates_) run_grid_.emplace(cut_.work_of_runs());
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
    const Columns columns = columns_of(part);
    if (columns.begin >= columns.end) return;
    if (updates_ && parameter_.buffer != result_.buffer) copy_parameter(tile, part.batches, rows, columns);
    epilogue_.begin(tile, tile.scratch + epilogue_scratch_);
    for (std::int64_t batch = part.batches.begin; batch < part.batches.end; ++batch) {
      for (std::int64_t row = rows.begin; row < rows.end; row += cut_.group_rows) {
        run_group(tile, batch, {row, std::min(row + cut_.group_rows, rows.end)}, columns);
      }
    }
  }

  void finish(const Tile& tile) const override {
    const std::int64_t elements = sizes_.rows * sizes_.columns, lines = divide_up(elements, RunSums<T>::line);
    const Range part = share(tile, lines);
    const std::int64_t end = std::min(part.end * RunSums<T>::line, elements), most = cut_.group_rows * sizes_.columns;
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
          at_once(divide_up(packed_row_bytes<rounds>, panel * static_cast<std::int64_t>(sizeof(T))) * panel) {}
    std::int64_t panel, at_once;
  };

  Columns columns_of(const Part& part) const {
    return {{part.panels.begin * cut_.unit, std::min(part.panels.end * cut_.unit, sizes_.columns)}, matrix_};
  }

  bool sums_runs(int tiles) const { return run_grid_.has_value() && tiles > 1; }

  void sum_runs(const Tile& tile) const {
    const Part part = run_grid_->part(tile);
    const Columns columns = columns_of(part);
    if (columns.begin >= columns.end) return;
    for (std::int64_t run = part.batches.begin; run < part.batches.end; ++run) {
      const Range inner = {run * cut_.depth, std::min((run + 1) * cut_.depth, sizes_.inner)};
      for (std::int64_t row = 0; row < sizes_.rows; row += cut_.group_rows) {
        const Range rows = {row, std::min(row + cut_.group_rows, sizes_.rows)};
        multiply_group(tile, 0, rows, columns, inner, run_sums_.of(tile, run) + row * sizes_.columns, false);
      }
    }
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

  void lay_out_rows() {
    const std::int64_t height = matrix_.block_rows;
    const std::int64_t step = sizes_.transpose_a ? 1 : sizes_.a_step;
    for (std::int64_t i = 0; i < cut_.group_rows; ++i) {
      a_rows_.push_back(rounds         ? i * cut_.rounded_row
                        : cut_.packs_a ? i / height * cut_.depth * height + i % height
                                       : i * step);
      c_rows_.push_back(i * sizes_.c_step);
    }
  }

  void lay_out_scratch() {
    ScratchLayout layout;
    epilogue_scratch_ = layout.add(epilogue_.scratch_bytes());
    if (!epilogue_.raw_in_output()) raw_scratch_ = layout.add_elements<T>(cut_.group_rows * sizes_.columns);
    const std::int64_t a_row = rounds ? cut_.rounded_row : cut_.depth;
    if (cut_.packs_a) a_scratch_ = layout.add_elements<S>((cut_.group_rows + matrix_.block_rows) * a_row);
    const std::int64_t widest = matrix_.panel_vectors * matrix_.lanes;
    b_scratch_ =
        layout.add_elements<S>((packed_row_bytes<rounds> / static_cast<std::int64_t>(sizeof(T)) + widest) * cut_.depth);
    scratch_bytes_ = layout.bytes();
  }

  void run_group(const Tile& tile, std::int64_t batch, Range rows, const Columns& columns) const {
    const std::int64_t first = (batch * sizes_.rows + rows.begin) * sizes_.columns;
    T* const raw =
        epilogue_.raw_in_output()
            ? epilogue_.raw<T>(tile) + sizes_.c_starts[static_cast<std::size_t>(batch)] + rows.begin * sizes_.c_step
            : at<T>(tile.scratch, raw_scratch_);
    std::int64_t inner = 0;
    do {  // once even if there is nothing to sum: the result is zero then
      multiply_group(tile, batch, rows, columns, {inner, std::min(inner + cut_.depth, sizes_.inner)}, raw,
                     updates_ || inner > 0);
      inner += cut_.depth;
    } while (inner < sizes_.inner);
    finish_group(tile, first, rows.end - rows.begin, columns, raw);
  }

  void multiply_group(const Tile& tile, std::int64_t batch, Range rows, const Columns& columns, Range inner, T* raw,
                      bool accumulate) const {
    static constexpr std::int64_t only_segment = 0;
    Product<T, S> product = {.a_rows = a_rows_.data(),
                             .segments = &only_segment,
                             .segment_count = 1,
                             .depth = cut_.whole_steps(inner.end - inner.begin),
                             .panel = columns.panel,
                             .c_rows = c_rows_.data(),
                             .rows = rows.end - rows.begin,
                             .accumulate = accumulate,
                             .scale = updates_ ? -*pointer<const T>(tile, rate_) : T(1)};
    place_a(tile, batch, rows, inner, product);
    // Columns that do not fill a vector are packed in any case: the next row or nothing follows them.
    const std::int64_t direct =
        cut_.packs_b ? columns.begin : std::max(columns.begin, columns.end - columns.end % matrix_.lanes);
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
    if (sizes_.transpose_a) {
      matrix_.round_transposed({.from = from,
                                .from_step = step,
                                .rows = rows,
                                .columns = inner,
                                .to = to,
                                .to_step = cut_.rounded_row,
                                .run = inner,
                                .run_step = 0});
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      S* const rounded = to + row * cut_.rounded_row;
      if (!sizes_.transpose_a) matrix_.round(from + row * step, inner, rounded);
      std::fill(rounded + inner, rounded + cut_.whole_steps(inner), S{});
    }
    return to;
  }

  void pack_a(const T* from, std::int64_t step, T* to, Product<T>& product) const {
    product.a = from;
    product.a_step = sizes_.transpose_a ? step : 1;
    if (!cut_.packs_a) return;
    const std::int64_t height = matrix_.block_rows;
    // A block of rows of a is laid out like a panel of columns of its transpose.
    (sizes_.transpose_a ? matrix_.pack : matrix_.pack_transposed)({.from = from,
                                                                   .step = step,
                                                                   .depth = product.depth,
                                                                   .columns = product.rows,
                                                                   .panel = height,
                                                                   .to = to,
                                                                   .panel_step = cut_.depth * height});
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
         .panel_step = product.panel * cut_.depth});
    product.b = to;
    product.b_step = product.panel;
    product.b_panel = product.panel * cut_.depth;
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
  MatmulCut<T, S> cut_;
  TileGrid grid_;
  // Only where tiles divide the inner dimension.
  std::optional<TileGrid> run_grid_;
  RunSums<T> run_sums_;
  std::vector<std::int64_t> a_rows_, c_rows_;
  std::size_t epilogue_scratch_ = 0, raw_scratch_ = 0, a_scratch_ = 0, b_scratch_ = 0, scratch_bytes_ = 0;
};

bool suits_mixed(const KernelCall& call, const Routines& routines) {
  const MixedMatmulRoutines* const mixed = routines.matmul.mixed;
  if (mixed == nullptr) return false;
  // Only products of float32 divide the inner dimension, which makes them faster than those of bfloat16 on several
  // tiles.
  if (routines.matmul.float32.prefers_whole_rows && divided_runs(call) > 0) return false;
  const MatmulSizes sizes(call);
  // Few rows or columns use what was packed too seldom.
  constexpr std::int64_t least_size = 32;
  if (std::min(sizes.rows, sizes.columns) < least_size || sizes.inner < mixed->least_depth) return false;
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
  if (suits_mixed(call, routines)) return std::make_unique<Matmul<float, BFloat16>>(call, routines);
  return std::make_unique<Matmul<float>>(call, routines);
}

std::unique_ptr<Kernel> factories::matmul_update(const KernelCall& call, const Routines& routines) {
  return matmul(call, routines);
}

}  // namespace pando::cpu
