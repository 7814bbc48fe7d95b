// SPDX-License-Identifier: Apache-2.0
#include "model/batch_text.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ascii.h"

namespace pando {

namespace {

// The numbers, and the text between them.
std::vector<std::string_view> words_of(const std::string& text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin + 1;
    while (end < text.size() && ascii::is_digit(text[end]) == ascii::is_digit(text[begin])) ++end;
    words.push_back(std::string_view(text).substr(begin, end - begin));
    begin = end;
  }
  return words;
}

std::optional<std::int64_t> number_of(std::string_view word) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() ? std::optional(number) : std::nullopt;
}

// "None * 4" if both numbers are the same multiple of their batch sizes; nothing otherwise.
std::optional<std::string> batch_word(std::string_view first, std::int64_t first_batch, std::string_view second,
                                      std::int64_t second_batch) {
  const std::optional<std::int64_t> a = number_of(first), b = number_of(second);
  if (!a || !b || *a % first_batch != 0 || *b % second_batch != 0 || *a / first_batch != *b / second_batch)
    return std::nullopt;
  const std::int64_t factor = *a / first_batch;
  return factor == 1 ? "None" : fmt::format("None * {}", factor);
}

// [None, 4] -> (None, 4), as Keras writes shapes.
std::string keras_brackets(std::string text) {
  for (std::size_t begin = 0; (begin = text.find("[None", begin)) != std::string::npos; ++begin) {
    const std::size_t end = text.find(']', begin);
    if (end == std::string::npos) break;
    const bool single = text.find(',', begin) > end;
    text.replace(end, 1, single ? ",)" : ")");
    text[begin] = '(';
  }
  return text;
}

}  // namespace

std::string without_batch_sizes(const std::string& first, std::int64_t first_batch, const std::string& second,
                                std::int64_t second_batch) {
  const std::vector<std::string_view> a = words_of(first), b = words_of(second);
  if (a.size() != b.size()) return first;
  std::string text;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) text += a[i];
    else if (const auto word = batch_word(a[i], first_batch, b[i], second_batch)) text += *word;
    else return first;
  }
  return keras_brackets(text);
}

}  // namespace pando
