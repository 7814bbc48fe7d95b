// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/routines/matmul.h"

#include "backends/cpu/routines/transpose.h"

namespace pando::cpu {
namespace {

using std::int64_t;

// With PANDO_INLINE functions are inlined before anything else: what they add to must be registers, never memory.

// As many accumulators as leave registers for a row of b and an element of a.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int block_rows = 8;
#elif defined(__AVX2__)
constexpr int block_rows = 6;
#else
constexpr int block_rows = 4;
#endif
#if defined(__AVX512F__)
constexpr int panel_vectors = 3;
#else
constexpr int panel_vectors = 2;
#endif

// A product of exactly this many rows, such as the taps of a 3 x 3 filter, is one block, and rows side by side make
// blocks of this many.
#if defined(__aarch64__) || defined(__AVX512F__)
constexpr int most_rows = 9;
#else
constexpr int most_rows = block_rows;
#endif

// sum += a * b. On aarch64 compilers spend a vector instruction on the broadcast that the multiplication has built in.
inline void multiply_add(Vector<float>& sum, float a, Vector<float> b) {
#if defined(__aarch64__)
  asm("fmla %0.4s, %1.4s, %2.s[0]" : "+w"(sum) : "w"(b), "w"(a));
#else
  sum = fused_multiply_add(splat(a), b, sum);
#endif
}

inline void multiply_add(Vector<double>& sum, double a, Vector<double> b) {
#if defined(__aarch64__)
  asm("fmla %0.2d, %1.2d, %2.d[0]" : "+w"(sum) : "w"(b), "w"(a));
#else
  sum = fused_multiply_add(splat(a), b, sum);
#endif
}

#if defined(__aarch64__)
// sum += a[lane] * b.
template <int lane>
inline void multiply_add_lane(Vector<float>& sum, Vector<float> a, Vector<float> b) {
  asm("fmla %0.4s, %1.4s, %2.s[%3]" : "+w"(sum) : "w"(b), "w"(a), "i"(lane));
}

template <int lane>
inline void multiply_add_lane(Vector<double>& sum, Vector<double> a, Vector<double> b) {
  asm("fmla %0.2d, %1.2d, %2.d[%3]" : "+w"(sum) : "w"(b), "w"(a), "i"(lane));
}
#endif

template <class T, int rows, int vectors, bool accumulate>
inline void write_whole(T* c, const int64_t* c_rows, T scale, const Vector<T> (&sum)[rows][vectors]) {
  constexpr int lanes = VectorOf<T>::lanes;
  PANDO_UNROLL
  for (int r = 0; r < rows; ++r) {
    T* const to = c + c_rows[r];
    PANDO_UNROLL
    for (int v = 0; v < vectors; ++v) {
      store(to + v * lanes, accumulate ? load(to + v * lanes) + splat(scale) * sum[r][v] : sum[r][v]);
    }
  }
}

template <class T>
inline void write_lanes(const Product<T>& product, const auto& lanes, T* to, Vector<T> sum) {
  lanes.store(to, product.accumulate ? lanes.load(to) + splat(product.scale) * sum : sum);
}

template <class T, int rows, int vectors>
inline void write_block(const Product<T>& product, int64_t first_row, int64_t first_column,
                        const Vector<T> (&sum)[rows][vectors]) {
  constexpr int lanes = VectorOf<T>::lanes;
  T* const c = product.c + first_column;
  const int64_t* const c_rows = product.c_rows + first_row;
  const int64_t columns = product.columns - first_column;
  if (columns >= vectors * lanes) {
    return product.accumulate ? write_whole<T, rows, vectors, true>(c, c_rows, product.scale, sum)
                              : write_whole<T, rows, vectors, false>(c, c_rows, product.scale, sum);
  }
  constexpr int last = (vectors - 1) * lanes;
  const PartOfVector<T> part(columns - last);
  PANDO_UNROLL
  for (int r = 0; r < rows; ++r) {
    T* const to = c + c_rows[r];
    PANDO_UNROLL
    for (int v = 0; v + 1 < vectors; ++v) write_lanes(product, WholeVector<T>(), to + v * lanes, sum[r][v]);
    write_lanes(product, part, to + last, sum[r][vectors - 1]);
  }
}

// A block of sums in registers. Every way to add to it adds in the order of the inner dimension.
template <class T, int rows, int vectors>
struct Sums {
  static constexpr int lanes = VectorOf<T>::lanes;
  Vector<T> sum[rows][vectors] = {};

