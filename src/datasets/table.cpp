// SPDX-License-Identifier: Apache-2.0
#include "datasets/table.h"

#include <pando/data/files.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "datasets/every_fifth.h"
#include "io/byte_store.h"

namespace pando {

namespace {

using datasets::OwnDataOptions;

constexpr std::size_t most_table_classes = 1000;

std::optional<double> label_number(const std::string& label) {
  double value = 0;
  const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), value);
  if (error != std::errc() || end != label.data() + label.size()) return std::nullopt;
  return value;
}

// The different labels: by their value if all are numbers, otherwise by their letters.
std::vector<std::string> classes_of(const std::string& path, const data::CsvTable& table) {
  const std::set<std::string> different(table.labels.begin(), table.labels.end());
  std::vector<std::string> classes(different.begin(), different.end());
  const bool are_numbers =
      std::all_of(classes.begin(), classes.end(), [](const auto& label) { return label_number(label).has_value(); });
  const std::string remedy = "name the column that holds the class of each row";
  for (const std::string& label : classes)
    if (are_numbers && std::floor(*label_number(label)) != *label_number(label))
      throw_file_error(
          path,
          fmt::format("the column '{}' holds numbers with fractions, such as {}, not classes", table.label, label),
          remedy);
  if (classes.size() < 2 || classes.size() > most_table_classes)
    throw_file_error(path,
                     fmt::format("the column '{}' has {} different label{}; 2 to {} classes are told apart",
                                 table.label, classes.size(), classes.size() == 1 ? "" : "s", most_table_classes),
                     remedy);
  if (are_numbers)
    std::stable_sort(classes.begin(), classes.end(),
                     [](const auto& a, const auto& b) { return *label_number(a) < *label_number(b); });
  return classes;
}

std::vector<std::int32_t> labels_of(const std::string& path, const data::CsvTable& table,
                                    const std::vector<std::string>& classes) {
  std::map<std::string, std::int32_t> numbers;
  for (std::size_t i = 0; i < classes.size(); ++i) numbers[classes[i]] = static_cast<std::int32_t>(i);
  std::vector<std::int32_t> labels;
  for (const std::string& label : table.labels) {
    const auto found = numbers.find(label);
    if (found == numbers.end()) throw Error(fmt::format("{}: {}", path, unknown_name("class", label, classes)));
    labels.push_back(found->second);
  }
  return labels;
}

// The rows of these numbers, the first of each class, then the second of each, so that the first few cover all classes.
datasets::Split split_of(const data::CsvTable& table, const std::vector<std::int32_t>& labels,
                         const std::vector<std::int64_t>& rows) {
  std::map<std::int32_t, std::int64_t> seen;
  std::map<std::pair<std::int64_t, std::int32_t>, std::int64_t> by_place;
  for (const std::int64_t row : rows) {
    const std::int32_t label = labels[static_cast<std::size_t>(row)];
    by_place[{seen[label]++, label}] = row;
  }
  const std::int64_t count = static_cast<std::int64_t>(rows.size()), columns = table.values.shape()[1];
  datasets::Split split = {Array::uninitialised(DType::float32, {count, columns}), Array(DType::int32, {count})};
  float* x = split.x.mutable_data<float>();
  std::int32_t* y = split.y.mutable_data<std::int32_t>();
  for (const auto& [place, row] : by_place) {
    x = std::copy_n(table.values.data<float>() + row * columns, columns, x);
    *y++ = place.second;
  }
  return split;
}

std::vector<std::int64_t> all_rows(const std::vector<std::int32_t>& labels) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < std::ssize(labels); ++i) rows.push_back(i);
  return rows;
}

data::CsvTable read(const std::string& path, const OwnDataOptions& options, datasets::OwnData& data) {
  data::CsvTable table = data::read_csv(path, {.label = options.label, .skip_bad = options.skip_bad});
  for (const std::string& row : table.skipped) data.skipped.push_back(fmt::format("{}: {}", path, row));
  if (table.labels.empty() && !table.skipped.empty())
    throw_file_error(path, fmt::format("has no rows that can be read: {}", table.skipped.front()), "correct its lines");
  if (table.labels.empty()) throw_file_error(path, "has no rows that can be read", "add a line for each row");
  return table;
}

}  // namespace

bool is_table_name(const std::string& path) {
  std::string name = path;
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return name.ends_with(".csv") || name.ends_with(".csv.gz");
}

datasets::OwnData read_table(const std::string& path, const OwnDataOptions& options) {
  datasets::OwnData data;
  const data::CsvTable table = read(path, options, data);
  data.columns = table.columns;
  data.label = table.label;
  data.class_names = classes_of(path, table);
  const std::vector<std::int32_t> labels = labels_of(path, table, data.class_names);
  std::vector<std::int64_t> train, test;
  EveryFifth is_for_test(data.class_names.size());
  for (const std::int64_t row : all_rows(labels))
    (!options.split_off_test || is_for_test(labels[static_cast<std::size_t>(row)]) ? test : train).push_back(row);
  if (test.empty()) throw_file_error(path, "has no class of five rows", "add rows");
  data.train = split_of(table, labels, train);
  data.test = split_of(table, labels, test);
  data.test_was_split_off = options.split_off_test;
  return data;
}

datasets::OwnData read_tables(const std::string& train, const std::string& test, const OwnDataOptions& options) {
  datasets::OwnData data;
  const data::CsvTable train_table = read(train, options, data), test_table = read(test, options, data);
  if (train_table.columns != test_table.columns || train_table.label != test_table.label)
    throw_file_error(test, fmt::format("does not have the columns of {}", train), "give both the same first line");
  data.columns = train_table.columns;
  data.label = train_table.label;
  data.class_names = classes_of(train, train_table);
  const auto whole = [&](const std::string& path, const data::CsvTable& table) {
    const std::vector<std::int32_t> labels = labels_of(path, table, data.class_names);
    return split_of(table, labels, all_rows(labels));
  };
  data.train = whole(train, train_table);
  data.test = whole(test, test_table);
  return data;
}

}  // namespace pando
