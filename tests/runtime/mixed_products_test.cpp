// SPDX-License-Identifier: Apache-2.0
// The products of bfloat16 that this machine has, and those by tiles on any machine, against sums in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "backends/cpu/kernels/product.h"
#include "backends/cpu/routines.h"
#include "tests/runtime/modelled_tiles.h"

namespace pando::cpu {
namespace {

struct Sizes {
  std::int64_t rows, columns, segments, depth;
  bool accumulate = false, transposed = false;
  // Whether the rows of a follow each other.
  bool in_order = false;
  // For routines that prefer equal distances: rows without a result among the others, and segments of b in any order.
  bool has_gaps = false, has_b_segments = false;
};

std::string text_of(const Sizes& sizes) {
  return std::to_string(sizes.rows) + " x " + std::to_string(sizes.segments) + " * " + std::to_string(sizes.depth) +
         " x " + std::to_string(sizes.columns) + (sizes.accumulate ? ", added" : "") +
         (sizes.transposed ? ", transposed" : "") + (sizes.in_order ? ", in order" : "") +
         (sizes.has_gaps ? ", with gaps" : "") + (sizes.has_b_segments ? ", segments of b in any order" : "");
}

std::vector<float> random_numbers(std::int64_t count) {
  static std::mt19937 generator(1);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = static_cast<float>(generator()) / 2147483648.0F - 1.0F;
  return numbers;
}

// A product of random factors. Every other element, except the zeros that a panel ends with, is NaN.
class Check {
 public:
  Check(const MixedMatmulRoutines& matrix, const Sizes& sizes)
      : matrix_(matrix),
        sizes_(sizes),
        a_(random_numbers(sizes.rows * sizes.segments * sizes.depth)),
        b_(random_numbers(sizes.segments * sizes.depth * sizes.columns)),
        c_(random_numbers(sizes.rows * c_step())) {}

  void run() {
    lay_out_a();
    lay_out_b();
    std::vector<float> c = c_;
    const std::int64_t panel = panel_width(matrix_, sizes_.columns);
    matrix_.multiply({.a = rounded_a_.data(),
                      .a_rows = a_rows_.data(),
                      .segments = segments_.data(),
                      .segment_count = sizes_.segments,
                      .depth = sizes_.depth,
                      .b = rounded_b_.data(),
                      .b_step = panel,
                      .b_segments = sizes_.has_b_segments ? b_segments_.data() : nullptr,
                      .b_panel = inner() * panel,
                      .panel = panel,
                      .c = c.data(),
                      .c_rows = c_rows_.data(),
                      .rows = sizes_.rows,
                      .columns = sizes_.columns,
                      .accumulate = sizes_.accumulate,
                      .scale = scale()});
    for (std::int64_t row = 0; row < sizes_.rows; ++row) compare(row, c);
  }

 private:
  std::int64_t inner() const { return sizes_.segments * sizes_.depth; }
  std::int64_t c_step() const { return sizes_.columns + 3; }

  // Every row and segment by itself, with odd gaps; unless they follow each other, the second row comes last.
  void lay_out_a() {
    const std::int64_t piece = sizes_.depth + 1, pieces = sizes_.rows * sizes_.segments;
    rounded_a_.assign(static_cast<std::size_t>(pieces * piece), no_number);
    for (std::int64_t row = 0; row < sizes_.rows; ++row) {
      a_rows_.push_back((sizes_.in_order || row == 0 ? row : sizes_.rows - row) * piece);
      c_rows_.push_back(sizes_.has_gaps && row % 5 == 4 ? -1 : row * c_step());
    }
    for (std::int64_t s = 0; s < sizes_.segments; ++s) {
      segments_.push_back(s * sizes_.rows * piece);
      for (std::int64_t row = 0; row < sizes_.rows; ++row) {
        matrix_.round(a_.data() + row * inner() + s * sizes_.depth, sizes_.depth,
                      rounded_a_.data() + a_rows_[static_cast<std::size_t>(row)] + segments_.back());
      }
    }
  }

  void lay_out_b() {
    const std::int64_t panel = panel_width(matrix_, sizes_.columns);
    rounded_b_.assign(static_cast<std::size_t>((divide_up(sizes_.columns, panel) * inner() + 64) * panel), no_number);
    std::vector<float> from = b_;
    if (sizes_.transposed) {
      for (std::int64_t i = 0; i < inner() * sizes_.columns; ++i)
        from[static_cast<std::size_t>(i % sizes_.columns * inner() + i / sizes_.columns)] =
            b_[static_cast<std::size_t>(i)];
    }
    (sizes_.transposed ? matrix_.pack_transposed : matrix_.pack)({.from = from.data(),
                                                                  .step = sizes_.transposed ? inner() : sizes_.columns,
                                                                  .depth = inner(),
                                                                  .columns = sizes_.columns,
                                                                  .panel = panel,
                                                                  .to = rounded_b_.data(),
                                                                  .panel_step = inner() * panel});
    if (sizes_.has_b_segments) reverse_b(panel);
  }

