// Sums of products over rows and panels of columns: the inner loops of matmul and convolution.
#pragma once
#include <cstdint>

namespace pando::cpu {

// For i < rows and j < columns:
//   c[c_rows[i] + j] = sum over s < segment_count and k < depth of
//                      a[a_rows[i] + segments[s] + k * a_step] * b(s * depth + k, j)
// where b(k, j) = b[j / panel * b_panel + k * b_step + j % panel]; with `accumulate` the sum is added to c instead.
// Each element is summed in the order of s and k, whatever the other sizes, so any split of rows and columns gives the
// same bits.
template <class T>
struct Product {
  const T* a = nullptr;
  const std::int64_t* a_rows = nullptr;
  const std::int64_t* segments = nullptr;
  std::int64_t segment_count = 0;
  std::int64_t depth = 0;
  std::int64_t a_step = 1;
  // Rows of b are readable up to the next whole vector.
  const T* b = nullptr;
  std::int64_t b_step = 0;
  std::int64_t b_panel = 0;
  std::int64_t panel = 0;
  T* c = nullptr;
  const std::int64_t* c_rows = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool accumulate = false;
};

// A matrix to be laid out as panels: to[j / panel * panel_step + k * panel + j % panel] = from(k, j), zeros behind the
// last column.
template <class T>
struct Packing {
  const T* from = nullptr;
  // Elements between rows k, or between columns j if transposed; the other index has step 1.
  std::int64_t step = 0;
  std::int64_t depth = 0;
  std::int64_t columns = 0;
  std::int64_t panel = 0;
  T* to = nullptr;
  std::int64_t panel_step = 0;
};

template <class T>
struct MatrixRoutinesOf {
  // The largest block that stays in registers: rows, and vectors of `lanes` columns, which bound `panel`.
  std::int64_t block_rows;
  std::int64_t panel_vectors;
  std::int64_t lanes;
  void (*multiply)(const Product<T>& product);
  // The same with a[... + j] in place of a[...] and b(k, j) = b[k * b_step + j]: each column by itself.
  void (*multiply_columns)(const Product<T>& product);
  void (*pack)(const Packing<T>& packing);
  void (*pack_transposed)(const Packing<T>& packing);
};

struct MatrixRoutines {
  MatrixRoutinesOf<float> float32;
  MatrixRoutinesOf<double> float64;
};

}  // namespace pando::cpu
