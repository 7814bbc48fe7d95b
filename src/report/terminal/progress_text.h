// SPDX-License-Identifier: Apache-2.0
// What a progress bar shows at one moment, as Keras 3 or Keras 2 writes it.
#pragma once
#include <pando/report/progress.h>

#include "report/terminal/terminal.h"

namespace pando {

// A moment of a run.
struct ProgressMoment {
  std::int64_t current = 0;
  // 0: not known.
  std::int64_t total = 0;
  // How much was done before the clock started.
  std::int64_t initial = 0;
  double seconds = 0;
  Metrics metrics = {};
  std::string unit = "step";
  // While running the remaining time is shown, at the end the time taken.
  bool finished = false;
};

// All of it on one line, for output that is not a terminal.
std::string progress_line(const ProgressMoment& moment, const TerminalLook& look);

// The one line of an epoch in ProgressStyle::lines.
std::string epoch_line(const ProgressMoment& moment, const TerminalLook& look);

// The characters of the bar on a terminal of `columns` columns, such that these metrics stand beside it if there is
// room; 0 leaves it out.
int bar_width(const ProgressMoment& moment, int columns, const TerminalLook& look);

struct ScreenRow {
  std::string text = {};
  // The columns that it takes; styles take none.
  int width = 0;
};

// Rows that a terminal of `columns` columns does not wrap: metrics that do not fit beside the bar are below it. Only a
// name that is wider than the terminal is cut, and that only while the bar is running.
std::vector<ScreenRow> progress_rows(const ProgressMoment& moment, int columns, int bar, const TerminalLook& look);

}  // namespace pando