  // One element of each row of a, times a row of b.
  PANDO_INLINE void add(const T* a, const int64_t (&row)[rows], const T* b) {
    Vector<T> right[vectors];
    PANDO_UNROLL
    for (int v = 0; v < vectors; ++v) right[v] = load(b + v * lanes);
    PANDO_UNROLL
    for (int r = 0; r < rows; ++r) {
      const T left = a[row[r]];
      PANDO_UNROLL
      for (int v = 0; v < vectors; ++v) multiply_add(sum[r][v], left, right[v]);
    }
  }

#if defined(__aarch64__)
  // A vector of each row of a, times as many rows of b: a fraction of the loads that single elements take.
  PANDO_INLINE void add_along_depth(const T* a, const int64_t (&row)[rows], const T* b, int64_t b_step) {
    Vector<T> left[rows];
    add_lanes_of_rows<0>(a, row, left, b, b_step);
  }

  template <int lane>
  PANDO_INLINE void add_lanes_of_rows(const T* a, const int64_t (&row)[rows], Vector<T> (&left)[rows], const T* b,
                                      int64_t b_step) {
    Vector<T> right[vectors];
    PANDO_UNROLL
    for (int v = 0; v < vectors; ++v) right[v] = load(b + v * lanes);
    PANDO_UNROLL
    for (int r = 0; r < rows; ++r) {
      if constexpr (lane == 0) left[r] = load(a + row[r]);
      PANDO_UNROLL
      for (int v = 0; v < vectors; ++v) multiply_add_lane<lane>(sum[r][v], left[r], right[v]);
    }
    if constexpr (lane + 1 < lanes) add_lanes_of_rows<lane + 1>(a, row, left, b + b_step, b_step);
  }

  // The same for rows that lie side by side.
  PANDO_INLINE void add_side_by_side(const T* a, const T* b) {
    Vector<T> right[vectors];
    PANDO_UNROLL
    for (int v = 0; v < vectors; ++v) right[v] = load(b + v * lanes);
    add_rows_of_vectors<0>(a, right);
    PANDO_UNROLL
    for (int r = rows / lanes * lanes; r < rows; ++r) {
      PANDO_UNROLL
      for (int v = 0; v < vectors; ++v) multiply_add(sum[r][v], a[r], right[v]);
    }
  }

  template <int first>
  PANDO_INLINE void add_rows_of_vectors(const T* a, const Vector<T> (&right)[vectors]) {
    if constexpr (first + lanes <= rows) {
      add_lanes_of_vector<first, 0>(load(a + first), right);
      add_rows_of_vectors<first + lanes>(a, right);
    }
  }

