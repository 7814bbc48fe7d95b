// SPDX-License-Identifier: Apache-2.0
// JsonWriter: writes a JSON text from front to back, without holding its values. Json::text() uses it too.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pando {

struct JsonLayout {
  // A blank after every colon and comma.
  bool blanks = true;
  // "<" becomes an escape, so that "</script>" in a string does not end the script of a page that holds the text.
  bool in_script = false;
};

// The caller balances the brackets, and gives each member of an object a name before its value.
class JsonWriter {
 public:
  // Appends to `text`, which must live longer than the writer.
  explicit JsonWriter(std::string& text, const JsonLayout& layout = {}) : text_(text), layout_(layout) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_list() { open('['); }
  void end_list() { close(']'); }
  void name(std::string_view name);

  // UTF-8 whatever the bytes are: one that is not UTF-8 becomes U+FFFD, and a character that would act on a terminal
  // becomes an escape.
  void value(std::string_view value);
  void value(const char* value) { this->value(std::string_view(value)); }
  void value(bool value) { json(value ? "true" : "false"); }
  void value(int value) { this->value(std::int64_t{value}); }
  void value(std::int64_t value);
  void value(std::size_t value);
  // Numbers that are not finite become null in all three forms. This one is the shortest text that reads back as the
  // same value, and never that of an integer.
  void value(double value);
  // With that many digits after the point.
  void fixed(double value, int digits);
  // Rounded to that many significant digits.
  void rounded(double value, int digits);
  void null() { json("null"); }
  // A value that is a JSON text already.
  void json(std::string_view text);

  template <class Value>
  void member(std::string_view name, const Value& value) {
    this->name(name);
    this->value(value);
  }

  // The next value, name or closing bracket begins a line, after that many spaces.
  void new_line(int spaces = 0) { new_line_ = spaces; }

 private:
  static constexpr int same_line = -1;

  void begin_element();
  void begin_line();
  void open(char bracket);
  void close(char bracket);
  void write_string(std::string_view value);

  std::string& text_;
  JsonLayout layout_;
  bool first_ = true;
  bool named_ = false;
  int new_line_ = same_line;
};

}  // namespace pando