  // Segments of b from the last to the first, in each panel.
  void reverse_b(std::int64_t panel) {
    const std::vector<BFloat16> in_order = rounded_b_;
    const std::int64_t elements = sizes_.depth * panel;
    for (std::int64_t s = 0; s < sizes_.segments; ++s) b_segments_.push_back((sizes_.segments - 1 - s) * elements);
    for (std::int64_t first = 0; first < divide_up(sizes_.columns, panel) * inner() * panel; first += inner() * panel) {
      for (std::int64_t s = 0; s < sizes_.segments; ++s) {
        std::copy_n(in_order.begin() + first + s * elements, elements,
                    rounded_b_.begin() + first + b_segments_[static_cast<std::size_t>(s)]);
      }
    }
  }

  void compare(std::int64_t row, const std::vector<float>& c) const {
    for (std::int64_t column = 0; column < c_step(); ++column) {
      const auto at = static_cast<std::size_t>(row * c_step() + column);
      if (column >= sizes_.columns || c_rows_[static_cast<std::size_t>(row)] < 0) {
        ASSERT_EQ(c[at], c_[at]) << "row " << row << ", column " << column << ", which has no result";
        continue;
      }
      double sum = 0, size = 1;
      for (std::int64_t k = 0; k < inner(); ++k) {
        const double product = double{widened(narrowed(a_[static_cast<std::size_t>(row * inner() + k)]))} *
                               double{widened(narrowed(b_[static_cast<std::size_t>(k * sizes_.columns + column)]))};
        sum += product;
        size += std::abs(product);
      }
      if (sizes_.accumulate) sum = double{c_[at]} + double{scale()} * sum;
      ASSERT_NEAR(c[at], sum, 1e-6 * size) << "row " << row << ", column " << column;
    }
  }

