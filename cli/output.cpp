// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <pando/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/notice.h"
#include "base/text.h"
#include "report/terminal/text_width.h"
#include "report/terminal/thousands.h"

namespace pando::cli {

namespace {

// Why the results could not be written; 0 if they could.
int write_error = 0;

void flush_results() {
  if (std::fflush(stdout) != 0 && write_error == 0) write_error = errno;
}

// Also "98.9 %", "60,000" and "-", which stands for none.
bool is_number(const std::string& cell) {
  const std::string digits = cell.ends_with(" %") ? cell.substr(0, cell.size() - 2) : cell;
  return digits.find_first_not_of("-+0123456789.,e") == std::string::npos;
}

// The library begins messages with the function that was called, which users of a command did not call.
std::string without_function(const std::string& message) {
  for (const std::string function :
       {"fit: ", "evaluate: ", "predict: ", "compile: ", "load_model: ", "model_from_json: "})
    if (message.starts_with(function)) return message.substr(function.size());
  return message;
}

}  // namespace

void print(const std::string& text) { print_drawn(terminal_lines(text)); }

void print_drawn(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && write_error == 0) write_error = errno;
}

void print_json(const Json& json) { print(json.text(2) + "\n"); }

void tell(const std::string& text) {
  // Flushes first, so that the order is right if both streams go to the same place.
  flush_results();
  pando::tell(terminal_lines(text) + "\n");
}

std::string message_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) == nullptr) return without_function(error.what());
  return "there is not enough memory; use fewer --samples, a smaller --batch-size or model, or fewer --ipus and "
         "--tiles, "
         "or raise the limit (ulimit -v, or memory.max of the cgroup)";
}

void finish_output() {
  flush_results();
  if (write_error != 0 && write_error != EPIPE)
    throw Error(fmt::format("the results cannot be written to the standard output: {}; write them to another place",
                            std::strerror(write_error)));
}

Table::Table(std::vector<std::string> headings) : rows_{std::move(headings)} {}

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = terminal_text(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<int> widths(rows_[0].size());
  std::vector<bool> right(rows_[0].size(), true);
  for (std::size_t i = 0; i < rows_.size(); ++i)
    for (std::size_t j = 0; j < widths.size(); ++j) {
      widths[j] = std::max(widths[j], text_width(rows_[i][j]));
      if (i > 0 && !is_number(rows_[i][j])) right[j] = false;
    }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (std::size_t j = 0; j < row.size(); ++j) {
      const std::string blanks(static_cast<std::size_t>(widths[j] - text_width(row[j])), ' ');
      line += (j == 0 ? "" : "  ") + (right[j] ? blanks + row[j] : row[j] + blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string thousands(std::int64_t number) { return grouped_by_thousands(number); }

std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

namespace {

// $'...', which shells read back as the same bytes, also those that a terminal would not show.
std::string escaped_word(const std::string& word) {
  std::string quoted = "$'";
  for (const unsigned char c : word) {
    if (c == '\'' || c == '\\') quoted += '\\';
    if (c < ' ' || c > '~') quoted += fmt::format("\\{:03o}", c);
    else quoted += static_cast<char>(c);
  }
  return quoted + "'";
}

}  // namespace

std::string shell_word(const std::string& word) {
  constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  if (terminal_text(word) != word) return escaped_word(word);
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

namespace {

std::string& program_word() {
  static std::string word = "pando";
  return word;
}

}  // namespace

const std::string& program() { return program_word(); }

void set_program(const std::string& called) {
  if (called.find('/') != std::string::npos) program_word() = shell_word(called);
}

}  // namespace pando::cli
