// SPDX-License-Identifier: Apache-2.0
#include "report/pages/confusion.h"

#include <pando/base/array_functions.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace pando {

namespace {

void check_shapes(const std::string& who, const Array& labels, const Array& scores) {
  const Shape &given = labels.shape(), &wanted = scores.shape();
  if (wanted.rank() != 2 || wanted[0] < 1 || wanted[1] < 2)
    throw Error(
        fmt::format("{}: probabilities of the shape {} are not one score for each of several classes; give "
                    "[n, classes]",
                    who, to_string(wanted)));
  const bool flat = given.rank() == 1 || (given.rank() == 2 && given[1] == 1);
  const bool one_hot = given.rank() == 2 && given[1] == wanted[1];
  if ((!flat && !one_hot) || given[0] != wanted[0])
    throw Error(
        fmt::format("{}: labels of the shape {} do not belong to probabilities of the shape {}; give [{}], or "
                    "one-hot [{}, {}]",
                    who, to_string(given), to_string(wanted), wanted[0], wanted[0], wanted[1]));
}

// The class of each sample.
std::vector<std::int64_t> classes_of(const std::string& who, const Array& labels, std::int64_t classes) {
  const bool one_hot = labels.shape().rank() == 2 && labels.shape()[1] > 1;
  const Array values = (one_hot ? argmax(labels, 1) : labels).astype(DType::float64);
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < values.elements(); ++i) {
    const double label = values.data<double>()[i];
    if (!(label >= 0 && label < static_cast<double>(classes)) || label != std::floor(label))
      throw Error(fmt::format("{}: label {} is {} but there are {} classes, so labels must be 0 to {}", who, i, label,
                              classes, classes - 1));
    list.push_back(static_cast<std::int64_t>(label));
  }
  return list;
}

}  // namespace

std::int64_t Confusion::samples_of(std::int64_t label) const {
  std::int64_t sum = 0;
  for (std::int64_t said = 0; said < classes; ++said) sum += count(label, said);
  return sum;
}

Confusion confusion_of(const std::string& who, const Array& labels, const Array& scores) {
  check_shapes(who, labels, scores);
  Confusion confusion{.classes = scores.shape()[1], .samples = scores.shape()[0]};
  confusion.counts.resize(static_cast<std::size_t>(confusion.classes * confusion.classes));
  const std::vector<std::int64_t> label_of = classes_of(who, labels, confusion.classes);
  const Array values = scores.astype(DType::float64);
  std::map<std::pair<std::int64_t, std::int64_t>, ConfusedPair> pairs;
  for (std::int64_t sample = 0; sample < confusion.samples; ++sample) {
    const double* row = values.data<double>() + sample * confusion.classes;
    const auto is_probability = [](double score) { return score >= 0 && score <= 1; };
    if (!std::all_of(row, row + confusion.classes, is_probability)) confusion.scores_are_probabilities = false;
    // A score that is not a number never wins.
    const auto less = [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; };
    const std::int64_t said = std::max_element(row, row + confusion.classes, less) - row;
    const std::int64_t label = label_of[static_cast<std::size_t>(sample)];
    ++confusion.counts[static_cast<std::size_t>(label * confusion.classes + said)];
    if (said == label) continue;
    ++confusion.wrong;
    ConfusedPair& pair = pairs[{label, said}];
    pair.label = label;
    pair.said = said;
    pair.mistakes.push_back({.sample = sample, .label = label, .said = said, .score = row[said]});
  }
  for (auto& [key, pair] : pairs) {
    std::stable_sort(pair.mistakes.begin(), pair.mistakes.end(),
                     [](const Mistake& a, const Mistake& b) { return a.score > b.score; });
    confusion.pairs.push_back(std::move(pair));
  }
  std::stable_sort(confusion.pairs.begin(), confusion.pairs.end(),
                   [](const auto& a, const auto& b) { return a.mistakes.size() > b.mistakes.size(); });
  return confusion;
}

}  // namespace pando
