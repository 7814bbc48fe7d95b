// SPDX-License-Identifier: Apache-2.0
// How a matmul is cut: into runs of the inner dimension, groups of rows and shares of tiles, and which factors are
// copied first. The call alone decides, whatever the number of tiles, so that they all give the same bits.
#pragma once
#include "backends/cpu/kernels/matmul_sizes.h"
#include "backends/cpu/kernels/product.h"
#include "ops/op_list.h"

namespace pando::cpu {

// Results of type T from factors of type S: the same, or bfloat16 for float.
template <class T, class S>
class MatmulCut {
 public:
  static constexpr bool rounds = !std::is_same_v<T, S>;

  MatmulCut(const KernelCall& call, const MatmulSizes& sizes, const ProductRoutines<T, S>& matrix, bool has_epilogue)
      : sizes_(sizes),
        matrix_(matrix),
        updates_(call.op->id == Op::matmul_update),
        divided_runs(runs_to_divide(call)),
        unit(rounds ? panel_width(matrix, sizes.columns) : matrix.lanes),
        packs_a(a_is_packed()),
        packs_b(b_is_packed()),
        depth(choose_depth()),
        rounded_row(divide_up(depth, line) / 2 * 2 * line + line),
        group_rows(choose_group_rows(has_epilogue)) {}

 private:
  const MatmulSizes& sizes_;
  const ProductRoutines<T, S>& matrix_;
  const bool updates_;

 public:
  // If not 0, tiles divide the inner dimension into this many runs, and for an update the same rows of the parameter.
  const std::int64_t divided_runs;
  // Columns that tiles do not split: a vector of them, or a panel where a vector alone would leave a half unused.
  const std::int64_t unit;
  const bool packs_a, packs_b;
  // `depth`: the length of a run.
  // `rounded_row`: the elements of a row of a run where a is rounded. An odd number of cache lines, so that rows do not
  // all share a few sets of the cache.
  // `group_rows`: how many rows are multiplied by a panel of b before the next panel.
  const std::int64_t depth, rounded_row, group_rows;

  // The shares of tiles that divide rows and columns.
  Work work() const {
    const auto inner = static_cast<double>(sizes_.inner);
    const auto height = static_cast<double>(matrix_.block_rows), width = static_cast<double>(unit);
    // In elements loaded; a multiply-add of a vector takes half as long as loading it from the second-level cache.
    return {.batches = static_cast<std::int64_t>(sizes_.a_starts.size()),
            .blocks = divide_up(sizes_.rows, matrix_.block_rows),
            .panels = divide_up(sizes_.columns, unit),
            .block_cost = height * width * inner / 4,
            // A parameter is updated by the tiles that read its rows or columns in the next step.
            .load_rows = updates_ && divided_runs == 0 ? 0 : height * inner,
            .load_panel = updates_ && divided_runs > 0 ? 0 : width * inner};
  }

  // The runs that tiles divide, and their shares.
  std::int64_t runs() const { return divided_runs > 0 ? divide_up(sizes_.inner, depth) : 1; }
  Work work_of_runs() const {
    Work result = work();
    result.batches = runs();
    result.blocks = 1;
    return result;
  }

  // The depth to which a run is filled with zeros.
  std::int64_t whole_steps(std::int64_t length) const {
    if constexpr (rounds) return divide_up(length, matrix_.depth_step) * matrix_.depth_step;
    return length;
  }

 private:
  // Elements of a cache line.
  static constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(S));
  // Rows whose part of a is packed together and whose results the epilogue then finds in the cache.
  static constexpr std::int64_t most_group_rows = 128;
  // With a row or two nothing is used twice, and short runs read b in the order of its memory.
  static constexpr std::int64_t most_depth_of_few_rows = 16;
  // The same where a is transposed and b is read in place: the parts of both that a group and a panel read then fit the
  // first-level cache.
  static constexpr std::int64_t most_rows_in_place = 48, most_depth_in_place = 128;

  std::int64_t runs_to_divide(const KernelCall& call) const {
    if constexpr (!rounds) return matrix_.prefers_whole_rows ? cpu::divided_runs(call) : 0;
    return 0;
  }

  // Long rows of b would share few cache sets, so copying b pays if enough rows of a meet the copy. It also pays if
  // another tile has just written b, such as the gradient that an update reads: a copy waits for that less than a
  // product does.
  bool b_is_packed() const {
    const std::int64_t row_bytes = sizes_.columns * static_cast<std::int64_t>(sizeof(T));
    const bool has_long_rows = row_bytes >= 1024, is_written_by_others = updates_ && divided_runs > 0;
    return rounds || sizes_.transpose_b ||
           (sizes_.rows >= 4 * matrix_.block_rows && (has_long_rows || is_written_by_others));
  }

  // The same for a, where a block of rows is transposed vector by vector. It pays sooner if the rows were not side by
  // side before.
  bool a_is_packed() const {
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

  bool reads_in_place() const { return sizes_.transpose_a && !packs_b; }

  std::int64_t choose_depth() const {
    if (divided_runs > 0 && !updates_) return divide_up(sizes_.inner, divided_runs);
    const std::int64_t most = sizes_.rows <= matrix_.block_rows / 2 ? most_depth_of_few_rows
                              : reads_in_place()                    ? most_depth_in_place
                                                                    : most_depth;
    const std::int64_t run = divide_up(sizes_.inner, std::max<std::int64_t>(divide_up(sizes_.inner, most), 1));
    if constexpr (rounds) return divide_up(run, matrix_.best_depth_step) * matrix_.best_depth_step;
    return run;
  }

  // Panels of b are packed anew for each group. An update has no epilogue, so the part of a alone bounds its groups.
  std::int64_t choose_group_rows(bool has_epilogue) const {
    if (has_epilogue) return matrix_.block_rows;
    if (reads_in_place())
      return std::max<std::int64_t>(most_rows_in_place / matrix_.block_rows, 1) * matrix_.block_rows;
    const std::int64_t blocks = most_group_rows * most_depth / std::max<std::int64_t>(depth, 1) / matrix_.block_rows;
    return updates_ ? std::max(most_group_rows, blocks * matrix_.block_rows) : most_group_rows;
  }
};

}  // namespace pando::cpu
