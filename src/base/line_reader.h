// SPDX-License-Identifier: Apache-2.0
// LineReader: one line of a text form, read from the left.
#pragma once
#include <pando/base/error.h>

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>
#include <utility>

#include "base/ascii.h"

namespace pando {

// Spaces between tokens do not count, and text after '#' is a comment. Throws Error naming the line.
class LineReader {
 public:
  LineReader(std::string_view text, int number) : rest_(text), number_(number) {}

  [[noreturn]] void fail(const std::string& text) const { throw Error(fmt::format("line {}: {}", number_, text)); }

  void skip_space() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  bool at_end() {
    skip_space();
    return rest_.empty() || rest_.front() == '#';
  }
  bool peek(char character) {
    skip_space();
    return !rest_.empty() && rest_.front() == character;
  }
  bool take(std::string_view token) {
    skip_space();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail(fmt::format("expected '{}' at '{}'", token, rest_));
  }
  std::string word() {
    skip_space();
    std::size_t length = 0;
    while (length < rest_.size() && (ascii::is_letter_or_digit(rest_[length]) || rest_[length] == '_' ||
                                     rest_[length] == '.' || rest_[length] == '/'))
      ++length;
    if (length == 0) fail(fmt::format("expected a name at '{}'", rest_));
    const std::string result(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return result;
  }
  template <class T>
  T number() {
    skip_space();
    T value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) fail(fmt::format("expected a number at '{}'", rest_));
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  std::string quoted() {
    expect("\"");
    const std::size_t end = rest_.find('"');
    if (end == std::string_view::npos) fail("a text has no closing quote");
    const std::string result(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return result;
  }
  // A list with commas between its parts, each read by `item`.
  template <class Item>
  void list(std::string_view open, std::string_view close, Item item) {
    expect(open);
    if (take(close)) return;
    do item();
    while (take(","));
    expect(close);
  }
  // The comment after the node, which is its name.
  std::string comment() {
    skip_space();
    if (!take("#")) return "";
    skip_space();
    return std::string(std::exchange(rest_, {}));
  }

 private:
  std::string_view rest_;
  int number_;
};

}  // namespace pando
