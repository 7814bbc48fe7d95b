// SPDX-License-Identifier: Apache-2.0
#include "report/terminal/progress_bar.h"

#include <algorithm>
#include <chrono>

#include "base/notice.h"

namespace pando {

namespace {

constexpr double draw_interval = 0.05;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

ProgressPrinter::ProgressPrinter(const ProgressCount& count, ProgressOutput output, ProgressStyle style)
    : output_(std::move(output)),
      moment_{.current = count.initial, .total = count.total, .initial = count.initial, .unit = count.unit},
      style_(style),
      start_(output_.seconds()) {}

void ProgressPrinter::update(std::int64_t current, const Metrics& metrics) {
  if (moment_.finished) return;
  moment_.current = current;
  moment_.metrics = metrics;
  moment_.seconds = output_.seconds() - start_;
  if (style_ != ProgressStyle::bar || moment_.seconds < next_draw_) return;
  next_draw_ = moment_.seconds + draw_interval;
  if (const int columns = output_.columns(); columns > 0) draw(columns);
}

void ProgressPrinter::finish() {
  if (moment_.finished) return;
  moment_.finished = true;
  moment_.seconds = output_.seconds() - start_;
  if (moment_.total <= 0) moment_.total = moment_.current;
  if (style_ == ProgressStyle::silent) return;
  if (style_ == ProgressStyle::lines) return output_.write(epoch_line(moment_, output_.look) + "\n");
  const int columns = output_.columns();
  if (columns <= 0) return output_.write(progress_line(moment_, output_.look) + "\n");
  draw(columns);
  output_.write("\n");
}

void ProgressPrinter::abandon() {
  if (!drawn_.empty() && !moment_.finished) output_.write("\n");
  moment_.finished = true;
}

void ProgressPrinter::draw(int columns) {
  // A total that was not known becomes known at the end.
  if (columns != columns_ || bar_ == 0) bar_ = bar_width(moment_, columns, output_.look);
  columns_ = columns;
  const std::vector<ScreenRow> rows = progress_rows(moment_, columns, bar_, output_.look);
  std::string text = back_to_first_row(columns, rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // Blanks overwrite the rest of a longer row.
    const int before = i < drawn_.size() && drawn_[i] < columns ? drawn_[i] : 0;
    text += (i == 0 ? "" : "\n") + rows[i].text +
            std::string(static_cast<std::size_t>(std::max(0, before - rows[i].width)), ' ');
  }
  output_.write(text);
  drawn_.clear();
  for (const ScreenRow& row : rows) drawn_.push_back(row.width);
}

// A terminal that became narrower has broken the rows into several. These are erased, and so are rows that are not
// drawn again; each by itself: erasing the rest of the screen at once makes some terminals remember it as text that
// scrolled away.
std::string ProgressPrinter::back_to_first_row(int columns, std::size_t rows) const {
  const bool is_wrapped = std::any_of(drawn_.begin(), drawn_.end(), [&](int width) { return width >= columns; });
  const std::string erase = is_wrapped || drawn_.size() > rows ? "\x1b[K" : "";
  int lines = 0;
  for (const int width : drawn_) lines += output_.rewraps ? std::max(0, width - 1) / columns + 1 : 1;
  std::string back = "\r" + erase;
  for (int i = 1; i < lines; ++i) back += "\x1b[A" + erase;
  return back;
}

ProgressOutput output_to(std::FILE* stream) {
  return {.write = [stream](std::string_view text) { draw(stream, text); },
          .columns = [stream] { return terminal_columns(stream); },
          .seconds = steady_seconds,
          .rewraps = terminal_rewraps(),
          .look = terminal_look(stream)};
}

namespace {

// A silent bar asks nothing of its stream, whose answers may take long, as those of a notebook do.
ProgressOutput output_for(const ProgressOptions& options) {
  if (options.style != ProgressStyle::silent) return output_to(options.stream);
  ProgressOutput output;
  output.seconds = steady_seconds;
  return output;
}

}  // namespace

struct ProgressBar::State {
  ProgressPrinter printer;
  ~State() { printer.abandon(); }
};

ProgressBar::ProgressBar(std::int64_t total, const ProgressOptions& options)
    : state_(new State{ProgressPrinter({.total = total, .unit = options.unit, .initial = options.initial},
                                       output_for(options), options.style)}) {}
ProgressBar::~ProgressBar() = default;
ProgressBar::ProgressBar(ProgressBar&&) noexcept = default;
ProgressBar& ProgressBar::operator=(ProgressBar&&) noexcept = default;

void ProgressBar::update(std::int64_t current, const Metrics& metrics) { state_->printer.update(current, metrics); }
void ProgressBar::finish() { state_->printer.finish(); }

}  // namespace pando
