// What a progress bar shows, and when: everything but the terminal and the clock, which are given.
#pragma once
#include <pando/progress.h>

#include <functional>
#include <string_view>

namespace pando {

// A moment of a run.
struct ProgressMoment {
  std::int64_t current = 0;
  // 0: not known.
  std::int64_t total = 0;
  double seconds = 0;
  Metrics metrics = {};
  std::string unit = "step";
  // While running the remaining time is shown, at the end the time taken.
  bool finished = false;
};

// The line for a terminal of `columns` columns; 0 means any width. A narrow one shortens the bar, then leaves it out; a
// running line is cut off in the end, so that it never wraps.
std::string progress_line(const ProgressMoment& moment, int columns);

// Where a bar is drawn and which clock it reads.
struct ProgressOutput {
  std::function<void(std::string_view)> write;
  // The width of the terminal, 0 if it is none.
  std::function<int()> columns;
  std::function<double()> seconds;
};

// Decides when to draw, and how: in place on a terminal, one line at the end elsewhere.
class ProgressPrinter {
 public:
  ProgressPrinter(std::int64_t total, const std::string& unit, ProgressOutput output);
  void update(std::int64_t current, const Metrics& metrics);
  void finish();
  // Leaves the line as it is and begins a new one, if a bar was drawn and not finished.
  void abandon();

 private:
  void draw(int columns);

  ProgressOutput output_;
  ProgressMoment moment_;
  double start_;
  double next_draw_ = 0;
  std::size_t drawn_ = 0;
};

}  // namespace pando
