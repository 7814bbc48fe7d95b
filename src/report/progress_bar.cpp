#include "report/progress_bar.h"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

namespace pando {

namespace {

constexpr int widest_bar = 30, narrowest_bar = 8;
constexpr double draw_interval = 0.05;

std::string duration_text(double seconds) {
  const std::int64_t whole = static_cast<std::int64_t>(seconds);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole % 3600 / 60, whole % 60);
  if (whole >= 60) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}s", whole);
}

std::string step_text(double seconds, const std::string& unit) {
  if (seconds >= 1) return fmt::format("{:.0f}s/{}", seconds, unit);
  if (seconds >= 1e-3) return fmt::format("{:.0f}ms/{}", seconds * 1e3, unit);
  return fmt::format("{:.0f}us/{}", seconds * 1e6, unit);
}

std::string metric_text(double value) {
  const bool plain = std::abs(value) > 1e-3 || value == 0 || !std::isfinite(value);
  return plain ? fmt::format("{:.4f}", value) : fmt::format("{:.4e}", value);
}

std::string count_text(const ProgressMoment& moment) {
  if (moment.total <= 0) return fmt::format("{}/Unknown", moment.current);
  const std::string total = fmt::format("{}", moment.total);
  return fmt::format("{:>{}}/{}", moment.current, total.size(), total);
}

// " [=====>....]" with `width` characters inside.
std::string bar_text(const ProgressMoment& moment, int width) {
  const double part = std::clamp(static_cast<double>(moment.current) / static_cast<double>(moment.total), 0.0, 1.0);
  const int done = static_cast<int>(part * width);
  std::string bar(static_cast<std::size_t>(done), '=');
  if (done < width) bar += moment.finished ? '.' : '>';
  bar.resize(static_cast<std::size_t>(width), '.');
  return fmt::format(" [{}]", bar);
}

std::string time_text(const ProgressMoment& moment) {
  const double each = moment.current > 0 ? moment.seconds / static_cast<double>(moment.current) : 0.0;
  if (moment.finished || moment.total <= 0)
    return fmt::format(" - {} {}", duration_text(moment.seconds), step_text(each, moment.unit));
  if (moment.current <= 0) return "";
  const double left = each * static_cast<double>(std::max<std::int64_t>(0, moment.total - moment.current));
  return fmt::format(" - ETA: {}", duration_text(left));
}

}  // namespace

std::string progress_line(const ProgressMoment& moment, int columns) {
  const std::string front = count_text(moment);
  std::string back = time_text(moment);
  for (const auto& [name, value] : moment.metrics) back += fmt::format(" - {}: {}", name, metric_text(value));
  // The last column stays free: some terminals wrap as soon as it is written.
  const int limit = columns > 0 ? columns - 1 : 0;
  int width = moment.total > 0 ? widest_bar : 0;
  if (limit > 0) width = std::min(width, limit - static_cast<int>(front.size() + back.size()) - 3);
  std::string line = front + (width >= narrowest_bar ? bar_text(moment, width) : "") + back;
  if (limit > 0 && !moment.finished) line.resize(std::min(line.size(), static_cast<std::size_t>(limit)));
  return line;
}

ProgressPrinter::ProgressPrinter(std::int64_t total, const std::string& unit, ProgressOutput output)
    : output_(std::move(output)), moment_{.total = total, .unit = unit}, start_(output_.seconds()) {}

void ProgressPrinter::update(std::int64_t current, const Metrics& metrics) {
  if (moment_.finished) return;
  moment_.current = current;
  moment_.metrics = metrics;
  moment_.seconds = output_.seconds() - start_;
  if (moment_.seconds < next_draw_) return;
  next_draw_ = moment_.seconds + draw_interval;
  if (const int columns = output_.columns(); columns > 0) draw(columns);
}

void ProgressPrinter::finish() {
  if (moment_.finished) return;
  moment_.finished = true;
  moment_.seconds = output_.seconds() - start_;
  if (const int columns = output_.columns(); columns > 0) draw(columns);
  else output_.write(progress_line(moment_, 0));
  output_.write("\n");
}

void ProgressPrinter::abandon() {
  if (drawn_ > 0 && !moment_.finished) output_.write("\n");
  moment_.finished = true;
}

void ProgressPrinter::draw(int columns) {
  std::string line = progress_line(moment_, columns);
  const std::size_t length = line.size();
  // Blanks over what is left of a longer line.
  const std::size_t covered = std::min(drawn_, static_cast<std::size_t>(columns - 1));
  if (length < covered) line.append(covered - length, ' ');
  output_.write("\r" + line);
  drawn_ = length;
}

namespace {

int terminal_columns(std::FILE* stream) {
  const char* kind = std::getenv("TERM");
  if (isatty(fileno(stream)) == 0 || (kind != nullptr && std::string_view(kind) == "dumb")) return 0;
  winsize size = {};
  const bool known = ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 80;
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ProgressOutput output_to(std::FILE* stream) {
  return {.write =
              [stream](std::string_view text) {
                std::fwrite(text.data(), 1, text.size(), stream);
                std::fflush(stream);
              },
          .columns = [stream] { return terminal_columns(stream); },
          .seconds = steady_seconds};
}

}  // namespace

struct ProgressBar::State {
  ProgressPrinter printer;
  ~State() { printer.abandon(); }
};

ProgressBar::ProgressBar(std::int64_t total, const ProgressOptions& options)
    : state_(new State{ProgressPrinter(total, options.unit, output_to(options.stream))}) {}
ProgressBar::~ProgressBar() = default;
ProgressBar::ProgressBar(ProgressBar&&) noexcept = default;
ProgressBar& ProgressBar::operator=(ProgressBar&&) noexcept = default;

void ProgressBar::update(std::int64_t current, const Metrics& metrics) { state_->printer.update(current, metrics); }
void ProgressBar::finish() { state_->printer.finish(); }

}  // namespace pando