  static constexpr BFloat16 no_number = {0x7fc0};
  // The factor of what is added; 1 for sums that go on.
  float scale() const { return sizes_.rows % 2 == 0 ? 1.0F : -0.75F; }
  const MixedMatmulRoutines& matrix_;
  Sizes sizes_;
  std::vector<float> a_, b_, c_;
  std::vector<BFloat16> rounded_a_, rounded_b_;
  std::vector<std::int64_t> a_rows_, c_rows_, segments_, b_segments_;
};

void for_each_table(const auto& check) {
  check("tiles of the model", modelled_products);
  for (const MixedMatmulRoutines* matrix : mixed_products_for(choose_instruction_set(""))) {
    check("blocks of " + std::to_string(matrix->block_rows) + " rows", *matrix);
  }
}

void expect_right(const auto& sizes_for) {
  for_each_table([&](const std::string& name, const MixedMatmulRoutines& matrix) {
    for (const Sizes& sizes : sizes_for(matrix.depth_step)) {
      SCOPED_TRACE(name + ": " + text_of(sizes));
      Check(matrix, sizes).run();
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(MixedProducts, AnyNumberOfRows) {
  expect_right([](std::int64_t step) {
    std::vector<Sizes> sizes;
    for (std::int64_t rows = 1; rows <= 70; ++rows)
      sizes.push_back({rows, rows % 2 == 0 ? 33 : 5, 2, (rows % 5 + 1) * step, rows % 3 == 0});
    return sizes;
  });
}

TEST(MixedProducts, AnyNumberOfColumns) {
  expect_right([](std::int64_t step) {
    std::vector<Sizes> sizes;
    for (std::int64_t columns = 1; columns <= 70; ++columns)
      sizes.push_back(
          {columns % 2 == 0 ? 5 : 19, columns, 1, (columns % 7 + 1) * step, columns % 3 == 0, columns % 4 < 2});
    return sizes;
  });
}

TEST(MixedProducts, SumsOfAnyLengthAndInPieces) {
  expect_right([](std::int64_t step) {
    std::vector<Sizes> sizes;
    for (std::int64_t steps = 1; steps <= 40; ++steps) sizes.push_back({3, 18, 1, steps * step, false, steps % 2 == 0});
    for (std::int64_t segments : {0, 1, 3, 9, 40})
      for (std::int64_t steps : {1, 2, 6, 16}) sizes.push_back({7, 20, segments, steps * step, segments == 3});
    return sizes;
  });
}

// Rows at equal distances are multiplied where they are.
TEST(MixedProducts, RowsInOrder) {
  expect_right([](std::int64_t step) {
    std::vector<Sizes> sizes;
    for (std::int64_t rows : {15, 16, 17, 31, 32, 33, 48, 70}) {
      for (std::int64_t depth : {step, std::int64_t{32}, std::int64_t{64}, 64 + step, std::int64_t{512}, 544 + step}) {
        for (std::int64_t segments : {0, 1, 3}) {
          sizes.push_back({rows, rows % 2 == 0 ? 40 : 9, segments, depth, segments == 3, false, true});
        }
      }
    }
    return sizes;
  });
}

TEST(MixedProducts, RowsWithoutAResultAndSegmentsInAnyOrder) {
  for_each_table([](const std::string& name, const MixedMatmulRoutines& matrix) {
    if (!matrix.prefers_equal_distances) return;
    for (std::int64_t rows : {6, 20, 35}) {
      for (std::int64_t columns : {24, 64}) {
        for (bool accumulate : {false, true}) {
          for (Sizes sizes : {Sizes{rows, columns, 3, 64}, Sizes{rows, columns, 70, 32}}) {
            sizes.accumulate = accumulate;
            sizes.in_order = rows != 35;
            sizes.has_gaps = sizes.segments == 3;
            sizes.has_b_segments = sizes.segments == 70;
            SCOPED_TRACE(name + ": " + text_of(sizes));
            Check(matrix, sizes).run();
          }
        }
      }
    }
  });
}

// Longer than what is put in order, or kept in registers, at once.
TEST(MixedProducts, LongSums) {
  expect_right([](std::int64_t step) {
    return std::vector<Sizes>{{35, 34, 1, 1040},
                              {9, 17, 1, 512 + step, true},
                              {9, 17, 3, 520, true},
                              {9, 40, 30, 40},
                              {40, 40, 3, 1056, true, false, true},
                              {40, 40, 5, 512 + step, false, false, true},
                              {33, 70, 2, 2048 + step, true}};
  });
}

TEST(MixedProducts, MatricesAreRoundedToNearest) {
  for_each_table([](const std::string& name, const MixedMatmulRoutines& matrix) {
    SCOPED_TRACE(name);
    for (std::int64_t rows : {1, 4, 15, 16, 37}) {
      for (std::int64_t columns : {1, 2, 31, 32, 33, 70}) {
        // Halfway between two numbers, too.
        std::vector<float> from = random_numbers(rows * columns);
        for (std::size_t i = 0; i < from.size(); i += 3) from[i] = std::ldexp(std::round(from[i] * 512.0F), -9);
        std::vector<BFloat16> to(from.size() + 2), transposed(from.size() + 2);
        matrix.round(from.data(), rows * columns, to.data());
        matrix.round_transposed({.from = from.data(),
                                 .from_step = rows,
                                 .rows = rows,
                                 .columns = columns,
                                 .to = transposed.data(),
                                 .to_step = columns,
                                 .run = columns});
        for (std::int64_t i = 0; i < rows * columns; ++i) {
          const auto at = static_cast<std::size_t>(i);
          ASSERT_EQ(to[at].bits, narrowed(from[at]).bits) << i;
          ASSERT_EQ(transposed[static_cast<std::size_t>(i % rows * columns + i / rows)].bits, to[at].bits) << i;
        }
        ASSERT_EQ(to.back().bits + transposed.back().bits, 0);
      }
    }
  });
}

TEST(MixedProducts, ColumnsAreWrittenInRuns) {
  for_each_table([](const std::string& name, const MixedMatmulRoutines& matrix) {
    SCOPED_TRACE(name);
    for (std::int64_t rows : {3, 16, 21}) {
      for (std::int64_t run : {1, 5, 8, 16, 31, 32, 45}) {
        for (std::int64_t columns : {run, 2 * run, 5 * run, 4 * run + 1}) {
          const std::int64_t gap = 3, runs = divide_up(columns, run), column = runs * (run + gap);
          const std::vector<float> from = random_numbers(rows * columns);
          std::vector<BFloat16> to(static_cast<std::size_t>(rows * column), BFloat16{1}), expected = to;
          for (std::int64_t j = 0; j < rows; ++j) {
            for (std::int64_t k = 0; k < columns; ++k)
              expected[static_cast<std::size_t>(j * column + k / run * (run + gap) + k % run)] =
                  narrowed(from[static_cast<std::size_t>(k * rows + j)]);
          }
          matrix.round_transposed({.from = from.data(),
                                   .from_step = rows,
                                   .rows = rows,
                                   .columns = columns,
                                   .to = to.data(),
                                   .to_step = column,
                                   .run = run,
                                   .run_step = run + gap});
          for (std::size_t i = 0; i < to.size(); ++i)
            ASSERT_EQ(to[i].bits, expected[i].bits)
                << rows << " rows, " << columns << " columns in runs of " << run << ", element " << i;
        }
      }
    }
  });
}

}  // namespace
}  // namespace pando::cpu
