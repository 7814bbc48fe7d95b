// SPDX-License-Identifier: Apache-2.0
// Confusion: which classes a classifier mistakes for which others.
#pragma once
#include <pando/base/array.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pando {

struct Mistake {
  std::int64_t sample = 0;
  std::int64_t label = 0, said = 0;
  // The score of the predicted class.
  double score = 0;
};

// All mistakes that take one class for one other, the surest first.
struct ConfusedPair {
  std::int64_t label = 0, said = 0;
  std::vector<Mistake> mistakes = {};
};

struct Confusion {
  std::int64_t classes = 0, samples = 0, wrong = 0;
  // Whether all scores are from 0 to 1, as softmax makes them.
  bool scores_are_probabilities = true;
  // A row for each label, a column for each predicted class.
  std::vector<std::int64_t> counts = {};
  // The most frequent first.
  std::vector<ConfusedPair> pairs = {};

  std::int64_t count(std::int64_t label, std::int64_t said) const {
    return counts[static_cast<std::size_t>(label * classes + said)];
  }
  std::int64_t samples_of(std::int64_t label) const;
};

// Labels [n], [n, 1] or one-hot [n, classes]; scores [n, classes], of which the largest wins. Throws Error, which
// begins with `who`, if they do not match or a label is not a class.
Confusion confusion_of(const std::string& who, const Array& labels, const Array& scores);

}  // namespace pando
