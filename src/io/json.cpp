// SPDX-License-Identifier: Apache-2.0
#include "io/json.h"

#include <pando/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "io/json_writer.h"

namespace pando {

namespace {

constexpr int max_depth = 128;
// A value takes up to a hundred bytes of memory, but may take only two in a text.
constexpr std::int64_t most_values = 1 << 21;

// The first number that is too large for an integer.
constexpr double integer_limit = 9223372036854775808.0;

// The words for numbers that are not finite, in Python's JSON and in strings that exact() makes.
struct SpecialNumber {
  std::string_view word;
  double value;
};
constexpr SpecialNumber special_numbers[] = {{"NaN", std::numeric_limits<double>::quiet_NaN()},
                                             {"Infinity", std::numeric_limits<double>::infinity()},
                                             {"-Infinity", -std::numeric_limits<double>::infinity()}};

class Reader {
 public:
  Reader(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  Json read() {
    Json value = read_value(0);
    skip_space();
    if (at_ < text_.size()) fail("there is more text after the value");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t start = before.rfind('\n');
    const std::size_t column = start == std::string_view::npos ? at_ + 1 : at_ - start;
    throw Error(fmt::format("{} is not JSON: line {}, column {}: {}", what_, line, column, reason));
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Json read_value(int depth) {
    if (depth > max_depth) fail(fmt::format("it is nested more than {} deep", max_depth));
    if (++values_ > most_values) fail(fmt::format("it has more than {} values", most_values));
    skip_space();
    if (at_ == text_.size()) fail("the text ends where a value should be");
    if (take("{")) return read_object(depth);
    if (take("[")) return read_list(depth);
    if (take("\"")) return read_string();
    if (take("true")) return true;
    if (take("false")) return false;
    if (take("null")) return {};
    for (const SpecialNumber& special : special_numbers)
      if (take(special.word)) return special.value;
    return read_number();
  }

  Json read_object(int depth) {
    Json::Object members;
    std::set<std::string> names;
    skip_space();
    if (take("}")) return members;
    do {
      skip_space();
      if (!take("\"")) fail("the name of a member, in quotation marks, is missing");
      std::string name = read_string();
      if (!names.insert(name).second) fail(fmt::format("the member '{}' appears twice", name));
      skip_space();
      if (!take(":")) fail("a colon is missing");
      members.emplace_back(std::move(name), read_value(depth + 1));
      skip_space();
    } while (take(","));
    if (!take("}")) fail("a comma or } is missing");
    return members;
  }

  Json read_list(int depth) {
    Json::List values;
    skip_space();
    if (take("]")) return values;
    do {
      values.push_back(read_value(depth + 1));
      skip_space();
    } while (take(","));
    if (!take("]")) fail("a comma or ] is missing");
    return values;
  }

  std::string read_string() {
    std::string value;
    for (;;) {
      if (at_ == text_.size()) fail("the text ends within a string");
      const char c = text_[at_++];
      if (c == '"') return value;
      if (static_cast<unsigned char>(c) < 0x20) fail("a string has a control character");
      if (c == '\\') read_escape(value);
      else value += c;
    }
  }

  void read_escape(std::string& value) {
    if (at_ == text_.size()) fail("the text ends within a string");
    const char c = text_[at_++];
    constexpr std::string_view names = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    if (const std::size_t i = names.find(c); i != std::string_view::npos) value += meanings[i];
    else if (c == 'u') append_utf8(value, read_code_point());
    else fail("a string has an unknown escape");
  }

  std::uint32_t read_code_point() {
    const std::uint32_t first = read_hex();
    if (first < 0xD800 || first > 0xDFFF) return first;
    if (first > 0xDBFF || !take("\\u")) fail("a string has half a surrogate pair");
    const std::uint32_t second = read_hex();
    if (second < 0xDC00 || second > 0xDFFF) fail("a string has half a surrogate pair");
    return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
  }

  std::uint32_t read_hex() {
    std::uint32_t value = 0;
    const std::string_view digits = text_.substr(at_, 4);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc() || end != digits.data() + 4) fail("a \\u needs four hexadecimal digits");
    at_ += 4;
    return value;
  }

  static void append_utf8(std::string& text, std::uint32_t code) {
    const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
    if (code < 0x80) return put(code);
    if (code < 0x800) {
      put(0xC0 | code >> 6);
    } else {
      if (code < 0x10000) {
        put(0xE0 | code >> 12);
      } else {
        put(0xF0 | code >> 18);
        put(0x80 | (code >> 12 & 0x3F));
      }
      put(0x80 | (code >> 6 & 0x3F));
    }
    put(0x80 | (code & 0x3F));
  }

  // -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
  Json read_number() {
    const std::size_t start = at_;
    take("-");
    if (!take("0") && !take_digits()) fail("there is no value here");
    bool whole = true;
    if (take(".")) {
      whole = false;
      if (!take_digits()) fail("a number needs digits after its point");
    }
    if (take("e") || take("E")) {
      whole = false;
      if (!take("+")) take("-");
      if (!take_digits()) fail("a number needs digits in its exponent");
    }
    const char *first = text_.data() + start, *last = text_.data() + at_;
    std::int64_t integer = 0;
    if (whole && std::from_chars(first, last, integer).ec == std::errc()) return integer;
    double value = 0;
    if (std::from_chars(first, last, value).ec != std::errc()) {
      at_ = start;
      fail("a number is too large or too small");
    }
    return value;
  }

  bool take_digits() {
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ > start;
  }

  std::string_view text_, what_;
  std::size_t at_ = 0;
  std::int64_t values_ = 0;
};

[[noreturn]] void fail_kind(const Json& value, std::string_view what, std::string_view wanted) {
  const char* kind = value.is_null()      ? "null"
                     : value.is_bool()    ? "a boolean"
                     : value.is_integer() ? "an integer"
                     : value.is_number()  ? "a number"
                     : value.is_string()  ? "a string"
                     : value.is_list()    ? "a list"
                                          : "an object";
  throw Error(fmt::format("{} is {} but should be {}", what, kind, wanted));
}

}  // namespace

Json Json::exact(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

Json Json::parse(std::string_view text, std::string_view what) { return Reader(text, what).read(); }

std::string Json::text(int indent) const {
  std::string text;
  JsonWriter writer(text);
  write(writer, indent, 0);
  return text;
}

void Json::write(JsonWriter& writer, int indent, int depth) const {
  const auto new_line = [&](int level) {
    if (indent > 0) writer.new_line(indent * level);
  };
  if (is_null()) writer.null();
  if (const auto* value = std::get_if<bool>(&value_)) writer.value(*value);
  if (const auto* value = std::get_if<std::int64_t>(&value_)) writer.value(*value);
  if (const auto* value = std::get_if<double>(&value_)) writer.value(*value);
  if (const auto* value = std::get_if<std::string>(&value_)) writer.value(*value);
  if (const auto* values = std::get_if<List>(&value_)) {
    writer.begin_list();
    for (const Json& value : *values) {
      new_line(depth + 1);
      value.write(writer, indent, depth + 1);
    }
    if (!values->empty()) new_line(depth);
    writer.end_list();
  }
  if (const auto* members = std::get_if<Object>(&value_)) {
    writer.begin_object();
    for (const auto& [name, value] : *members) {
      new_line(depth + 1);
      writer.name(name);
      value.write(writer, indent, depth + 1);
    }
    if (!members->empty()) new_line(depth);
    writer.end_object();
  }
}

bool Json::boolean(std::string_view what) const {
  if (const auto* value = std::get_if<bool>(&value_)) return *value;
  fail_kind(*this, what, "true or false");
}

std::int64_t Json::integer(std::string_view what) const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  if (const auto* value = std::get_if<double>(&value_);
      value != nullptr && *value == std::floor(*value) && std::abs(*value) < integer_limit)
    return static_cast<std::int64_t>(*value);
  fail_kind(*this, what, "an integer");
}

double Json::number(std::string_view what) const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<std::string>(&value_))
    for (const SpecialNumber& special : special_numbers)
      if (*value == special.word) return special.value;
  fail_kind(*this, what, "a number");
}

const std::string& Json::string(std::string_view what) const {
  if (const auto* value = std::get_if<std::string>(&value_)) return *value;
  fail_kind(*this, what, "a string");
}

const Json::List& Json::list(std::string_view what) const {
  if (const auto* value = std::get_if<List>(&value_)) return *value;
  fail_kind(*this, what, "a list");
}

const Json::Object& Json::object(std::string_view what) const {
  if (const auto* value = std::get_if<Object>(&value_)) return *value;
  fail_kind(*this, what, "an object");
}

const Json* Json::find(std::string_view name) const {
  const auto* members = std::get_if<Object>(&value_);
  if (members == nullptr) return nullptr;
  const auto found = std::find_if(members->begin(), members->end(), [&](const Member& m) { return m.first == name; });
  return found == members->end() ? nullptr : &found->second;
}

void Json::set(std::string_view name, Json value) {
  if (is_null()) value_ = Object();
  auto& members = std::get<Object>(value_);
  const auto found = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.first == name; });
  if (found == members.end()) members.emplace_back(name, std::move(value));
  else found->second = std::move(value);
}

void Json::append(Json value) {
  if (is_null()) value_ = List();
  std::get<List>(value_).push_back(std::move(value));
}

}  // namespace pando
