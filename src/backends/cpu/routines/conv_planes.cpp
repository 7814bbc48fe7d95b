// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/routines/conv_planes.h"

#include "backends/cpu/routines/transpose.h"

namespace pando::cpu {
namespace {

using std::int64_t;

// As many accumulators as leave registers for vectors of pixels and a weight.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int most_sums = 24;
#else
constexpr int most_sums = 12;
#endif
constexpr int most_filters = 8, most_vectors = 4;
// More filters than these leave one vector of pixels for each weight that is loaded, so they are halved.
constexpr int most_filters_at_once = most_sums / 2 < most_filters ? most_sums / 2 : most_filters;

constexpr int vectors_at_once(int filters) {
  const int vectors = most_sums / filters;
  return vectors < 1 ? 1 : vectors > most_vectors ? most_vectors : vectors;
}

template <class T, int filters, int vectors>
__attribute__((noinline)) void sum_block(const PlaneSums<T>& given, int64_t first_filter, int64_t first) {
  constexpr int lanes = VectorOf<T>::lanes;
  // A copy, which no store can change.
  const PlaneSums<T> sums = given;
  Vector<T> sum[filters][vectors] = {};
  const T* weights = sums.filter + first_filter;
  for (int64_t k = 0; k < sums.products; ++k, weights += sums.filters) {
    const T* const x = sums.x + sums.offsets[k] + first;
    Vector<T> pixels[vectors];
    PANDO_UNROLL
    for (int v = 0; v < vectors; ++v) pixels[v] = load(x + v * lanes);
    PANDO_UNROLL
    for (int f = 0; f < filters; ++f) {
      const Vector<T> weight = splat(weights[f]);
      PANDO_UNROLL
      for (int v = 0; v < vectors; ++v) sum[f][v] = fused_multiply_add(weight, pixels[v], sum[f][v]);
    }
  }
  PANDO_UNROLL
  for (int f = 0; f < filters; ++f) {
    T* const to = sums.sums + (first_filter + f) * sums.sums_step + first;
    PANDO_UNROLL
    for (int v = 0; v < vectors; ++v) {
      store(to + v * lanes, sums.accumulate ? load(to + v * lanes) + sum[f][v] : sum[f][v]);
    }
  }
}

template <class T, int filters, int vectors = vectors_at_once(filters)>
void sum_filters(const PlaneSums<T>& sums, int64_t first_filter, int64_t vector) {
  constexpr int lanes = VectorOf<T>::lanes;
  for (; vector + vectors <= sums.vectors; vector += vectors) {
    sum_block<T, filters, vectors>(sums, first_filter, vector * lanes);
  }
  if constexpr (vectors > 1) sum_filters<T, filters, vectors - 1>(sums, first_filter, vector);
}

// As many filters from the first on as the number of the template says, or fewer.
template <class T, int filters = most_filters_at_once>
void sum_some(const PlaneSums<T>& sums, int64_t first_filter, int64_t count) {
  if (count == filters) return sum_filters<T, filters>(sums, first_filter, 0);
  if constexpr (filters > 1) sum_some<T, filters - 1>(sums, first_filter, count);
}

template <class T>
void sum(const PlaneSums<T>& sums) {
  const int64_t half = sums.filters > most_filters_at_once ? (sums.filters + 1) / 2 : sums.filters;
  sum_some(sums, 0, half);
  if (half < sums.filters) sum_some(sums, half, sums.filters - half);
}

template <class V, int... i>
inline V even_elements(V a, V b, Indices<0, i...>) {
  return __builtin_shufflevector(a, b, (2 * i)...);
}
template <class V, int... i>
inline V odd_elements(V a, V b, Indices<0, i...>) {
  return __builtin_shufflevector(a, b, (2 * i + 1)...);
}

// Each round sorts by one more bit of the channel: first those of even channels, then the others.
template <class T, int channels, int rounds>
inline void separate(Vector<T> (&vectors)[channels]) {
  if constexpr (rounds > 1) {
    constexpr Indices<VectorOf<T>::lanes> indices{};
    Vector<T> next[channels];
    PANDO_UNROLL
    for (int i = 0; i < channels / 2; ++i) {
      next[i] = even_elements(vectors[2 * i], vectors[2 * i + 1], indices);
      next[i + channels / 2] = odd_elements(vectors[2 * i], vectors[2 * i + 1], indices);
    }
    PANDO_UNROLL
    for (int i = 0; i < channels; ++i) vectors[i] = next[i];
    separate<T, channels, rounds / 2>(vectors);
  }
}

template <class T, int channels, int rounds>
inline void interleave(Vector<T> (&vectors)[channels]) {
  if constexpr (rounds > 1) {
    constexpr Indices<VectorOf<T>::lanes> indices{};
    Vector<T> next[channels];
    PANDO_UNROLL
    for (int i = 0; i < channels / 2; ++i) {
      next[2 * i] = interleave_lower(vectors[i], vectors[i + channels / 2], indices);
      next[2 * i + 1] = interleave_upper(vectors[i], vectors[i + channels / 2], indices);
    }
    PANDO_UNROLL
    for (int i = 0; i < channels; ++i) vectors[i] = next[i];
    interleave<T, channels, rounds / 2>(vectors);
  }
}

// The first `count` elements of some vectors in memory, zeros after them, and the reverse.
template <class T, int vectors>
inline void load_first(const T* from, int64_t count, Vector<T> (&to)[vectors]) {
  constexpr int lanes = VectorOf<T>::lanes;
  PANDO_UNROLL
  for (int v = 0; v < vectors; ++v) {
    const int64_t left = count - v * lanes;
    to[v] = left >= lanes ? load(from + v * lanes)
            : left > 0    ? PartOfVector<T>(left).load(from + v * lanes)
                          : Vector<T>{};
  }
}
template <class T, int vectors>
inline void store_first(const Vector<T> (&from)[vectors], int64_t count, T* to) {
  constexpr int lanes = VectorOf<T>::lanes;
  PANDO_UNROLL
  for (int v = 0; v < vectors; ++v) {
    const int64_t left = count - v * lanes;
    if (left >= lanes) store(to + v * lanes, from[v]);
    else if (left > 0) PartOfVector<T>(left).store(to + v * lanes, from[v]);
  }
}

// Pixels of `width` channels without room between them, and zeros up to the next whole vector of pixels. The last
// pixels, after which there may be no memory, go one by one.
template <class T, int width>
inline void copy_pixels(const T* pixels, int64_t step, int64_t channels, int64_t count, T* to) {
  constexpr int lanes = VectorOf<T>::lanes;
  const int64_t last = step >= width ? 1 : (width + step - 1) / step;
  int64_t p = 0;
  for (; p + last < count; ++p) __builtin_memcpy(to + p * width, pixels + p * step, width * sizeof(T));
  for (; p < count; ++p) {
    for (int64_t c = 0; c < channels; ++c) to[p * width + c] = pixels[p * step + c];
    for (int64_t c = channels; c < width; ++c) to[p * width + c] = T(0);
  }
  const auto after = static_cast<std::size_t>((lanes - count % lanes) % lanes * width);
  __builtin_memset(to + count * width, 0, after * sizeof(T));
}

template <class T, int width>
void split_channels(const T* pixels, int64_t step, int64_t channels, int64_t count, T* planes, int64_t plane_step,
                    T* room) {
  constexpr int lanes = VectorOf<T>::lanes;
  const bool as_they_are = step == width && channels == width;
  if (!as_they_are) copy_pixels<T, width>(pixels, step, channels, count, room);
  const T* const from = as_they_are ? pixels : room;
  for (int64_t p = 0; p < count; p += lanes) {
    Vector<T> vectors[width];
    load_first(from + p * width, as_they_are ? (count - p) * width : lanes * width, vectors);
    separate<T, width, width>(vectors);
    PANDO_UNROLL
    for (int v = 0; v < width; ++v) store(planes + v * plane_step + p, vectors[v]);
  }
}

// One channel: its pixels side by side, and the zeros after them.
template <class T>
void split_channel(const T* pixels, int64_t step, int64_t count, T* plane) {
  constexpr int lanes = VectorOf<T>::lanes;
  if (step == 1) {
    for (int64_t p = 0; p < count; p += lanes) {
      Vector<T> vector[1];
      load_first(pixels + p, count - p, vector);
      store(plane + p, vector[0]);
    }
    return;
  }
  for (int64_t p = 0; p < count; ++p) plane[p] = pixels[p * step];
  for (int64_t p = count; p % lanes != 0; ++p) plane[p] = T(0);
}

template <class T>
void split(const T* pixels, int64_t step, int64_t channels, int64_t count, T* planes, int64_t plane_step, T* room) {
  if (channels == 1) {
    split_channel(pixels, step, count, planes);
  } else if (channels == 2) {
    split_channels<T, 2>(pixels, step, channels, count, planes, plane_step, room);
  } else if (channels <= 4) {
    split_channels<T, 4>(pixels, step, channels, count, planes, plane_step, room);
  } else {
    split_channels<T, 8>(pixels, step, channels, count, planes, plane_step, room);
  }
}

template <class T, int width>
void join_channels(const T* planes, int64_t plane_step, int64_t channels, int64_t count, T* pixels) {
  constexpr int lanes = VectorOf<T>::lanes;
  for (int64_t p = 0; p < count; p += lanes) {
    Vector<T> vectors[width];
    PANDO_UNROLL
    for (int v = 0; v < width; ++v) vectors[v] = load(planes + (v < channels ? v * plane_step : 0) + p);
    interleave<T, width, width>(vectors);
    if (channels == width) {
      store_first(vectors, (count - p) * width, pixels + p * width);
      continue;
    }
    T room[width * lanes];
    store_first(vectors, width * lanes, room);
    const int64_t rest = count - p < lanes ? count - p : lanes;
    // Each overwrites what the one before it wrote too much; the last one writes nothing too much.
    for (int64_t i = 0; i + 1 < rest; ++i) {
      const int64_t after = (rest - i) * channels;
      if (after < width) {
        for (int64_t c = 0; c < channels; ++c) pixels[(p + i) * channels + c] = room[i * width + c];
      } else {
        __builtin_memcpy(pixels + (p + i) * channels, room + i * width, width * sizeof(T));
      }
    }
    for (int64_t c = 0; c < channels; ++c) pixels[(p + rest - 1) * channels + c] = room[(rest - 1) * width + c];
  }
}

template <class T>
void join(const T* planes, int64_t plane_step, int64_t channels, int64_t count, T* pixels) {
  if (channels == 1) __builtin_memcpy(pixels, planes, static_cast<std::size_t>(count) * sizeof(T));
  else if (channels == 2) join_channels<T, 2>(planes, plane_step, channels, count, pixels);
  else if (channels <= 4) join_channels<T, 4>(planes, plane_step, channels, count, pixels);
  else join_channels<T, 8>(planes, plane_step, channels, count, pixels);
}

template <class T>
void fill_table(PlaneRoutinesOf<T>& table) {
  table.lanes = VectorOf<T>::lanes;
  table.most_filters = most_filters;
  table.sum = sum<T>;
  table.split = split<T>;
  table.join = join<T>;
}

}  // namespace

PANDO_KERNEL_BEGIN

void fill(PlaneRoutines& table) {
  fill_table(table.float32);
  fill_table(table.float64);
}

PANDO_KERNEL_END
}  // namespace pando::cpu
