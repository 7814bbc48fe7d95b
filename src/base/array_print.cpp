// SPDX-License-Identifier: Apache-2.0
// Arrays as text, as NumPy prints them.
#include <pando/base/array_functions.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>

#include "base/element_types.h"
#include "base/text.h"

namespace pando {

namespace {

constexpr std::int64_t most_elements = 1000, edge = 3, left_out = -1;
constexpr std::size_t line_width = 75;
constexpr int most_digits = 8;

// As in NumPy: for numbers of very different or very unusual sizes.
bool needs_exponents(const std::vector<double>& values) {
  double largest = 0, smallest = HUGE_VAL;
  for (double value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    largest = std::max(largest, std::abs(value));
    smallest = std::min(smallest, std::abs(value));
  }
  return largest > 0 && (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1000);
}

std::string digits_text(double value, int digits, bool exponent) {
  return exponent ? fmt::format("{:#.{}e}", value, digits) : fmt::format("{:#.{}f}", value, digits);
}

// Works in every locale: strtod would expect the locale's decimal sign.
double number_in(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The fewest digits after the point that distinguish the value from its neighbours of the type T, at most most_digits.
template <class T>
int digits_needed(double value, bool exponent) {
  for (int digits = 0; digits < most_digits; ++digits)
    if (static_cast<T>(number_in(digits_text(value, digits, exponent))) == static_cast<T>(value)) return digits;
  const std::string text = digits_text(value, most_digits, exponent);
  const std::size_t point = text.find('.');
  return static_cast<int>(text.find_last_not_of('0', point + most_digits) - point);
}

template <class T>
std::vector<std::string> float_texts(const std::vector<double>& values) {
  const bool exponent = needs_exponents(values);
  int most = 0;
  for (double value : values)
    if (std::isfinite(value)) most = std::max(most, digits_needed<T>(value, exponent));
  std::vector<std::string> texts;
  for (double value : values) {
    if (!std::isfinite(value)) {
      texts.push_back(fmt::format("{}", without_nan_sign(value)));
      continue;
    }
    const int digits = exponent ? most : digits_needed<T>(value, exponent);
    texts.push_back(digits_text(value, digits, exponent) + std::string(static_cast<std::size_t>(most - digits), ' '));
  }
  return texts;
}

std::vector<std::string> element_texts(const Array& a, const std::vector<std::int64_t>& places) {
  std::vector<std::string> texts;
  with_type(a.dtype(), [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if constexpr (std::is_integral_v<T>) {
      for (std::int64_t place : places) {
        if constexpr (std::is_same_v<T, bool>) texts.push_back(a.data<T>()[place] ? "True" : "False");
        else texts.push_back(fmt::format("{}", a.data<T>()[place]));
      }
    } else {
      using Wide = decltype(widen(T{}));
      std::vector<double> values;
      for (std::int64_t place : places) values.push_back(static_cast<double>(widen(a.data<T>()[place])));
      texts = float_texts<Wide>(values);
    }
  });
  std::size_t width = 0;
  for (const std::string& text : texts) width = std::max(width, text.size());
  for (std::string& text : texts) text.insert(0, width - text.size(), ' ');
  return texts;
}

class Printer {
 public:
  explicit Printer(const Array& a) : shape_(a.shape()), shortened_(a.elements() > most_elements) {
    std::vector<std::int64_t> places;
    collect(0, 0, places);
    texts_ = element_texts(a, places);
    if (shape_.rank() == 0) text_ = scalar_text();
    else if (a.elements() == 0) text_ = "[]";
    else write(0);
  }

  std::string text() const { return text_; }

 private:
  // The indices of an axis that are shown; `left_out` stands for the others.
  std::vector<std::int64_t> shown(int axis) const {
    std::vector<std::int64_t> indices;
    const std::int64_t size = shape_[axis];
    for (std::int64_t i = 0; i < size; ++i) {
      if (shortened_ && size > 2 * edge && i == edge) {
        indices.push_back(left_out);
        i = size - edge;
      }
      indices.push_back(i);
    }
    return indices;
  }

  void collect(int axis, std::int64_t place, std::vector<std::int64_t>& places) const {
    if (axis == shape_.rank()) return places.push_back(place);
    for (std::int64_t index : shown(axis))
      if (index != left_out) collect(axis + 1, place + index * shape_.stride(axis), places);
  }

  std::string scalar_text() const {
    const std::string& text = texts_.front();
    return text.back() == '.' ? text + "0" : text;
  }

  void write(int axis) {
    if (axis == shape_.rank() - 1) return write_row();
    const std::size_t depth = static_cast<std::size_t>(axis) + 1;
    const std::size_t line_breaks = static_cast<std::size_t>(shape_.rank()) - depth;
    text_ += '[';
    bool first = true;
    for (std::int64_t index : shown(axis)) {
      if (!first) text_ += std::string(line_breaks, '\n') + std::string(depth, ' ');
      first = false;
      if (index == left_out) text_ += "...";
      else write(axis + 1);
    }
    text_ += ']';
  }

  void write_row() {
    const std::size_t depth = static_cast<std::size_t>(shape_.rank());
    std::size_t column = depth;
    text_ += '[';
    bool first = true;
    for (std::int64_t index : shown(shape_.rank() - 1)) {
      const std::string word = index == left_out ? "..." : texts_[next_++];
      const bool wraps = !first && column + 1 + word.size() + depth > line_width;
      if (wraps) text_ += '\n' + std::string(depth, ' ');
      else if (!first) text_ += ' ';
      column = (wraps ? depth : column + (first ? 0 : 1)) + word.size();
      first = false;
      text_ += word;
    }
    text_ += ']';
  }

  Shape shape_;
  bool shortened_;
  std::vector<std::string> texts_;
  std::size_t next_ = 0;
  std::string text_;
};

}  // namespace

std::string to_string(const Array& a) { return Printer(a).text(); }

std::ostream& operator<<(std::ostream& stream, const Array& a) { return stream << to_string(a); }

}  // namespace pando
