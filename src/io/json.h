// SPDX-License-Identifier: Apache-2.0
// Json: a value of a JSON text. Objects keep the order of their members.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pando {

class JsonWriter;

class Json {
 public:
  using List = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;
  Json(bool value) : value_(value) {}
  Json(int value) : value_(std::int64_t{value}) {}
  Json(std::int64_t value) : value_(value) {}
  Json(double value) : value_(value) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(List value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}

  // A number for files that are read again. A number that is not finite becomes the string "NaN", "Infinity" or
  // "-Infinity", which number() understands.
  static Json exact(double value);

  // Throws Error, "WHAT is not JSON: line 3, column 7: a comma or ] is missing", for anything that is not one value.
  // Also throws for lists and objects nested more than 128 deep, for more than 2^21 values, and for a member that
  // appears twice. NaN, Infinity and -Infinity are read as Python writes them.
  static Json parse(std::string_view text, std::string_view what);
  // JSON in UTF-8, whatever the strings hold: a byte that is not UTF-8 becomes U+FFFD, and a character that would act
  // on a terminal becomes an escape. Numbers are the shortest text that reads back as the same value; a number that is
  // not finite becomes null, because JSON has no text for it. Lines are indented by that many spaces; 0 writes one
  // line.
  std::string text(int indent = 0) const;

  bool is_null() const { return value_.index() == 0; }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(value_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_list() const { return std::holds_alternative<List>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  // These throw Error, "WHAT is a string but should be a list", if it is something else. A number without a fraction is
  // an integer, however it was written.
  bool boolean(std::string_view what) const;
  std::int64_t integer(std::string_view what) const;
  double number(std::string_view what) const;
  const std::string& string(std::string_view what) const;
  const List& list(std::string_view what) const;
  const Object& object(std::string_view what) const;

  // Null if it is not an object or has no such member.
  const Json* find(std::string_view name) const;
  // Adds the member at the end, or replaces its value. The value must be an object, or null, which becomes one.
  void set(std::string_view name, Json value);
  // Appends to a list, or to null, which becomes one.
  void append(Json value);

  friend bool operator==(const Json&, const Json&) = default;

 private:
  void write(JsonWriter& writer, int indent, int depth) const;

  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Object> value_;
};

}  // namespace pando
