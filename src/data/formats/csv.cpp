// SPDX-License-Identifier: Apache-2.0
#include "data/formats/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace pando::data {

namespace {

constexpr const char* csv_form = "give a first line that names the columns, and a line of numbers for each row";

std::string text_of(ByteFile& file) {
  constexpr std::uint64_t piece_size = 1 << 20;
  std::string text;
  while (true) {
    const std::vector<std::byte> piece = file.read(piece_size);
    if (piece.empty()) break;
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    if (text.size() > memory_for_a_file()) file.fail("is too large for this machine", "divide it");
  }
  // The mark with which some programs begin UTF-8.
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  return text;
}

std::string_view without_blanks(std::string_view cell) {
  const std::size_t first = cell.find_first_not_of(" \t"), last = cell.find_last_not_of(" \t");
  return first == cell.npos ? std::string_view() : cell.substr(first, last - first + 1);
}

// Takes the text apart into rows of cells. Line ends within quotes belong to their cell.
class CsvRows {
 public:
  explicit CsvRows(std::string_view text) : rest_(text), separator_(separator_of(text.substr(0, text.find('\n')))) {}

  // Fills `cells` with those of the next line that is not empty; returns false at the end. The strings keep their
  // memory.
  bool next(std::vector<std::string>& cells) {
    while (!rest_.empty() && (rest_.front() == '\n' || rest_.front() == '\r')) take();
    if (rest_.empty()) return false;
    line_ = lines_ + 1;
    std::size_t count = 0;
    do {
      if (count == cells.size()) cells.emplace_back();
      read_cell(cells[count++]);
    } while (take_if(separator_));
    cells.resize(count);
    take_if('\r');
    take_if('\n');
    return true;
  }
  // The number of the line that the row began in, from 1.
  std::int64_t line() const { return line_; }

 private:
  static char separator_of(std::string_view header) {
    char best = ',';
    for (const char candidate : {';', '\t'})
      if (std::count(header.begin(), header.end(), candidate) > std::count(header.begin(), header.end(), best))
        best = candidate;
    return best;
  }

  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    lines_ += c == '\n';
    return c;
  }
  bool take_if(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    take();
    return true;
  }

  void read_cell(std::string& cell) {
    cell.clear();
    while (!rest_.empty() && rest_.front() == ' ' && separator_ != ' ') take();
    if (take_if('"')) {
      while (!rest_.empty() && (rest_.front() != '"' || rest_.substr(0, 2) == "\"\"")) {
        if (rest_.front() == '"') take();
        cell += take();
      }
      take_if('"');
    }
    while (!rest_.empty() && rest_.front() != separator_ && rest_.front() != '\n' && rest_.substr(0, 2) != "\r\n")
      cell += take();
    cell = without_blanks(cell);
  }

  std::string_view rest_;
  char separator_;
  std::int64_t lines_ = 0, line_ = 0;
};

std::optional<float> number_of(std::string_view cell) {
  if (cell.starts_with('+')) cell.remove_prefix(1);
  float value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

class CsvReader {
 public:
  CsvReader(ByteFile& file, const CsvOptions& options) : file_(file), options_(options) {}

  CsvTable read() {
    text_ = text_of(file_);
    CsvRows rows(text_);
    if (!rows.next(cells_)) file_.fail("is empty", csv_form);
    read_header();
    while (rows.next(cells_)) add_row(rows.line());
    const auto columns = static_cast<std::int64_t>(table_.columns.size());
    table_.values = Array::of(values_, {static_cast<std::int64_t>(values_.size()) / columns, columns});
    return std::move(table_);
  }

 private:
  void read_header() {
    if (std::all_of(cells_.begin(), cells_.end(), [](const std::string& cell) { return number_of(cell).has_value(); }))
      file_.fail("has no line that names its columns", csv_form);
    header_ = cells_;
    label_ = header_.size();
    if (options_.has_labels) {
      const auto found =
          options_.label.empty() ? header_.end() - 1 : std::find(header_.begin(), header_.end(), options_.label);
      if (found == header_.end())
        throw Error(fmt::format("{}: {}", file_.path(), unknown_name("column", options_.label, header_)));
      label_ = static_cast<std::size_t>(found - header_.begin());
      table_.label = *found;
    }
    for (std::size_t i = 0; i < header_.size(); ++i)
      if (i != label_) table_.columns.push_back(header_[i]);
    if (table_.columns.empty()) file_.fail("has no column of numbers", csv_form);
  }

  // Adds the row, or says why it cannot.
  void add_row(std::int64_t line) {
    const std::size_t before = values_.size();
    const std::string problem = problem_of_row();
    if (problem.empty()) return;
    values_.resize(before);
    // Rows without labels may come with more columns, from which the caller chooses.
    if (table_.skipped.empty() && (options_.has_labels || !options_.skip_bad)) check_columns();
    if (!options_.skip_bad) file_.fail(fmt::format("line {}: {}", line, problem), "correct the line, or take it out");
    table_.skipped.push_back(fmt::format("line {}: {}", line, problem));
  }

  // A column that has words in every row is a mistake in the table, not in a line.
  void check_columns() const {
    std::vector<std::int64_t> words(header_.size());
    std::vector<std::string> cells, firsts(header_.size());
    CsvRows rows(text_);
    rows.next(cells);
    std::int64_t count = 0;
    while (rows.next(cells)) {
      if (cells.size() != header_.size()) continue;
      ++count;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (cells[i].empty() || number_of(cells[i])) continue;
        if (words[i]++ == 0) firsts[i] = cells[i];
      }
    }
    for (std::size_t i = 0; i < words.size(); ++i)
      if (i != label_ && count > 1 && words[i] == count)
        file_.fail(fmt::format("the column '{}' holds words, such as '{}', and not numbers", header_[i], firsts[i]),
                   options_.has_labels
                       ? "replace them by numbers, take the column out, or name it as that of the labels"
                       : "replace them by numbers, or take the column out");
  }

  std::string problem_of_row() {
    if (cells_.size() != header_.size())
      return fmt::format("has {} cell{}, but the first line names {} columns", cells_.size(),
                         cells_.size() == 1 ? "" : "s", header_.size());
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (i == label_) continue;
      const std::optional<float> value = number_of(cells_[i]);
      if (cells_[i].empty()) return fmt::format("the number in the column '{}' is missing", header_[i]);
      if (!value) return fmt::format("'{}' in the column '{}' is not a number", cells_[i], header_[i]);
      values_.push_back(*value);
    }
    if (label_ == header_.size()) return "";
    if (cells_[label_].empty()) return fmt::format("the label in the column '{}' is missing", header_[label_]);
    table_.labels.push_back(cells_[label_]);
    return "";
  }

  ByteFile& file_;
  const CsvOptions& options_;
  CsvTable table_;
  std::string text_;
  std::vector<std::string> cells_, header_;
  // The place of the labels in a row; that of no column if there are none.
  std::size_t label_ = 0;
  std::vector<float> values_;
};

}  // namespace

CsvTable read_csv(ByteFile& file, const CsvOptions& options) { return CsvReader(file, options).read(); }

CsvTable read_csv(const std::string& path, const CsvOptions& options) {
  ByteFile file(path);
  return read_csv(file, options);
}

}  // namespace pando::data