  template <int first, int lane>
  PANDO_INLINE void add_lanes_of_vector(Vector<T> left, const Vector<T> (&right)[vectors]) {
    PANDO_UNROLL
    for (int v = 0; v < vectors; ++v) multiply_add_lane<lane>(sum[first + lane][v], left, right[v]);
    if constexpr (lane + 1 < lanes) add_lanes_of_vector<first, lane + 1>(left, right);
  }
#endif
};

#if defined(__aarch64__)
template <int rows>
inline bool are_side_by_side(const int64_t* row) {
  bool result = true;
  for (int r = 1; r < rows; ++r) result &= row[r] == row[0] + r;
  return result;
}

// By itself: with all other ways to add, saving registers would cost more than the few steps of a short sum.
template <class T, int rows, int vectors>
__attribute__((noinline)) void multiply_side_by_side(const Product<T>& product, int64_t first_row, int64_t first_column,
                                                     const T* b) {
  Sums<T, rows, vectors> sums;
  const T* const rows_of_a = product.a + product.a_rows[first_row];
  const T* const first_b = b;
  for (int64_t s = 0; s < product.segment_count; ++s) {
    const T* a = rows_of_a + product.segments[s];
    if (product.b_segments != nullptr) b = first_b + product.b_segments[s];
    for (int64_t k = 0; k < product.depth; ++k, a += product.a_step, b += product.b_step) sums.add_side_by_side(a, b);
  }
  write_block<T, rows, vectors>(product, first_row, first_column, sums.sum);
}
#endif

template <class T, int rows, int vectors>
__attribute__((noinline)) void multiply_block(const Product<T>& product, int64_t first_row, int64_t first_column,
                                              const T* b) {
  Sums<T, rows, vectors> sums;
  int64_t row[rows];
  for (int r = 0; r < rows; ++r) row[r] = product.a_rows[first_row + r];
  const T* const first_b = b;
  for (int64_t s = 0; s < product.segment_count; ++s) {
    const T* a = product.a + product.segments[s];
    if (product.b_segments != nullptr) b = first_b + product.b_segments[s];
    int64_t k = 0;
#if defined(__aarch64__)
    constexpr int lanes = VectorOf<T>::lanes;
    if (product.a_step == 1) {
      for (; k + lanes <= product.depth; k += lanes, a += lanes, b += lanes * product.b_step) {
        sums.add_along_depth(a, row, b, product.b_step);
      }
    }
#endif
    for (; k < product.depth; ++k, a += product.a_step, b += product.b_step) sums.add(a, row, b);
  }
  write_block<T, rows, vectors>(product, first_row, first_column, sums.sum);
}

// `count` blocks below each other from the row `first` on; then, `step` rows further, the same number again, `runs`
// times in all.
struct BlockRuns {
  int64_t first, count, runs, step;
};

template <class T, int rows, int vectors>
void multiply_blocks(const Product<T>& product, const BlockRuns& blocks, int64_t first_column, const T* b) {
  constexpr int line = 64 / sizeof(T), columns = vectors * VectorOf<T>::lanes;
  for (int64_t run = 0; run < blocks.runs; ++run) {
    const int64_t first = blocks.first + run * blocks.step;
    for (int64_t row = first; row < first + blocks.count * rows; row += rows) {
      if (product.accumulate) {
        for (int r = 0; r < rows; ++r) {
          const T* const c = product.c + product.c_rows[row + r] + first_column;
          for (int j = 0; j < columns; j += line) __builtin_prefetch(c + j, 1);
        }
      }
#if defined(__aarch64__)
      if (rows >= VectorOf<T>::lanes && are_side_by_side<rows>(product.a_rows + row)) {
        multiply_side_by_side<T, rows, vectors>(product, row, first_column, b);
        continue;
      }
#endif
      multiply_block<T, rows, vectors>(product, row, first_column, b);
    }
  }
}

template <class T>
struct Blocks {
  void (*of[most_rows + 1][panel_vectors + 1])(const Product<T>&, const BlockRuns&, int64_t, const T*) = {};

  constexpr Blocks() { enter<most_rows, panel_vectors>(); }

