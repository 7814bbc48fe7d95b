// SPDX-License-Identifier: Apache-2.0
// What the kernels that are made of Products share: scratch layout, panels, and which tile computes which part.
#pragma once
#include <algorithm>
#include <type_traits>
#include <utility>

#include "backends/cpu/kernels.h"

namespace pando::cpu {

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

template <class T>
const MatmulRoutinesOf<T>& matrix_routines(const Routines& routines) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return routines.matmul.float32;
  } else {
    return routines.matmul.float64;
  }
}

// The routines for results of type T from factors of type S.
template <class T, class S>
const auto& product_routines(const Routines& routines) {
  if constexpr (std::is_same_v<T, S>) {
    return matrix_routines<T>(routines);
  } else {
    return *routines.matmul.mixed;
  }
}
template <class T, class S>
using ProductRoutines = std::remove_cvref_t<decltype(product_routines<T, S>(std::declval<const Routines&>()))>;

// The width of panels of nearly equal width, a whole number of vectors, that cover `columns`.
std::int64_t panel_width(const auto& matrix, std::int64_t columns) {
  const std::int64_t vectors = std::max<std::int64_t>(divide_up(columns, matrix.lanes), 1);
  return divide_up(vectors, divide_up(vectors, matrix.panel_vectors)) * matrix.lanes;
}

// Allocates aligned parts of a kernel's scratch memory.
class ScratchLayout {
 public:
  std::size_t add(std::size_t bytes) {
    const std::size_t offset = bytes_;
    bytes_ += align(bytes);
    return offset;
  }
  template <class T>
  std::size_t add_elements(std::int64_t count) {
    return add(static_cast<std::size_t>(count) * sizeof(T));
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

template <class T>
T* at(std::byte* scratch, std::size_t offset) {
  return reinterpret_cast<T*>(scratch + offset);
}

// Work that can be split three ways, in units that are not split: matrices or groups, blocks of rows, panels of
// columns.
struct Work {
  std::int64_t batches = 1;
  std::int64_t blocks = 1;
  std::int64_t panels = 1;
  // The costs of a unit: its arithmetic, loading a block of rows of a, and loading a panel of b.
  double block_cost = 1;
  double load_rows = 0;
  double load_panel = 0;
};

struct Part {
  Range batches, blocks, panels;
};

// The part of one of `tiles` tiles; the parts are chosen so that the slowest is as fast as can be.
class TileGrid {
 public:
  explicit TileGrid(const Work& work);
  Part part(const Tile& tile) const;

 private:
  struct Splits {
    std::int64_t batches = 1, blocks = 1, panels = 1;
  };
  Splits choose(std::int64_t tiles) const;

  Work work_;
  // By number of tiles, up to the usual ones.
  std::vector<Splits> splits_;
};

}  // namespace pando::cpu
