// SPDX-License-Identifier: Apache-2.0
#include "io/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.h"

namespace pando {

namespace {

std::string escape(std::uint32_t code) {
  if (code < 0x10000) return fmt::format("\\u{:04x}", code);
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD7C0 + (code >> 10), 0xDC00 + (code & 0x3FF));
}

}  // namespace

void JsonWriter::begin_line() {
  if (new_line_ != same_line) text_.append(1, '\n').append(static_cast<std::size_t>(new_line_), ' ');
  new_line_ = same_line;
}

void JsonWriter::begin_element() {
  if (named_) {
    named_ = false;
    return;
  }
  if (!first_) text_ += layout_.blanks && new_line_ == same_line ? ", " : ",";
  begin_line();
  first_ = false;
}

void JsonWriter::open(char bracket) {
  begin_element();
  text_ += bracket;
  first_ = true;
}

void JsonWriter::close(char bracket) {
  begin_line();
  text_ += bracket;
  first_ = false;
}

void JsonWriter::name(std::string_view name) {
  begin_element();
  write_string(name);
  text_ += layout_.blanks ? ": " : ":";
  named_ = true;
}

void JsonWriter::json(std::string_view text) {
  begin_element();
  text_ += text;
}

void JsonWriter::value(std::string_view value) {
  begin_element();
  write_string(value);
}

void JsonWriter::value(std::int64_t value) {
  const fmt::format_int digits(value);
  json({digits.data(), digits.size()});
}

void JsonWriter::value(std::size_t value) {
  const fmt::format_int digits(value);
  json({digits.data(), digits.size()});
}

void JsonWriter::value(double value) {
  if (!std::isfinite(value)) return null();
  const std::string digits = fmt::format("{}", value);
  // Without a fraction or an exponent it would be read as an integer.
  json(digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits);
}

void JsonWriter::fixed(double value, int digits) {
  if (!std::isfinite(value)) return null();
  json(fmt::format("{:.{}f}", value, digits));
}

void JsonWriter::rounded(double value, int digits) {
  if (!std::isfinite(value)) return null();
  json(fmt::format("{:.{}g}", value, digits));
}

void JsonWriter::write_string(std::string_view value) {
  text_ += '"';
  while (!value.empty()) {
    const Character character = first_character(value);
    const std::string_view bytes = value.substr(0, std::max<std::size_t>(character.length, 1));
    if (character.length == 0) text_ += "\uFFFD";
    else if (bytes == "\"" || bytes == "\\") (text_ += '\\') += bytes;
    else if (bytes == "\n") text_ += "\\n";
    else if (is_control(character.code) || (layout_.in_script && bytes == "<")) text_ += escape(character.code);
    else text_ += bytes;
    value.remove_prefix(bytes.size());
  }
  text_ += '"';
}

}  // namespace pando
