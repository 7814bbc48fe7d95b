#include "report/terminal/progress_bar.h"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "base/notice.h"
#include "base/text.h"
#include "report/terminal/text_width.h"

namespace pando {

namespace {

constexpr int widest_bar = 30, narrowest_bar = 8;
constexpr double draw_interval = 0.05;

std::string remaining_text(double seconds) {
  const std::int64_t whole = static_cast<std::int64_t>(seconds);
  if (seconds > 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole % 3600 / 60, whole % 60);
  if (seconds > 60) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}s", whole);
}

std::string each_text(double seconds, const std::string& unit) {
  if (seconds >= 1 || seconds == 0) return fmt::format("{:.0f}s/{}", seconds, unit);
  if (seconds >= 1e-3) return fmt::format("{:.0f}ms/{}", seconds * 1e3, unit);
  return fmt::format("{:.0f}us/{}", seconds * 1e6, unit);
}

double seconds_each(const ProgressMoment& moment) {
  return moment.current > 0 ? moment.seconds / static_cast<double>(moment.current) : 0.0;
}

std::string metrics_text(const Metrics& metrics) {
  std::string text;
  for (const auto& [name, number] : metrics) {
    const std::string shown = terminal_text(name);
    const double value = without_nan_sign(number);
    text += std::abs(value) > 1e-3 ? fmt::format(" - {}: {:.4f}", shown, value)
                                   : fmt::format(" - {}: {:.4e}", shown, value);
  }
  return text;
}

std::string count_text(const ProgressMoment& moment) {
  if (moment.total <= 0) return fmt::format("{:>7}/Unknown", moment.current);
  const std::string total = fmt::format("{}", moment.total);
  return fmt::format("{:>{}}/{}", moment.current, total.size(), total);
}

// " [====>.....]" with `width` characters inside; the tip is part of what is done.
std::string bar_text(const ProgressMoment& moment, int width) {
  const double part = std::clamp(static_cast<double>(moment.current) / static_cast<double>(moment.total), 0.0, 1.0);
  std::string bar(static_cast<std::size_t>(part * width), '=');
  if (!bar.empty() && moment.current < moment.total) bar.back() = '>';
  bar.resize(static_cast<std::size_t>(width), '.');
  return fmt::format(" [{}]", bar);
}

std::string time_text(const ProgressMoment& moment) {
  const double each = seconds_each(moment);
  if (moment.finished || moment.total <= 0)
    return fmt::format(" - {:.0f}s {}", moment.seconds, each_text(each, moment.unit));
  if (moment.current <= 0) return "";
  const double left = each * static_cast<double>(std::max<std::int64_t>(0, moment.total - moment.current));
  return fmt::format(" - ETA: {}", remaining_text(left));
}

}  // namespace

std::string progress_line(const ProgressMoment& moment, int columns) {
  const std::string front = count_text(moment);
  const std::string back = time_text(moment) + metrics_text(moment.metrics);
  // The last column stays free: some terminals wrap as soon as it is written.
  const int limit = columns > 0 ? columns - 1 : 0;
  int width = moment.total > 0 ? widest_bar : 0;
  if (limit > 0) width = std::min(width, limit - text_width(front) - text_width(back) - 3);
  const std::string line = front + (width >= narrowest_bar ? bar_text(moment, width) : "") + back;
  return limit > 0 && !moment.finished ? cut_to_width(line, limit) : line;
}

std::string epoch_line(const ProgressMoment& moment) {
  return fmt::format("{} - {:.0f}s{} - {} - {}", count_text(moment), moment.seconds, metrics_text(moment.metrics),
                     each_text(moment.seconds, "epoch"), each_text(seconds_each(moment), moment.unit));
}

ProgressPrinter::ProgressPrinter(std::int64_t total, const std::string& unit, ProgressOutput output,
                                 ProgressStyle style)
    : output_(std::move(output)), moment_{.total = total, .unit = unit}, style_(style), start_(output_.seconds()) {}

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
  if (style_ == ProgressStyle::lines) return output_.write(epoch_line(moment_) + "\n");
  const int columns = output_.columns();
  if (columns <= 0) return output_.write(progress_line(moment_, 0) + "\n");
  draw(columns);
  output_.write("\n");
}

void ProgressPrinter::abandon() {
  if (drawn_ > 0 && !moment_.finished) output_.write("\n");
  moment_.finished = true;
}

void ProgressPrinter::draw(int columns) {
  const std::size_t width = static_cast<std::size_t>(columns);
  std::string line = progress_line(moment_, columns);
  // Spaces that overwrite the rest of a longer line.
  const std::size_t taken = static_cast<std::size_t>(text_width(line));
  if (drawn_ < width) line.append(std::max(taken, drawn_) - taken, ' ');
  output_.write((drawn_ < width ? "\r" : back_from_wrapped(width)) + line);
  drawn_ = static_cast<std::size_t>(text_width(line));
}

// A terminal that became narrower has broken the line into rows, and the cursor is in the last. Each is erased by
// itself: erasing the rest of the screen at once makes some terminals remember it as text that scrolled away.
std::string ProgressPrinter::back_from_wrapped(std::size_t width) const {
  std::string back = "\r\x1b[K";
  const std::size_t rows_above = output_.rewraps ? (drawn_ - 1) / width : 0;
  for (std::size_t i = 0; i < rows_above; ++i) back += "\x1b[A\x1b[K";
  return back;
}

namespace {

int terminal_columns(std::FILE* stream) {
  const char* kind = std::getenv("TERM");
  if (isatty(fileno(stream)) == 0 || (kind != nullptr && std::string_view(kind) == "dumb")) return 0;
  winsize size = {};
  const bool known = ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 80;
}

// xterm, GNU screen and the Linux console cut lines off instead; moving up there would overwrite the text above.
bool terminal_rewraps() {
  if (std::getenv("TMUX") != nullptr) return true;
  const char* kind = std::getenv("TERM");
  const bool console = kind != nullptr && std::string_view(kind) == "linux";
  return !console && std::getenv("XTERM_VERSION") == nullptr && std::getenv("STY") == nullptr;
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

ProgressOutput output_to(std::FILE* stream) {
  return {.write = [stream](std::string_view text) { draw(stream, text); },
          .columns = [stream] { return terminal_columns(stream); },
          .seconds = steady_seconds,
          .rewraps = terminal_rewraps()};
}

struct ProgressBar::State {
  ProgressPrinter printer;
  ~State() { printer.abandon(); }
};

ProgressBar::ProgressBar(std::int64_t total, const ProgressOptions& options)
    : state_(new State{ProgressPrinter(total, options.unit, output_to(options.stream), options.style)}) {}
ProgressBar::~ProgressBar() = default;
ProgressBar::ProgressBar(ProgressBar&&) noexcept = default;
ProgressBar& ProgressBar::operator=(ProgressBar&&) noexcept = default;

void ProgressBar::update(std::int64_t current, const Metrics& metrics) { state_->printer.update(current, metrics); }
void ProgressBar::finish() { state_->printer.finish(); }

}  // namespace pando
