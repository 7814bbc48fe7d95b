// SPDX-License-Identifier: Apache-2.0
#include "report/terminal/progress_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/terminal/text_width.h"

namespace pando {

namespace {

constexpr int narrowest_bar_beside_metrics = 10, narrowest_bar = 5;
// " 59:59 999ms/step" or " - 59s 999ms/step": times grow and shrink, and the bar must not.
constexpr int room_for_times = 17;
constexpr std::string_view separator = " - ", bold = "1", green = "32", white = "37";

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
  const std::int64_t counted = moment.current - moment.initial;
  return counted > 0 ? moment.seconds / static_cast<double>(counted) : 0.0;
}

// "loss: 0.3012" for each.
std::vector<std::string> metric_texts(const Metrics& metrics) {
  std::vector<std::string> texts;
  for (const auto& [name, number] : metrics) {
    const double value = without_nan_sign(number);
    texts.push_back(std::abs(value) > 1e-3 ? fmt::format("{}: {:.4f}", terminal_text(name), value)
                                           : fmt::format("{}: {:.4e}", terminal_text(name), value));
  }
  return texts;
}

std::string metrics_text(const Metrics& metrics) {
  std::string text;
  for (const std::string& metric : metric_texts(metrics)) text += std::string(separator) + metric;
  return text;
}

std::string count_text(const ProgressMoment& moment) {
  if (moment.total <= 0) return fmt::format("{:>7}/Unknown", moment.current);
  const std::string total = fmt::format("{}", moment.total);
  return fmt::format("{:>{}}/{}", moment.current, total.size(), total);
}

int done_of(const ProgressMoment& moment, int width) {
  const double part = std::clamp(static_cast<double>(moment.current) / static_cast<double>(moment.total), 0.0, 1.0);
  return static_cast<int>(part * width);
}

std::string repeated(int count, std::string_view text) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

bool shows_remaining(const ProgressMoment& moment) { return !moment.finished && moment.total > 0; }

std::string remaining_of(const ProgressMoment& moment) {
  return remaining_text(seconds_each(moment) *
                        static_cast<double>(std::max<std::int64_t>(0, moment.total - moment.current)));
}

// "[====>.....]"; the tip is part of what is done.
std::string bar_of_keras_2(const ProgressMoment& moment, int width) {
  std::string bar(static_cast<std::size_t>(done_of(moment, width)), '=');
  if (!bar.empty() && moment.current < moment.total) bar.back() = '>';
  bar.resize(static_cast<std::size_t>(width), '.');
  return fmt::format("[{}]", bar);
}

// A heavy line, green as far as it is done. Without colours the rest is a thin line.
std::string bar_of_keras_3(const ProgressMoment& moment, int width, const TerminalLook& look) {
  const int done = done_of(moment, width);
  const std::string_view rest = !look.unicode ? "." : look.color ? "━" : "─";
  return styled(look, green, repeated(done, look.unicode ? "━" : "=")) +
         styled(look, white, repeated(width - done, rest));
}

// Count, bar and times.
ScreenRow front_of_keras_2(const ProgressMoment& moment, int bar) {
  std::string text = count_text(moment);
  if (bar > 0) text += " " + bar_of_keras_2(moment, bar);
  if (!shows_remaining(moment))
    text += fmt::format(" - {:.0f}s {}", moment.seconds, each_text(seconds_each(moment), moment.unit));
  else if (moment.current > moment.initial) text += " - ETA: " + remaining_of(moment);
  return {text, text_width(text)};
}

ScreenRow front_of_keras_3(const ProgressMoment& moment, int bar, const TerminalLook& look) {
  const std::string count = count_text(moment), each = each_text(seconds_each(moment), moment.unit);
  const std::string time = shows_remaining(moment) ? remaining_of(moment) : fmt::format("{:.0f}s", moment.seconds);
  const std::string drawn = bar > 0 ? bar_of_keras_3(moment, bar, look) + " " : "";
  return {fmt::format("{} {}{} {}", styled(look, bold, count), drawn, styled(look, bold, time), each),
          text_width(count) + 1 + (bar > 0 ? bar + 1 : 0) + text_width(time) + 1 + text_width(each)};
}

ScreenRow front_of(const ProgressMoment& moment, int bar, const TerminalLook& look) {
  return look.look == Look::keras_2 ? front_of_keras_2(moment, bar) : front_of_keras_3(moment, bar, look);
}

int widest_bar(const TerminalLook& look) { return look.look == Look::keras_2 ? 30 : 20; }

}  // namespace

std::string progress_line(const ProgressMoment& moment, const TerminalLook& look) {
  return front_of(moment, moment.total > 0 ? widest_bar(look) : 0, look).text + metrics_text(moment.metrics);
}

std::string epoch_line(const ProgressMoment& moment, const TerminalLook& look) {
  const std::string front = fmt::format("{} - {:.0f}s", count_text(moment), moment.seconds);
  const std::string metrics = metrics_text(moment.metrics), each = each_text(seconds_each(moment), moment.unit);
  return look.look == Look::keras_2
             ? fmt::format("{}{} - {} - {}", front, metrics, each_text(moment.seconds, "epoch"), each)
             : fmt::format("{} - {}{}", front, each, metrics);
}

int bar_width(const ProgressMoment& moment, int columns, const TerminalLook& look) {
  if (moment.total <= 0) return 0;
  const int around = look.look == Look::keras_2 ? 3 : 1;
  const int room = columns - 1 - text_width(count_text(moment)) - around - room_for_times;
  const int beside_metrics = room - text_width(metrics_text(moment.metrics));
  if (beside_metrics >= narrowest_bar_beside_metrics) return std::min(widest_bar(look), beside_metrics);
  return room >= narrowest_bar ? std::min(widest_bar(look), room) : 0;
}

std::vector<ScreenRow> progress_rows(const ProgressMoment& moment, int columns, int bar, const TerminalLook& look) {
  // The last column stays free: some terminals wrap as soon as it is written.
  const int limit = columns - 1;
  std::vector<ScreenRow> rows = {front_of(moment, bar, look)};
  const int indent = text_width(count_text(moment)) + 1;
  for (const std::string& metric : metric_texts(moment.metrics)) {
    const int width = text_width(metric);
    if (rows.back().width + static_cast<int>(separator.size()) + width <= limit) {
      rows.back().text += std::string(separator) + metric;
      rows.back().width += static_cast<int>(separator.size()) + width;
      continue;
    }
    const int blanks = std::clamp(limit - width, 0, indent);
    rows.push_back({std::string(static_cast<std::size_t>(blanks), ' ') + metric, blanks + width});
  }
  for (ScreenRow& row : rows) {
    if (moment.finished || row.width <= limit) continue;
    // Styled text, which is only in the first row, would lose its end.
    if (&row == &rows.front()) row.text = front_of(moment, bar, {.look = look.look, .unicode = look.unicode}).text;
    row.text = cut_to_width(row.text, limit);
    row.width = text_width(row.text);
  }
  return rows;
}

}  // namespace pando
