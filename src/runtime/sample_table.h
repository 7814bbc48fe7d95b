// SPDX-License-Identifier: Apache-2.0
// SampleTable: arrays whose rows are samples, with copies in the memories of devices that gather batches themselves.
#pragma once
#include <pando/base/array.h>

#include <mutex>
#include <vector>

#include "runtime/memory.h"

namespace pando {

// The arrays must not change while it lives.
class SampleTable {
 public:
  // That many samples lie along axis 0 of each column, one after the other.
  SampleTable(Arrays columns, std::int64_t samples) : columns_(std::move(columns)), samples_(samples) {}

  const Arrays& columns() const { return columns_; }
  std::size_t sample_bytes(std::size_t column) const {
    return columns_[column].bytes() / static_cast<std::size_t>(samples_);
  }
  // A copy of the column in that memory, made if there is none. Throws Error if there is not enough memory.
  Place mirror_in(const std::shared_ptr<Memory>& memory, std::size_t column) const;
  // The bytes that mirrors of these columns still need there.
  std::size_t missing_bytes(const Memory& memory, const std::vector<int>& columns) const;

 private:
  struct Copy {
    std::size_t column;
    Allocation allocation;
  };
  // Only while the mutex is held; null if there is no such copy.
  const Copy* find(const Memory& memory, std::size_t column) const;

  const Arrays columns_;
  const std::int64_t samples_;
  mutable std::mutex mutex_;
  mutable std::vector<Copy> copies_;
};

}  // namespace pando
