// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/suggestion.h"
#include "base/utf8.h"

namespace pando {

namespace {

void append_escaped(std::string& shown, char32_t code) {
  if (code == '\n') shown += "\\n";
  else if (code == '\r') shown += "\\r";
  else if (code == '\t') shown += "\\t";
  else if (code < 0x100) shown += fmt::format("\\x{:02x}", static_cast<std::uint32_t>(code));
  else if (code < 0x10000) shown += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
  else shown += fmt::format("\\U{:08x}", static_cast<std::uint32_t>(code));
}

std::string escaped_controls(std::string_view text, std::string_view kept) {
  std::string shown;
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::size_t length = std::max<std::size_t>(character.length, 1);
    if (character.length == 0) append_escaped(shown, static_cast<unsigned char>(text.front()));
    else if (!is_control(character.code) || kept.find(text.front()) != kept.npos) shown += text.substr(0, length);
    else append_escaped(shown, character.code);
    text.remove_prefix(length);
  }
  return shown;
}

}  // namespace

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

double without_nan_sign(double value) { return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value; }

std::string float_text(double value) {
  const std::string text = fmt::format("{}", without_nan_sign(value));
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

std::string terminal_text(std::string_view text) { return escaped_controls(text, ""); }
std::string terminal_lines(std::string_view text) { return escaped_controls(text, "\n\t"); }

std::string unknown_name(std::string_view kind, std::string_view given, const std::vector<std::string>& known) {
  const std::string suggested = suggestion(given, known);
  return fmt::format("unknown {} '{}'; {}", kind, given,
                     suggested.empty() ? fmt::format("known are: {}", join(known, ", ")) : suggested);
}

}  // namespace pando