  template <int rows, int vectors>
  constexpr void enter() {
    of[rows][vectors] = multiply_blocks<T, rows, vectors>;
    if constexpr (vectors > 1) {
      enter<rows, vectors - 1>();
    } else if constexpr (rows > 1) {
      enter<rows - 1, panel_vectors>();
    }
  }
};

template <class T>
constexpr Blocks<T> blocks;

// `runs` times that many rows, from the row `first` on, times one panel; each run in blocks of nearly equal height: a
// last block of a row or two would wait for its own additions.
template <class T>
inline void multiply_runs(const Product<T>& product, int64_t first, int64_t rows, int64_t runs, int64_t most,
                          int64_t vectors, int64_t column, const T* b) {
  if (rows == 0 || runs == 0) return;
  const int64_t count = (rows + most - 1) / most, height = rows / count, higher = rows - height * count;
  const BlockRuns upper = {first, higher, runs, rows};
  const BlockRuns lower = {first + higher * (height + 1), count - higher, runs, rows};
  if (higher > 0) blocks<T>.of[height + 1][vectors](product, upper, column, b);
  blocks<T>.of[height][vectors](product, lower, column, b);
}

// How many rows from the first on lie side by side, as the pixels of an image with one channel do.
template <class T>
inline int64_t rows_side_by_side(const Product<T>& product) {
  int64_t rows = 1;
  while (rows < product.rows && product.a_rows[rows] == product.a_rows[0] + rows) ++rows;
  return rows;
}

template <class T>
void multiply(const Product<T>& product) {
  constexpr int lanes = VectorOf<T>::lanes;
  if (product.rows <= 0) return;
  // Where long runs of rows lie side by side, no block holds the end of one and the beginning of the next.
  const int64_t run = most_rows > block_rows ? rows_side_by_side(product) : 1;
  const int64_t rows = run > block_rows ? run : product.rows, runs = product.rows / rows, whole = rows * runs;
  const int64_t most = run > block_rows || product.rows <= most_rows ? most_rows : block_rows;
  const T* b = product.b;
  for (int64_t column = 0; column < product.columns; column += product.panel, b += product.b_panel) {
    const int64_t left = product.columns - column;
    const int64_t width = left < product.panel ? left : product.panel;
    const int64_t vectors = (width + lanes - 1) / lanes;
    multiply_runs(product, 0, rows, runs, most, vectors, column, b);
    multiply_runs(product, whole, product.rows - whole, 1, most, vectors, column, b);
  }
}

template <class V, class T>
inline V load_as(const T* from) {
  V value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

// One vector of columns (V a vector) or one column (V = T).
template <class V, int rows, class T>
void multiply_columns_block(const Product<T>& product, int64_t first_row, int64_t column) {
  V sum[rows] = {};
  int64_t row[rows];
  for (int r = 0; r < rows; ++r) row[r] = product.a_rows[first_row + r] + column;
  const T* b = product.b + column;
  for (int64_t s = 0; s < product.segment_count; ++s) {
    const T* a = product.a + product.segments[s];
    for (int64_t k = 0; k < product.depth; ++k, a += product.a_step, b += product.b_step) {
      const V right = load_as<V>(b);
      PANDO_UNROLL
      for (int r = 0; r < rows; ++r) sum[r] = fused_multiply_add(load_as<V>(a + row[r]), right, sum[r]);
    }
  }
  PANDO_UNROLL
  for (int r = 0; r < rows; ++r) {
    T* const c = product.c + product.c_rows[first_row + r] + column;
    const V result = product.accumulate ? load_as<V>(c) + product.scale * sum[r] : sum[r];
    __builtin_memcpy(c, &result, sizeof result);
  }
}

// All columns of a block before the next: their elements share cache lines.
template <int rows, class T>
void multiply_columns_rows(const Product<T>& product, int64_t first_row) {
  constexpr int lanes = VectorOf<T>::lanes;
  int64_t column = 0;
  for (; column + lanes <= product.columns; column += lanes) {
    multiply_columns_block<Vector<T>, rows>(product, first_row, column);
  }
  for (; column < product.columns; ++column) multiply_columns_block<T, rows>(product, first_row, column);
}

template <class T>
void multiply_columns(const Product<T>& product) {
  int64_t row = 0;
  for (; row + block_rows <= product.rows; row += block_rows) multiply_columns_rows<block_rows>(product, row);
  for (; row < product.rows; ++row) multiply_columns_rows<1>(product, row);
}

// `count` elements, then zeros up to `panel`.
template <class T>
inline void copy_row(const T* from, int64_t count, T* to, int64_t panel) {
  constexpr int lanes = VectorOf<T>::lanes;
  int64_t j = 0;
  for (; j + lanes <= count; j += lanes) store(to + j, load(from + j));
  for (; j < count; ++j) to[j] = from[j];
  for (; j < panel; ++j) to[j] = T(0);
}

// Whole panels of that many vectors, of which the last may be a part of one.
template <class T, int vectors>
void pack_whole(const Packing<T>& packing, int64_t panels, const auto& last) {
  constexpr int lanes = VectorOf<T>::lanes;
  for (int64_t k = 0; k < packing.depth; ++k) {
    const T* from = packing.from + k * packing.step;
    T* to = packing.to + k * packing.panel;
    for (int64_t panel = 0; panel < panels; ++panel, from += packing.panel, to += packing.panel_step) {
      PANDO_UNROLL
      for (int v = 0; v + 1 < vectors; ++v) store(to + v * lanes, load(from + v * lanes));
      last.store(to + (vectors - 1) * lanes, last.load(from + (vectors - 1) * lanes));
    }
  }
}

// Packs the whole panels, and says how many these are; none of panels wider than those of a product.
template <class T, int vectors = panel_vectors>
int64_t pack_whole_panels(const Packing<T>& packing) {
  constexpr int lanes = VectorOf<T>::lanes;
  const int64_t panels = packing.columns / packing.panel;
  if (packing.panel == vectors * lanes) {
    pack_whole<T, vectors>(packing, panels, WholeVector<T>());
    return panels;
  }
  if constexpr (vectors > 1) return pack_whole_panels<T, vectors - 1>(packing);
  if (packing.panel > lanes) return 0;
  pack_whole<T, 1>(packing, panels, PartOfVector<T>(packing.panel));
  return panels;
}

template <class T>
void pack(const Packing<T>& packing) {
  const int64_t whole = pack_whole_panels(packing), first = whole * packing.panel;
  if (first == packing.columns) return;
  for (int64_t k = 0; k < packing.depth; ++k) {
    const T* const from = packing.from + k * packing.step;
    T* to = packing.to + k * packing.panel + whole * packing.panel_step;
    for (int64_t column = first; column < packing.columns; column += packing.panel, to += packing.panel_step) {
      const int64_t left = packing.columns - column;
      const int64_t width = left < packing.panel ? left : packing.panel;
      copy_row(from + column, width, to, packing.panel);
    }
  }
}

// to[k * panel + j] = from[j * step + k] for j < lanes, k < depth.
template <class T>
void pack_vector_of_columns(const T* from, int64_t step, int64_t depth, T* to, int64_t panel) {
  constexpr int lanes = VectorOf<T>::lanes;
  int64_t k = 0;
  for (; k + lanes <= depth; k += lanes) {
    Vector<T> rows[lanes];
    PANDO_UNROLL
    for (int j = 0; j < lanes; ++j) rows[j] = load(from + j * step + k);
    transpose_square<T, lanes>(rows);
    PANDO_UNROLL
    for (int j = 0; j < lanes; ++j) store(to + (k + j) * panel, rows[j]);
  }
  for (; k < depth; ++k) {
    for (int j = 0; j < lanes; ++j) to[k * panel + j] = from[j * step + k];
  }
}

template <class T>
void pack_transposed(const Packing<T>& packing) {
  constexpr int lanes = VectorOf<T>::lanes;
  T* panel_to = packing.to;
  for (int64_t column = 0; column < packing.columns; column += packing.panel, panel_to += packing.panel_step) {
    const int64_t left = packing.columns - column;
    const int64_t width = left < packing.panel ? left : packing.panel;
    const T* const from = packing.from + column * packing.step;
    int64_t j = 0;
    for (; j + lanes <= width; j += lanes) {
      pack_vector_of_columns(from + j * packing.step, packing.step, packing.depth, panel_to + j, packing.panel);
    }
    for (; j < packing.panel; ++j) {
      for (int64_t k = 0; k < packing.depth; ++k) {
        panel_to[k * packing.panel + j] = j < width ? from[j * packing.step + k] : T(0);
      }
    }
  }
}

template <class T>
void fill_table(MatmulRoutinesOf<T>& table) {
  table.block_rows = block_rows;
  table.panel_vectors = panel_vectors;
  table.lanes = VectorOf<T>::lanes;
#if defined(__aarch64__)
  table.prefers_side_by_side = true;
#else
  table.prefers_side_by_side = false;
#endif
#if defined(__x86_64__)
  table.prefers_whole_rows = true;
#else
  table.prefers_whole_rows = false;
#endif
  table.multiply = multiply<T>;
  table.multiply_columns = multiply_columns<T>;
  table.pack = pack<T>;
  table.pack_transposed = pack_transposed<T>;
}

}  // namespace

PANDO_KERNEL_BEGIN

void fill(MatmulRoutines& table) {
  fill_table(table.float32);
  fill_table(table.float64);
}

PANDO_KERNEL_END
}  // namespace pando::cpu
