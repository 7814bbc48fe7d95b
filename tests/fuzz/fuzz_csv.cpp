// SPDX-License-Identifier: Apache-2.0
// CSV tables: whatever is read has a number in every cell and a label for every row.
#include <cmath>

#include "data/formats/csv.h"
#include "tests/fuzz/fuzz.h"

namespace {

void check(const pando::data::CsvTable& table, bool has_labels) {
  const pando::Shape& shape = table.values.shape();
  const bool fits = shape.rank() == 2 && shape[1] == std::ssize(table.columns) &&
                    std::ssize(table.labels) == (has_labels ? shape[0] : 0);
  if (!fits) throw std::logic_error("the table does not fit its header");
  for (std::int64_t i = 0; i < table.values.elements(); ++i)
    if (!std::isfinite(table.values.data<float>()[i])) throw std::logic_error("a cell is not a number");
}

}  // namespace

void pando::read_bytes(std::span<const std::byte> bytes) {
  for (const bool has_labels : {true, false}) {
    ByteFile file("table", bytes);
    check(data::read_csv(file, {.has_labels = has_labels, .skip_bad = true}), has_labels);
  }
  ByteFile file("table", bytes);
  check(data::read_csv(file, {}), true);
}
