// SPDX-License-Identifier: Apache-2.0
// Where the words of the command go: results to the standard output, everything else to the standard error stream. Both
// show control characters as escapes, wherever the names in them come from.
#pragma once
#include <exception>
#include <string>
#include <vector>

#include "io/json.h"

namespace pando::cli {

// A result.
void print(const std::string& text);
// A result that may contain colours, from text that is safe on a terminal.
void print_drawn(const std::string& text);
// One JSON object, and a line end.
void print_json(const Json& json);
template <class List>
Json json_list(const List& values) {
  Json list = Json::List();
  for (const auto& value : values) list.append(value);
  return list;
}
// Information in addition to the results: a line on the standard error stream.
void tell(const std::string& text);

// The text of an exception. For a lack of memory, whose exception says nothing, the remedy.
std::string message_of(const std::exception& error);

// Writes out what was printed. Throws Error if that fails, unless the reader has closed the pipe: it has read what it
// wanted.
void finish_output();

// Rows of cells under their headings; each column as wide as it needs, numbers to the right, the others to the left.
class Table {
 public:
  explicit Table(std::vector<std::string> headings);
  void add(std::vector<std::string> cells);
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "60,000".
std::string thousands(std::int64_t number);
// "98.9 %".
std::string percent(double part);
// The word, in quotes if a shell needs them.
std::string shell_word(const std::string& word);

// How the program was called, for command lines to copy: "pando", or its path.
const std::string& program();
void set_program(const std::string& called);

}  // namespace pando::cli
