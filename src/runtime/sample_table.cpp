// SPDX-License-Identifier: Apache-2.0
#include "runtime/sample_table.h"

#include <algorithm>

namespace pando {

const SampleTable::Copy* SampleTable::find(const Memory& memory, std::size_t column) const {
  const auto found = std::find_if(copies_.begin(), copies_.end(), [&](const Copy& copy) {
    return copy.column == column && copy.allocation.place().memory == &memory;
  });
  return found == copies_.end() ? nullptr : &*found;
}

Place SampleTable::mirror_in(const std::shared_ptr<Memory>& memory, std::size_t column) const {
  const std::lock_guard lock(mutex_);
  if (const Copy* found = find(*memory, column)) return found->allocation.place();
  const Array& array = columns_[column];
  Allocation allocation = memory->allocate(array.bytes(), "the samples of a data set");
  memory->write(allocation.place(), array.raw(), array.bytes());
  copies_.push_back({column, std::move(allocation)});
  return copies_.back().allocation.place();
}

std::size_t SampleTable::missing_bytes(const Memory& memory, const std::vector<int>& columns) const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const int column : columns)
    if (column >= 0 && find(memory, static_cast<std::size_t>(column)) == nullptr)
      bytes += columns_[static_cast<std::size_t>(column)].bytes();
  return bytes;
}

}  // namespace pando
