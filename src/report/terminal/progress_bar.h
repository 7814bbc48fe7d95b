// SPDX-License-Identifier: Apache-2.0
// When a progress bar is drawn, and where: everything but the terminal and the clock, which are given.
#pragma once
#include <pando/base/function.h>

#include <string_view>

#include "report/terminal/progress_text.h"

namespace pando {

// Where a bar is drawn and which clock it reads.
struct ProgressOutput {
  Function<void(std::string_view)> write;
  // The width of the terminal, 0 if it is none.
  Function<int()> columns;
  Function<double()> seconds;
  // Whether the terminal rewraps its lines when it becomes narrower.
  bool rewraps = true;
  TerminalLook look = {};
};

// The stream, the width of its terminal at each draw, and the steady clock. Does not own the stream.
ProgressOutput output_to(std::FILE* stream);

// What a bar counts.
struct ProgressCount {
  // 0: not known.
  std::int64_t total = 0;
  std::string unit = "step";
  // How much was done before. Times do not include it.
  std::int64_t initial = 0;
};

// Decides when to draw, and how: in place on a terminal, one line at the end elsewhere.
class ProgressPrinter {
 public:
  ProgressPrinter(const ProgressCount& count, ProgressOutput output, ProgressStyle style = ProgressStyle::bar);
  void update(std::int64_t current, const Metrics& metrics);
  void finish();
  // Leaves the line as it is and begins a new one, if a bar was drawn and not finished.
  void abandon();

 private:
  void draw(int columns);
  std::string back_to_first_row(int columns, std::size_t rows) const;

  ProgressOutput output_;
  ProgressMoment moment_;
  ProgressStyle style_;
  double start_;
  double next_draw_ = 0;
  // The bar keeps its width until the terminal has another.
  int columns_ = 0, bar_ = 0;
  // The widths of the rows that were drawn; the cursor is at the end of the last.
  std::vector<int> drawn_;
};

}  // namespace pando
