// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/files/log_path.h"

#include <pando/base/error.h>

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/text.h"

namespace pando::keras {

namespace {

constexpr const char* epoch_name = "epoch";

// The parts of "08.3f"; the type is 0 if there is none.
struct NumberFormat {
  std::string sign, width, precision;
  char type = 0;
};

std::string take_digits(std::string_view& rest) {
  std::string digits;
  for (; !rest.empty() && ascii::is_digit(rest[0]); rest.remove_prefix(1)) digits += rest[0];
  return digits;
}

// False if it is not a format of numbers.
bool parse(std::string_view rest, NumberFormat& format) {
  if (!rest.empty() && (rest[0] == '+' || rest[0] == '-' || rest[0] == ' ')) {
    format.sign = rest[0];
    rest.remove_prefix(1);
  }
  format.width = take_digits(rest);
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    format.precision = take_digits(rest);
    if (format.precision.empty()) return false;
  }
  if (!rest.empty()) {
    format.type = rest[0];
    rest.remove_prefix(1);
  }
  // A file name of 1,000 digits is a mistake.
  return rest.empty() && format.width.size() < 4 && format.precision.size() < 3;
}

bool is_for_fractions(char type) { return std::string_view("eEfFgG%").find(type) != std::string_view::npos; }

// Whether the epoch, a whole number, or a log can have this format.
bool fits(const NumberFormat& format, bool is_epoch) {
  if (format.type != 0 && is_for_fractions(format.type)) return true;
  if (is_epoch) return (format.type == 0 || format.type == 'd') && format.precision.empty();
  return format.type == 0;
}

template <class Number>
std::string formatted(const NumberFormat& format, Number number, const std::string& type) {
  const std::string precision = format.precision.empty() ? "" : "." + format.precision;
  return fmt::format(fmt::runtime("{:" + format.sign + format.width + precision + type + "}"), number);
}

std::string number_text(const std::string& text, bool is_epoch, double number) {
  NumberFormat format;
  parse(text, format);
  if (text.empty() && !is_epoch) return float_text(number);
  if (is_epoch && (format.type == 0 || format.type == 'd'))
    return formatted(format, static_cast<std::int64_t>(number), "d");
  if (format.type == '%') return formatted(format, 100 * number, "f") + "%";
  return formatted(format, number, format.type == 0 ? "" : std::string(1, format.type));
}

}  // namespace

LogPath::LogPath(const std::string& who, const std::string& text) : who_(who), parts_(1) {
  const auto fail = [&](const std::string& problem) {
    throw Error(
        fmt::format("{}: {} in the path '{}'; a field is {{epoch}} or {{val_loss:.3f}}, and {{{{ or }}}} stands "
                    "for a brace",
                    who, problem, text));
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool opens = text[at] == '{', closes = text[at] == '}';
    if ((opens || closes) && at + 1 < text.size() && text[at + 1] == text[at]) ++at;
    else if (closes) fail("a } closes nothing");
    else if (opens) {
      const std::size_t end = text.find('}', at);
      if (end == std::string::npos) fail("a { is not closed");
      const std::string field = text.substr(at + 1, end - at - 1);
      const std::size_t colon = std::min(field.find(':'), field.size());
      Part& part = parts_.back();
      part.name = field.substr(0, colon);
      if (colon < field.size()) part.format = field.substr(colon + 1);
      if (part.name.empty()) fail(fmt::format("the field {{{}}} has no name", field));
      if (NumberFormat format; !parse(part.format, format) || !fits(format, part.name == epoch_name))
        fail(fmt::format("'{}' of the field {{{}}} is not a format of {}", part.format, field,
                         part.name == epoch_name ? "whole numbers" : "numbers"));
      parts_.emplace_back();
      at = end;
      continue;
    }
    parts_.back().text += text[at];
  }
}

std::vector<std::string> LogPath::logs() const {
  std::vector<std::string> names;
  for (const Part& part : parts_)
    if (!part.name.empty() && part.name != epoch_name) names.push_back(part.name);
  return names;
}

std::string LogPath::filled(std::int64_t epoch, const Logs& logs) const {
  std::string path;
  for (const Part& part : parts_) {
    path += part.text;
    if (part.name.empty()) continue;
    const bool is_epoch = part.name == epoch_name;
    path += number_text(part.format, is_epoch, is_epoch ? static_cast<double>(epoch) : logs[part.name]);
  }
  return path;
}

}  // namespace pando::keras
