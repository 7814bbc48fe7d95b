// SPDX-License-Identifier: Apache-2.0
// Products of a sample's row with a matrix, and what else has rows: softmax, sums.
#pragma once
#include "backends/cuda/regions/device/cluster.h"
#include "base/philox.h"
#include "ops/scalar.h"

namespace pando::region {

// What blocks split of a product: each computes all of a small one.
enum class Split { none, columns, depth };

// y[j] = sum over k of a[k] * w[k * columns + j]. Threads split the depth, in `parts`.
template <int depth_, int columns_, int width_, int parts_, Split split>
struct RowProduct {
  static constexpr int depth = depth_, columns = columns_, width = width_, parts = parts_;
  static constexpr bool by_columns = split == Split::columns;
  static constexpr int own_columns = by_columns ? columns / ranks : columns;
  static constexpr int own_depth = split == Split::depth ? (depth + ranks - 1) / ranks : depth;
  static constexpr int groups = own_columns / width;
  // How many numbers of the depth a thread multiplies, and how many of them all threads have.
  static constexpr int turns = (own_depth + parts - 1) / parts;
  static constexpr int least_depth = split == Split::depth ? depth - (ranks - 1) * own_depth : depth;
  static constexpr int common_turns = least_depth > 0 ? least_depth / parts : 0;
};

template <class P>
PANDO_DEVICE void multiply_row(const Thread& t, const float* a, const float* w, int scratch) {
  const int first_column = P::by_columns ? t.rank * P::own_columns : 0;
  const int begin = P::own_depth < P::depth ? t.rank * P::own_depth : 0;
  const int end = begin + P::own_depth < P::depth ? begin + P::own_depth : P::depth;
  each_own<P::groups * P::parts>(t, [&](int item) {
    const int group = item % P::groups, part = item / P::groups;
    Vector<P::width> sum = {};
    // All loads of a few turns are on their way at once; one that a thread does not have is loaded in vain.
    constexpr int at_once = P::turns <= 24 ? P::turns : 16;
#ifndef PANDO_EMULATION
#pragma unroll(at_once)
#endif
    for (int turn = 0; turn < P::turns; ++turn) {
      const int k = begin + part + turn * P::parts;
      const bool is_own = turn < P::common_turns || k < end;
      const int safe = is_own ? k : P::depth - 1;
      const Vector<P::width> from = load<P::width>(w + safe * P::columns + first_column + group * P::width);
      const float factor = a[safe];
      PANDO_UNROLL
      for (int i = 0; i < P::width; ++i)
        if (is_own) sum.at[i] += factor * from.at[i];
    }
    store(shared<float>(t, scratch) + item * P::width, sum);
  });
}

// Sums over parts, in the order of parts: calls f(j, sum) in a block that has the column.
template <class P, class F>
PANDO_DEVICE void sum_parts(const Thread& t, int scratch, F f) {
  const int first_column = P::by_columns ? t.rank * P::own_columns : 0;
  const float* const from = shared<float>(t, scratch);
  each_own<P::own_columns>(t, [&](int j) {
    float sum = 0;
#ifndef PANDO_EMULATION
#pragma unroll 8
#endif
    for (int part = 0; part < P::parts; ++part) sum += from[part * P::own_columns + j];
    f(first_column + j, sum);
  });
}

// The same in two phases, for many parts: sums of `chunk` parts each, then the sum of those.
template <class P, int chunk>
PANDO_DEVICE void sum_chunks(const Thread& t, int scratch, int sums) {
  const float* const from = shared<float>(t, scratch);
  each_own<P::own_columns*((P::parts + chunk - 1) / chunk)>(t, [&](int i) {
    const int j = i % P::own_columns, first = i / P::own_columns * chunk;
    float sum = 0;
    PANDO_UNROLL
    for (int part = first; part < first + chunk; ++part)
      if (part < P::parts) sum += from[part * P::own_columns + j];
    shared<float>(t, sums)[i] = sum;
  });
}

// The sums of all blocks, which each block has at `scratch` in the order of ranks.
template <class P, class F>
PANDO_DEVICE void sum_ranks(const Thread& t, int scratch, F f) {
  const float* const from = shared<float>(t, scratch);
  each_own<P::columns>(t, [&](int j) {
    float sum = 0;
    PANDO_UNROLL
    for (int rank = 0; rank < ranks; ++rank) sum += from[rank * P::columns + j];
    f(j, sum);
  });
}

// y[i] = sum over j of a[j] * w[i * depth + j], the depth in `parts` of threads that are neighbours.
template <int results_, int depth_, int width_, int parts_>
struct TransposedProduct {
  static constexpr int results = results_, depth = depth_, width = width_, parts = parts_;
};

// A small one, all of it in every block: calls f(i, sum).
template <class P, class F>
PANDO_DEVICE void multiply_transposed_at_once(const Thread& t, const float* a, const float* w, F f) {
  each_own<P::results>(t, [&](int i) {
    float sum = 0;
    PANDO_UNROLL
    for (int j = 0; j < P::depth; j += P::width) {
      const Vector<P::width> from = load<P::width>(w + i * P::depth + j), factor = load<P::width>(a + j);
      PANDO_UNROLL
      for (int n = 0; n < P::width; ++n) sum += factor.at[n] * from.at[n];
    }
    f(i, sum);
  });
}

template <class P>
PANDO_DEVICE void multiply_transposed(const Thread& t, const float* a, const float* w, int scratch) {
  const Share share = share_of(t.rank, P::results);
  const int items = (share.end - share.begin) * P::parts;
  // A thread has several rows at once, so that more loads are on their way.
  constexpr int turns = (most_of_share(P::results) * P::parts + threads - 1) / threads, rows = turns < 4 ? turns : 4;
  for (int first = t.index; first < items; first += rows * threads) {
    float sum[rows] = {};
#ifndef PANDO_EMULATION
#pragma unroll(rows < 4 ? 4 : 2)
#endif
    for (int j = first % P::parts * P::width; j < P::depth; j += P::parts * P::width) {
      const Vector<P::width> factor = load<P::width>(a + j);
      PANDO_UNROLL
      for (int row = 0; row < rows; ++row) {
        const int item = first + row * threads < items ? first + row * threads : first;
        const Vector<P::width> from = load<P::width>(w + (share.begin + item / P::parts) * P::depth + j);
        PANDO_UNROLL
        for (int n = 0; n < P::width; ++n) sum[row] += factor.at[n] * from.at[n];
      }
    }
    PANDO_UNROLL
    for (int row = 0; row < rows; ++row)
      if (first + row * threads < items) shared<float>(t, scratch)[first + row * threads] = sum[row];
  }
}
template <class P, class F>
PANDO_DEVICE void sum_transposed(const Thread& t, int scratch, F f) {
  const int begin = share_of(t.rank, P::results).begin;
  const float* const from = shared<float>(t, scratch);
  each<P::results>(t, [&](int i) {
    float sum = 0;
    PANDO_UNROLL
    for (int part = 0; part < P::parts; ++part) sum += from[(i - begin) * P::parts + part];
    f(i, sum);
  });
}

template <int columns>
PANDO_DEVICE float largest_of(const float* x) {
  float largest = -__builtin_inff();
  // A NaN stays.
  PANDO_UNROLL
  for (int i = 0; i < columns; ++i) largest = scalar::maximum<float>(nullptr)(largest, x[i]);
  return largest;
}
// The first phase of a softmax: exp(x - the largest of x), a thread for each class.
template <int columns>
PANDO_DEVICE void exponentials(const Thread& t, const float* x, int scratch) {
  each_own<columns>(t, [&](int i) { shared<float>(t, scratch)[i] = scalar::math::exp(x[i] - largest_of<columns>(x)); });
}
template <int columns>
PANDO_DEVICE float sum_of(const float* x) {
  float sum = 0;
  PANDO_UNROLL
  for (int i = 0; i < columns; ++i) sum += x[i];
  return sum;
}

// Where the first of the largest is; the first NaN wins.
template <int columns>
PANDO_DEVICE int largest_at(const float* x) {
  int found = 0;
  for (int i = 1; i < columns; ++i)
    if (x[i] > x[found] || (x[i] != x[i] && x[found] == x[found])) found = i;
  return found;
}

// The second phase: a thread for each class, and each finds the sum of the exponentials for itself. f(class, its
// gradient, loss).
template <int columns, class F>
PANDO_DEVICE void sparse_cross_entropy(const Thread& t, const float* x, int scratch, int label, bool counts, F f) {
  const float* const e = shared<float>(t, scratch);
  each_own<columns>(t, [&](int i) {
    const bool valid = label >= 0 && label < columns;
    const float nan = __builtin_nanf("");
    const float sum = sum_of<columns>(e), chosen = valid ? x[label] - largest_of<columns>(x) : nan;
    const float probability = e[i] * (valid ? 1.0f / sum : nan);
    f(i, counts ? (i == label ? probability - 1.0f : probability) : 0.0f,
      counts ? scalar::math::log(sum) - chosen : 0.0f);
  });
}
template <int columns, class F>
PANDO_DEVICE void cross_entropy(const Thread& t, const float* x, int scratch, const float* target, F f) {
  const float* const e = shared<float>(t, scratch);
  each_own<columns>(t, [&](int i) {
    const float largest = largest_of<columns>(x), sum = sum_of<columns>(e);
    float mass = 0, chosen = 0;
    for (int k = 0; k < columns; ++k) mass += target[k], chosen += target[k] * (x[k] - largest);
    f(i, e[i] * (mass / sum) - target[i], scalar::math::log(sum) * mass - chosen);
  });
}
// f(class, its probability, the logarithm of that).
template <int columns, class F>
PANDO_DEVICE void softmax(const Thread& t, const float* x, int scratch, F f) {
  const float* const e = shared<float>(t, scratch);
  each_own<columns>(t, [&](int i) {
    const float sum = sum_of<columns>(e);
    f(i, e[i] * (1.0f / sum), (x[i] - largest_of<columns>(x)) - scalar::math::log(sum));
  });
}

// f(class, its gradient): a thread for each class, and each finds the sum of all for itself.
template <int columns, class F>
PANDO_DEVICE void softmax_gradient(const Thread& t, const float* dy, const float* y, F f) {
  each_own<columns>(t, [&](int i) {
    float sum = 0;
    PANDO_UNROLL
    for (int k = 0; k < columns; ++k) sum += dy[k] * y[k];
    f(i, y[i] * (dy[i] - sum));
  });
}

// Sums of columns of a sample's [rows, columns], in `parts` of rows.
template <int rows, int columns, int parts>
PANDO_DEVICE void sum_columns(const Thread& t, const float* x, int scratch) {
  const Share share = share_of(t.rank, columns);
  const int own = share.end - share.begin;
  each_up_to<most_of_share(columns) * parts>(t, own * parts, [&](int item) {
    const int column = share.begin + item % own, part = item / own;
    float sum = 0;
    for (int row = part; row < rows; row += parts) sum += x[row * columns + column];
    shared<float>(t, scratch)[item] = sum;
  });
}
template <int columns, int parts>
PANDO_DEVICE void finish_columns(const Thread& t, int scratch, const Sum& to) {
  const Share share = share_of(t.rank, columns);
  const int own = share.end - share.begin;
  each_up_to<most_of_share(columns)>(t, own, [&](int i) {
    float sum = 0;
    for (int part = 0; part < parts; ++part) sum += shared<float>(t, scratch)[part * own + i];
    to.put(share.begin + i, sum);
  });
}

// 0 where a random number is under the rate, else x * scale; element e takes word e % 4 of block e / 4 of its sample's
// sequence. Calls f(element, value).
template <int elements, class Counter, class F>
PANDO_DEVICE void drop(const Thread& t, std::uint64_t seed, std::uint32_t stream, const Counter* counter, int sample,
                       float rate, float scale, const float* x, F f) {
  const std::int64_t update = counter[0];
  // Updates from 2^32 on draw from another sequence rather than from the first one again.
  const philox::Key key{seed + static_cast<std::uint64_t>(update >> 32) * 0x9E3779B97F4A7C15u, stream,
                        static_cast<std::uint32_t>(update),
                        static_cast<std::uint32_t>(counter[1]) + static_cast<std::uint32_t>(sample)};
  each<(elements + 3) / 4>(t, [&](int block) {
    const philox::Block words = philox::block(key, static_cast<std::uint32_t>(block));
    PANDO_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int e = 4 * block + i;
      if (e < elements) f(e, philox::uniform(words.word[i]) >= rate ? x[e] * scale : 0.0f);
    }
  });
}

}  // namespace pando::region
