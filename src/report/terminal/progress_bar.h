// What a progress bar shows, and when: everything but the terminal and the clock, which are given.
#pragma once
#include <pando/base/function.h>
#include <pando/report/progress.h>

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

// The one line of an epoch in ProgressStyle::lines.
std::string epoch_line(const ProgressMoment& moment);

// Where a bar is drawn and which clock it reads.
struct ProgressOutput {
  Function<void(std::string_view)> write;
  // The width of the terminal, 0 if it is none.
  Function<int()> columns;
  Function<double()> seconds;
  // Whether the terminal rewraps its lines when it becomes narrower.
  bool rewraps = true;
};

// The stream, the width of its terminal at each draw, and the steady clock. Does not own the stream.
ProgressOutput output_to(std::FILE* stream);

// Decides when to draw, and how: in place on a terminal, one line at the end elsewhere.
class ProgressPrinter {
 public:
  ProgressPrinter(std::int64_t total, const std::string& unit, ProgressOutput output,
                  ProgressStyle style = ProgressStyle::bar);
  void update(std::int64_t current, const Metrics& metrics);
  void finish();
  // Leaves the line as it is and begins a new one, if a bar was drawn and not finished.
  void abandon();

 private:
  void draw(int columns);
  std::string back_from_wrapped(std::size_t width) const;

  ProgressOutput output_;
  ProgressMoment moment_;
  ProgressStyle style_;
  double start_;
  double next_draw_ = 0;
  // The width of the line before the cursor.
  std::size_t drawn_ = 0;
};

}  // namespace pando
