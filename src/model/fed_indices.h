// SPDX-License-Identifier: Apache-2.0
// FedIndices: a column of the samples that chooses rows of a table as it is, such as the words that an Embedding looks
// up, or classes, as the targets of a loss do. The host checks it before it is fed, so that no device meets an index
// out of range.
#pragma once
#include <pando/model/trace.h>

#include "ops/index_range.h"

namespace pando {

struct FedIndices {
  enum class Choice { rows, classes };

  std::size_t column = 0;
  DType dtype = DType::int32;
  Choice choice = Choice::rows;
  // Of indices, their range; of classes, how many there are. `ignored` chooses none of them.
  IndexRange range = {};
  std::optional<std::int64_t> ignored = {};
  // The op, or the loss, and its node, for messages.
  std::string op = {}, name = {};

  // Throws Error naming the first of the values that is not an index of the range, or not the number of a class.
  void check(const std::byte* values, std::int64_t value_count) const;
};

// The columns whose values are indices of the ops of a step, or targets of its losses; a number may be cast, and the
// shape changed, on the way.
std::vector<FedIndices> find_fed_indices(const Trace& step, const std::vector<std::string>& columns);

}  // namespace pando
