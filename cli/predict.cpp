// SPDX-License-Identifier: Apache-2.0
#include <pando/base/array_functions.h>
#include <pando/data/files.h>
#include <pando/base/function.h>
#include <pando/data/images.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>

#include "base/paths.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/trained_model.h"

namespace pando::cli {

namespace {

// A sample to look at, as the model takes it.
struct Subject {
  std::string name;
  Array values;
  // The name of its class; empty if it is not known.
  std::string label = {};
};

// "a, b, c and 4 more".
std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 5;
  const std::size_t shown = std::min(most, names.size());
  const std::vector<std::string> first(names.begin(), names.begin() + static_cast<long>(shown));
  return join(first, ", ") + (names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "");
}

// The samples that the words of the command line name.
class SubjectReader {
 public:
  SubjectReader(const Arguments& arguments, const TrainedModel& trained)
      : arguments_(arguments), kind_(trained.kind), choice_(sample_choice(arguments)) {
    if (kind_.shape.rank() == 2) kind_.shape.append(1);
    if (choice_.dataset.empty()) choice_.dataset = kind_.dataset;
  }

  std::vector<Subject> read() {
    for (const std::string& word : arguments_.words()) {
      const auto number = number_in<std::int32_t>(word);
      if (path_exists(word)) attempt([&] { add_file(word); });
      else if (number && *number >= 0) add_number(*number);
      else attempt([&] { fail_absent(word); });
    }
    if (!resized_.empty())
      tell(fmt::format("Resized to a height of {} and a width of {} pixels, as the model takes them: {}.",
                       kind_.shape[0], kind_.shape[1], first_names(resized_)));
    if (!skipped_.empty()) tell(fmt::format("Left out, because they cannot be read:\n  {}", join(skipped_, "\n  ")));
    if (subjects_.empty()) throw Error("nothing is left to predict; give files that can be read");
    return std::move(subjects_);
  }
  const std::vector<std::string>& skipped() const { return skipped_; }

 private:
  // One bad file must not cost the others, if that is wanted.
  void attempt(const Function<void()>& add) {
    try {
      add();
    } catch (const Error& error) {
      if (!choice_.skip_bad) throw Error(fmt::format("{}; --skip-bad leaves out what cannot be read", error.what()));
      skipped_.emplace_back(error.what());
    }
  }

  [[noreturn]] void fail_absent(const std::string& word) const {
    throw Error(fmt::format("{}: the file was not found; give {}, or the number of {}", word,
                            kind_.is_table() ? "a CSV file" : "a PNG, JPEG or IDX file",
                            kind_.is_table() ? "a row" : "an image"));
  }

  void add_image(const std::string& name, const Array& pixels, const std::string& label = "") {
    Array image = pixels;
    // A model that something else saved may take images of any size.
    if (kind_.shape.rank() == 3 && *std::min_element(kind_.shape.begin(), kind_.shape.end()) > 0) {
      const std::int64_t height = kind_.shape[0], width = kind_.shape[1];
      if (pixels.shape()[0] != height || pixels.shape()[1] != width) resized_.push_back(name);
      image = data::resize_image(data::with_channels(pixels, kind_.shape[2]), height, width);
    }
    subjects_.push_back({name, image, label});
  }

  void add_file(const std::string& path) {
    if (kind_.is_table()) return add_table(path);
    const std::string ending = std::filesystem::path(path).extension().string();
    // IDX files have no ending, or "ubyte" and "gz".
    if (ending != ".gz" && !is_idx(path)) return add_image(path, data::read_image(path));
    const Array images = data::read_idx(path);
    const int rank = images.shape().rank();
    if (images.dtype() != DType::uint8 || rank < 3 || rank > 4)
      throw Error(fmt::format("{}: holds {} {}; give images, uint8 [n, height, width]", path, name(images.dtype()),
                              to_string(images.shape())));
    for (std::int64_t i = 0; i < images.shape()[0]; ++i) add_image(fmt::format("{}:{}", path, i), row_of(images, i));
  }

  // IDX files begin with two zeros, images never do.
  static bool is_idx(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return file.get() == 0 && file.get() == 0;
  }

  // Rows may have a label, or not.
  void add_table(const std::string& path) {
    const data::CsvTable whole = data::read_csv(path, {.has_labels = false, .skip_bad = true});
    const bool has_label = std::find(whole.columns.begin(), whole.columns.end(), kind_.label) != whole.columns.end();
    const data::CsvTable table =
        data::read_csv(path, {.label = kind_.label, .has_labels = has_label, .skip_bad = choice_.skip_bad});
    for (const std::string& row : table.skipped) skipped_.push_back(fmt::format("{}: {}", path, row));
    if (table.columns != kind_.columns)
      throw Error(fmt::format("{}: has the columns {}, but the model was trained on {}; give those", path,
                              join(table.columns, ", "), join(kind_.columns, ", ")));
    for (std::int64_t i = 0; i < table.values.shape()[0]; ++i)
      subjects_.push_back({fmt::format("{}:{}", path, i), table.values.slice(i, i + 1).reshape(kind_.shape),
                           has_label ? table.labels[static_cast<std::size_t>(i)] : ""});
  }

