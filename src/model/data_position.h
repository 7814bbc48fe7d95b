// SPDX-License-Identifier: Apache-2.0
// DataPosition: a place in a data set, and what is needed to reach it again.
#pragma once
#include <pando/data/dataset.h>

#include "io/json_fields.h"

namespace pando {

// What is needed to reach the same batches again.
struct DataPosition {
  // The state of the Dataset before the open pass: the order of the pass depends on it and on the key. Nothing if the
  // next epoch opens a pass.
  std::optional<Json> pass = {};
  // Batches of the pass that were used.
  std::int64_t batches = 0;
  // The state of the Dataset now, which later passes, also over other Datasets made of it, depend on.
  Json now = {};
};

Json to_json(const DataPosition& position);
// Throws Error naming the member that makes no sense.
DataPosition data_position_of(const JsonFields& fields);

// A pass over a Dataset, which knows how to come back to its elements.
struct DatasetPass {
  // The state of the Dataset before the pass.
  Json before;
  data::Dataset::Iterator iterator;
  // Elements that were used.
  std::int64_t used = 0;
};

// Begins with the first element.
DatasetPass begin_pass(const data::Dataset& dataset);
DataPosition position_of(const data::Dataset& dataset, const DatasetPass& pass);
// Begins the pass of a position once more and goes to its place. The Dataset then has the state of that time; the
// caller gives it position.now when all passes are open. Throws Error if the position is of another Dataset, or beyond
// the end of this one.
DatasetPass open_pass(const data::Dataset& dataset, const DataPosition& position);

}  // namespace pando
