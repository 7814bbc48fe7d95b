// SPDX-License-Identifier: Apache-2.0
// What tqdm's bars show, and when: everything but the terminal and the clock, which are given.
#pragma once
#include <pando/report/tqdm.h>

#include "report/terminal/progress_bar.h"

namespace pando {

// A moment of a loop.
struct TqdmMoment {
  std::int64_t current = 0;
  // Nothing, or 0: not known.
  std::optional<std::int64_t> total = {};
  double seconds = 0;
  std::string description = {};
  std::string postfix = {};
  std::string unit = "it";
  // Iterations per second; without it, the average since the beginning.
  std::optional<double> rate = {};
  std::int64_t initial = 0;
};

// The line that tqdm.format_meter makes: the bar fills what is left of `columns`, or has 10 characters if that is not
// known; 0 leaves the bar out. Without Unicode the bar is made of digits and '#'.
std::string tqdm_line(const TqdmMoment& moment, std::optional<int> columns, bool unicode = true);

// "loss=0.301, accuracy=0.912", as tqdm.set_postfix writes it.
std::string tqdm_postfix(const Metrics& metrics);

class TqdmPrinter;

// The open bars of a terminal, one below the other. Between two calls the cursor is in the row of the first.
class TqdmScreen {
 public:
  // `print` writes on the standard output stream.
  TqdmScreen(ProgressOutput output, Function<void(std::string_view)> print);
  // The screen of the standard error stream.
  static TqdmScreen& standard();

  double seconds() const { return output_.seconds(); }
  bool has_unicode() const { return output_.look.unicode; }
  // The bar is below all others from now on.
  void open(TqdmPrinter& bar);
  // Removes it; with `leave` its last line stays above all others.
  void close(TqdmPrinter& bar, bool leave);
  void draw(TqdmPrinter& bar);
  void write(const std::string& text);

 private:
  // Writes the line into the row of a bar, over one that was that many columns wide; returns the width of the new one.
  int put(std::size_t row, const std::string& line, int old_width, int columns);
  void clear(int columns);
  void draw_all(int columns);
  void redraw(int columns);

  ProgressOutput output_;
  Function<void(std::string_view)> print_;
  std::vector<TqdmPrinter*> bars_;
  // Columns that are written in each row, from the cursor's on.
  std::vector<int> widths_;
};

// Decides when a bar is drawn. It must not move in memory while it is open.
class TqdmPrinter {
 public:
  TqdmPrinter(const TqdmOptions& options, TqdmScreen& screen);
  ~TqdmPrinter() { close(); }
  TqdmPrinter(const TqdmPrinter&) = delete;
  TqdmPrinter& operator=(const TqdmPrinter&) = delete;

  void update(std::int64_t count);
  void set_description(const std::string& text);
  void set_postfix(const std::string& text);
  void write(const std::string& text) { screen_.write(text); }
  void close();
  void restart();

  // The line as it is now, for a terminal of `columns` columns, 0 if there is none.
  std::string line(int columns);

 private:
  // Exponential moving average whose first values are not drawn towards 0.
  struct Average {
    void add(double value);
    double value() const;

    double sum = 0, weight = 0;
  };

  void open();
  void draw();
  void draw_text();

  TqdmOptions options_;
  TqdmScreen& screen_;
  TqdmMoment moment_;
  Average counts_, intervals_;
  double start_ = 0, last_update_ = 0, last_draw_ = 0;
  // The counter at the last update that was drawn.
  std::int64_t last_count_ = 0;
  bool is_open_ = false;
};

}  // namespace pando
