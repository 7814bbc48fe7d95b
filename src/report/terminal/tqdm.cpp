// SPDX-License-Identifier: Apache-2.0
#include "report/terminal/tqdm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/terminal/text_width.h"

namespace pando {

namespace {

constexpr std::string_view colon = ": ";

std::string interval_text(double seconds) {
  const std::int64_t whole = static_cast<std::int64_t>(seconds), hours = whole / 3600;
  const std::string rest = fmt::format("{:02}:{:02}", whole % 3600 / 60, whole % 60);
  return hours > 0 ? fmt::format("{}:{}", hours, rest) : rest;
}

std::string rate_text(double rate, const std::string& unit) {
  if (rate == 0) return "?" + unit + "/s";
  return 1 / rate > 1 ? fmt::format("{:5.2f}s/{}", 1 / rate, unit) : fmt::format("{:5.2f}{}/s", rate, unit);
}

// `width` characters, the last one of those that are done in eighths, or in tenths without Unicode.
std::string bar_text(double part, int width, bool unicode) {
  static const std::vector<std::string> eighths = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
  static const std::vector<std::string> tenths = {" ", "1", "2", "3", "4", "5", "6", "7", "8", "9", "#"};
  const std::vector<std::string>& parts = unicode ? eighths : tenths;
  const int whole = static_cast<int>(parts.size()) - 1, done = static_cast<int>(part * width * whole);
  std::string bar;
  for (int i = 0; i < width; ++i) bar += parts[static_cast<std::size_t>(std::clamp(done - i * whole, 0, whole))];
  return bar;
}

// Three digits, unless the full number is not longer.
std::string number_text(double value) {
  std::string text = fmt::format("{:.3g}", value);
  for (const char* exponent : {"e+0", "e-0"})
    if (const std::size_t at = text.find(exponent); at != std::string::npos) text.erase(at + 2, 1);
  const std::string shortest = float_text(value);
  return text.size() < shortest.size() ? text : shortest;
}

}  // namespace

std::string tqdm_line(const TqdmMoment& moment, std::optional<int> columns, bool unicode) {
  const bool is_known = moment.total.value_or(0) > 0 && moment.current <= *moment.total;
  const double counted = static_cast<double>(moment.current - moment.initial);
  const double rate = moment.rate ? *moment.rate : moment.seconds > 0 ? counted / moment.seconds : 0;
  const std::string speed =
      rate_text(rate, moment.unit) + (moment.postfix.empty() ? "" : ", " + terminal_text(moment.postfix));
  const std::string elapsed = interval_text(moment.seconds);
  std::string front = terminal_text(moment.description);
  if (!front.empty()) front += colon;
  if (!is_known) {
    const std::string line = fmt::format("{}{}{} [{}, {}]", front, moment.current, moment.unit, elapsed, speed);
    return columns.value_or(0) > 0 ? cut_to_width(line, *columns) : line;
  }
  const double total = static_cast<double>(*moment.total), current = static_cast<double>(moment.current);
  const std::string left = rate == 0 ? "?" : interval_text((total - current) / rate);
  front += fmt::format("{:3.0f}%", current / total * 100);
  const std::string back = fmt::format(" {}/{} [{}<{}, {}]", moment.current, *moment.total, elapsed, left, speed);
  if (columns && *columns <= 0) return front + back;
  const int width = columns ? std::max(1, *columns - text_width(front) - text_width(back) - 2) : 10;
  const std::string line = front + "|" + bar_text(current / total, width, unicode) + "|" + back;
  return columns ? cut_to_width(line, *columns) : line;
}

std::string tqdm_postfix(const Metrics& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics) text += (text.empty() ? "" : ", ") + name + "=" + number_text(value);
  return text;
}

TqdmScreen::TqdmScreen(ProgressOutput output, Function<void(std::string_view)> print)
    : output_(std::move(output)), print_(std::move(print)) {}

TqdmScreen& TqdmScreen::standard() {
  static TqdmScreen screen(output_to(stderr), output_to(stdout).write);
  return screen;
}

void TqdmScreen::open(TqdmPrinter& bar) {
  bars_.push_back(&bar);
  draw(bar);
}

void TqdmScreen::close(TqdmPrinter& bar, bool leave) {
  const int columns = output_.columns();
  std::erase(bars_, &bar);
  if (columns <= 0) {
    if (leave) output_.write(bar.line(0) + "\n");
    return;
  }
  if (leave) {
    put(0, bar.line(columns), widths_.empty() ? 0 : widths_.front(), columns);
    output_.write("\n");
    if (!widths_.empty()) widths_.erase(widths_.begin());
  }
  draw_all(columns);
}

void TqdmScreen::draw(TqdmPrinter& bar) {
  const int columns = output_.columns();
  if (columns <= 0) return;
  if (std::any_of(widths_.begin(), widths_.end(), [&](int width) { return width > columns; })) return redraw(columns);
  const std::size_t row = static_cast<std::size_t>(std::find(bars_.begin(), bars_.end(), &bar) - bars_.begin());
  if (row >= widths_.size()) widths_.resize(row + 1, 0);
  widths_[row] = put(row, bar.line(columns), widths_[row], columns);
}

void TqdmScreen::write(const std::string& text) {
  const int columns = output_.columns();
  if (columns > 0) clear(columns);
  print_(text + "\n");
  if (columns > 0) draw_all(columns);
}

