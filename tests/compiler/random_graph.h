// SPDX-License-Identifier: Apache-2.0
// Random training steps for comparing ways to compile them.
#pragma once
#include <pando/graph/graph.h>

#include <cstdint>
#include <vector>

namespace pando {

// Chooses from a list of bytes, so that a failing graph can be shrunk by shortening the list.
class Decisions {
 public:
  explicit Decisions(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {}
  bool at_end() const { return next_ >= bytes_.size(); }
  // In [0, count); 0 when the list is used up.
  int choose(int count) { return at_end() ? 0 : bytes_[next_++] % count; }

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t next_ = 0;
};

// A graph of inputs, variables, whatever ops the decisions chose, often a loss with gradients and updates. Its values
// stay small, so that differences are those of the compiler and not of overflow.
Graph build_random_graph(Decisions& decisions);

}  // namespace pando