  void add_number(std::int64_t row) {
    if (choice_.dataset.empty())
      arguments_.fail("--dataset is missing: the model does not say which data it was trained on");
    if (!samples_) samples_ = load_to_test(choice_, kind_);
    if (row >= samples_->kind.test)
      throw Error(fmt::format("{} has {} {noun}s to test with, so that there is no {noun} {}; use 0 to {}",
                              choice_.dataset, thousands(samples_->kind.test), row, samples_->kind.test - 1,
                              fmt::arg("noun", samples_->kind.noun())));
    const auto label = samples_->test.y.slice(row, row + 1).item<std::size_t>();
    const std::string name = fmt::format("{}", row), class_name = samples_->kind.class_names[label];
    if (kind_.is_table())
      subjects_.push_back({name, samples_->test.x.slice(row, row + 1).reshape(kind_.shape), class_name});
    else add_image(name, row_of(samples_->test.x, row), class_name);
  }

  static Array row_of(const Array& images, std::int64_t row) {
    const Shape& shape = images.shape();
    return images.slice(row, row + 1).reshape({shape[1], shape[2], shape.rank() == 4 ? shape[3] : 1});
  }

  const Arguments& arguments_;
  SampleKind kind_;
  SampleChoice choice_;
  std::optional<Samples> samples_;
  std::vector<Subject> subjects_;
  std::vector<std::string> resized_, skipped_;
};

// Rows of logits as probabilities.
Array softmax(const Array& logits) {
  Array result = logits.clone();
  const std::int64_t classes = logits.shape()[1];
  for (float *row = result.mutable_data<float>(), *end = row + result.elements(); row != end; row += classes) {
    const float largest = *std::max_element(row, row + classes);
    double sum = 0;
    for (std::int64_t i = 0; i < classes; ++i) sum += std::exp(static_cast<double>(row[i] - largest));
    for (std::int64_t i = 0; i < classes; ++i)
      row[i] = static_cast<float>(std::exp(static_cast<double>(row[i] - largest)) / sum);
  }
  return result;
}

Array probabilities_of(TrainedModel& trained, const std::vector<Subject>& subjects) {
  Arrays values;
  for (const Subject& subject : subjects) values.push_back(subject.values);
  const Array output = trained.opened.model.predict(as_input(trained.opened, stack(values)));
  if (output.shape().rank() != 2)
    throw Error(fmt::format("the model '{}' does not tell classes apart: its output is {}", trained.opened.model.name(),
                            to_string(output.shape())));
  return trained.opened.gives_logits ? softmax(output) : output;
}

std::vector<std::size_t> most_likely(const float* probabilities, std::size_t classes, std::size_t count) {
  std::vector<std::size_t> order(classes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return probabilities[a] > probabilities[b]; });
  order.resize(std::min(classes, count));
  return order;
}

std::string table_of(const std::vector<Subject>& subjects, const Array& probabilities,
                     const std::vector<std::string>& names, const char* noun, std::size_t top) {
  const bool has_labels =
      std::any_of(subjects.begin(), subjects.end(), [](const auto& one) { return !one.label.empty(); });
  std::vector<std::string> headings = {noun, "prediction", "probability"};
  if (has_labels) headings.insert(headings.begin() + 1, "label");
  if (top > 1) headings.push_back("then");
  Table table(headings);
  const auto classes = static_cast<std::size_t>(probabilities.shape()[1]);
  const float* row = probabilities.data<float>();
  for (const Subject& subject : subjects) {
    const std::vector<std::size_t> order = most_likely(row, classes, top);
    std::vector<std::string> cells = {subject.name};
    if (has_labels) cells.push_back(subject.label);
    const auto likely = [&](std::size_t i) { return percent(static_cast<double>(row[i])); };
    cells.push_back(names[order[0]]);
    cells.push_back(likely(order[0]));
    std::string then;
    for (std::size_t i = 1; i < order.size(); ++i)
      then += fmt::format("{}{} {}", i == 1 ? "" : ", ", names[order[i]], likely(order[i]));
    if (top > 1) cells.push_back(then);
    table.add(cells);
    row += classes;
  }
  return table.text();
}

Json json_of(const std::vector<Subject>& subjects, const Array& probabilities, const std::vector<std::string>& names,
             const char* noun) {
  Json list = Json::List();
  const auto classes = static_cast<std::size_t>(probabilities.shape()[1]);
  const float* row = probabilities.data<float>();
  for (const Subject& subject : subjects) {
    Json one, all;
    for (std::size_t i = 0; i < classes; ++i) all.set(names[i], static_cast<double>(row[i]));
    one.set(noun, subject.name);
    if (!subject.label.empty()) one.set("label", subject.label);
    one.set("prediction", names[most_likely(row, classes, 1)[0]]);
    one.set("probabilities", all);
    list.append(one);
    row += classes;
  }
  return list;
}

}  // namespace

int predict(const Arguments& arguments) {
  if (!arguments.given("model")) arguments.fail("--model is missing: --model DIR names the trained model");
  TrainedModel trained = load_trained(arguments.text("model"));
  SubjectReader reader(arguments, trained);
  const std::vector<Subject> subjects = reader.read();
  const Array probabilities = probabilities_of(trained, subjects);
  // The classes of a model that was not trained here have only numbers.
  std::vector<std::string> names = trained.kind.class_names;
  for (std::int64_t i = static_cast<std::int64_t>(names.size()); i < probabilities.shape()[1]; ++i)
    names.push_back(fmt::format("{}", i));
  if (arguments.flag("json")) {
    Json json;
    json.set("model", arguments.text("model"));
    json.set("skipped", json_list(reader.skipped()));
    json.set("predictions", json_of(subjects, probabilities, names, trained.kind.noun()));
    print_json(json);
    return 0;
  }
  print(
      table_of(subjects, probabilities, names, trained.kind.noun(), static_cast<std::size_t>(arguments.whole("top"))));
  return 0;
}

}  // namespace pando::cli