int TqdmScreen::put(std::size_t row, const std::string& line, int old_width, int columns) {
  const int width = text_width(line);
  std::string text;
  for (std::size_t i = 0; i < row; ++i) text += '\n';
  text += '\r' + line + std::string(static_cast<std::size_t>(std::max(0, std::min(old_width, columns) - width)), ' ');
  if (width == 0) text += '\r';
  for (std::size_t i = 0; i < row; ++i) text += "\x1b[A";
  output_.write(text);
  return width;
}

void TqdmScreen::clear(int columns) {
  for (std::size_t row = widths_.size(); row-- > 0;) put(row, "", widths_[row], columns);
  widths_.clear();
}

void TqdmScreen::draw_all(int columns) {
  for (std::size_t row = bars_.size(); row < widths_.size(); ++row) put(row, "", widths_[row], columns);
  widths_.resize(std::min(widths_.size(), bars_.size()));
  for (TqdmPrinter* bar : bars_) draw(*bar);
}

// The terminal has become narrower: if it has broken the lines into rows, the cursor stands in the last of the first.
void TqdmScreen::redraw(int columns) {
  std::string text = "\r";
  const int rows_above = output_.rewraps ? (widths_.front() - 1) / columns : 0;
  for (int i = 0; i < rows_above; ++i) text += "\x1b[A";
  output_.write(text + "\x1b[J");
  widths_.clear();
  draw_all(columns);
}

void TqdmPrinter::Average::add(double value) {
  constexpr double smoothing = 0.3;
  sum = smoothing * value + (1 - smoothing) * sum;
  weight = smoothing + (1 - smoothing) * weight;
}

double TqdmPrinter::Average::value() const { return weight > 0 ? sum / weight : 0; }

TqdmPrinter::TqdmPrinter(const TqdmOptions& options, TqdmScreen& screen)
    : options_(options),
      screen_(screen),
      moment_{.total = options.total, .description = options.desc, .unit = options.unit, .initial = options.initial} {
  // Python programs often write "Epochs: ".
  if (moment_.description.ends_with(colon)) moment_.description.resize(moment_.description.size() - colon.size());
  open();
}

void TqdmPrinter::open() {
  moment_.current = last_count_ = options_.initial;
  counts_ = intervals_ = {};
  if (options_.disable) return;
  is_open_ = true;
  start_ = last_update_ = last_draw_ = screen_.seconds();
  screen_.open(*this);
}

void TqdmPrinter::restart() {
  if (is_open_ && moment_.current == options_.initial) return;
  if (!is_open_) return open();
  moment_.current = last_count_ = options_.initial;
  counts_ = intervals_ = {};
  start_ = last_update_ = screen_.seconds();
  draw();
}

void TqdmPrinter::update(std::int64_t count) {
  moment_.current += count;
  if (!is_open_) return;
  const double now = screen_.seconds(), interval = now - last_update_;
  if (interval < options_.mininterval) return;
  if (interval > 0 && moment_.current != last_count_) {
    counts_.add(static_cast<double>(moment_.current - last_count_));
    intervals_.add(interval);
  }
  last_count_ = moment_.current;
  last_update_ = now;
  draw();
}

void TqdmPrinter::draw() {
  last_draw_ = screen_.seconds();
  screen_.draw(*this);
}

void TqdmPrinter::draw_text() {
  if (is_open_ && screen_.seconds() - last_draw_ >= options_.mininterval) draw();
}

void TqdmPrinter::set_description(const std::string& text) {
  moment_.description = text;
  draw_text();
}

void TqdmPrinter::set_postfix(const std::string& text) {
  moment_.postfix = text;
  draw_text();
}

void TqdmPrinter::close() {
  if (!is_open_) return;
  is_open_ = false;
  screen_.close(*this, options_.leave);
}

std::string TqdmPrinter::line(int columns) {
  moment_.seconds = screen_.seconds() - start_;
  // The last line has the average of the whole loop.
  moment_.rate = {};
  if (is_open_ && intervals_.value() > 0) moment_.rate = counts_.value() / intervals_.value();
  if (options_.ncols && columns > 0 && *options_.ncols <= 0) return cut_to_width(tqdm_line(moment_, 0), columns);
  std::optional<int> width = options_.ncols;
  if (columns > 0) width = std::min(width.value_or(columns), columns);
  return tqdm_line(moment_, width, screen_.has_unicode());
}

struct TqdmBar::State {
  TqdmPrinter printer;
};

TqdmBar::TqdmBar(const TqdmOptions& options) : state_(new State{TqdmPrinter(options, TqdmScreen::standard())}) {}
TqdmBar::~TqdmBar() = default;
TqdmBar::TqdmBar(TqdmBar&&) noexcept = default;
TqdmBar& TqdmBar::operator=(TqdmBar&&) noexcept = default;

void TqdmBar::update(std::int64_t count) { state_->printer.update(count); }
void TqdmBar::set_description(const std::string& text) { state_->printer.set_description(text); }
void TqdmBar::set_postfix(const Metrics& metrics) { state_->printer.set_postfix(tqdm_postfix(metrics)); }
void TqdmBar::set_postfix(const std::string& text) { state_->printer.set_postfix(text); }
void TqdmBar::write(const std::string& text) { state_->printer.write(text); }
void TqdmBar::close() { state_->printer.close(); }
void TqdmBar::restart() { state_->printer.restart(); }

}  // namespace pando
