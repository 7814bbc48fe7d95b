// SPDX-License-Identifier: Apache-2.0
// Which pieces of work must wait for which: a piece waits for earlier pieces that write what it reads or writes, or
// read what it writes. The rest may run at the same time, as branches of a CUDA graph.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pando::cuda {

// A part of memory that a piece of work reads, or writes.
struct Access {
  std::uintptr_t begin = 0, end = 0;
  bool writes = false;
};

class WorkOrder {
 public:
  // Adds a piece of work. Returns the numbers of the earlier pieces that it waits for, in ascending order. Pieces that
  // one of these waits for are left out.
  std::vector<std::size_t> add(std::span<const Access> accesses);
  // The pieces that no other waits for.
  std::vector<std::size_t> last() const;

 private:
  struct Work {
    std::vector<Access> accesses;
    // A bit for each piece before it that it waits for, directly or through others.
    std::vector<std::uint64_t> before;
    bool is_last = true;
  };
  std::vector<Work> works_;
};

}  // namespace pando::cuda
