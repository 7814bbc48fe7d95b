// SPDX-License-Identifier: Apache-2.0
// Max pooling of a sample's image, and gradients of a convolution before it: of the gradient of the convolution's
// result only what is not zero is visited, which the positions of the largest elements name.
#pragma once
#include "backends/cuda/regions/device/images.h"

namespace pando::region {

// The first of the largest elements of a window; the first NaN wins.
struct Largest {
  float value = 0;
  int position = -1;
  PANDO_DEVICE void take(float candidate, int at) {
    if (position >= 0 && (candidate <= value || value != value)) return;
    value = candidate;
    position = at;
  }
};

// A tile is a window of a pooling: calls f(element, the largest of the window, its position).
template <class T, class F>
PANDO_DEVICE void finish_pooled_convolution(const Thread& t, int scratch, F f) {
  using C = typename T::Conv;
  each_own<T::own * T::filters>(t, [&](int i) {
    const int filter = i % T::filters, own = i / T::filters, tile = T::tile_of(t.rank, own);
    if (tile >= T::rows * T::columns) return;
    const int row = tile / T::columns * T::step_h - T::top, column = tile % T::columns * T::step_w - T::left;
    Largest largest;
    PANDO_UNROLL
    for (int p = 0; p < T::places; ++p) {
      const int at_r = row + p / T::width, at_c = column + p % T::width;
      if (at_r >= 0 && at_r < C::out_height && at_c >= 0 && at_c < C::out_width)
        largest.take(sum_of_parts<T>(shared<float>(t, scratch), p, own, filter), p);
    }
    f(tile * C::filters + T::filter_of(t.rank, own) + filter, largest.value, largest.position);
  });
}

// The same without scratch, for one part.
template <class T, class F>
PANDO_DEVICE void convolve_and_pool(const Thread& t, const float* x, const float* w, F f) {
  using C = typename T::Conv;
  each_own<T::own>(t, [&](int own) {
    const int tile = T::tile_of(t.rank, own), first = T::filter_of(t.rank, own);
    if (tile >= T::rows * T::columns) return;
    const int row = tile / T::columns * T::step_h - T::top, column = tile % T::columns * T::step_w - T::left;
    float sum[T::places][T::filters] = {};
    sum_tile<T>(x, w, tile, first, 0, sum);
    PANDO_UNROLL
    for (int n = 0; n < T::filters; ++n) {
      Largest largest;
      PANDO_UNROLL
      for (int p = 0; p < T::places; ++p) {
        const int at_r = row + p / T::width, at_c = column + p % T::width;
        if (at_r >= 0 && at_r < C::out_height && at_c >= 0 && at_c < C::out_width) largest.take(sum[p][n], p);
      }
      f(tile * C::filters + first + n, largest.value, largest.position);
    }
  });
}

// The place of a window's largest element.
template <class P>
struct PooledPlace {
  int row, column;
  PANDO_DEVICE PooledPlace(int window, int position)
      : row(window / P::out_width * P::stride_h - P::top + position / P::kw),
        column(window % P::out_width * P::stride_w - P::left + position % P::kw) {}
};

// The gradient of the filter of a convolution before a max pooling: only what is not zero is visited. A thread has one
// channel and filter and all taps. Leaves [part][tap][own channel and filter] at `scratch`, channels first if there are
// many: the threads of a warp then have the same filter and skip the same zeros.
template <class C>
constexpr bool channels_first = C::channels >= 8;

// What one thread sums: gradients and positions of a few windows are loaded before the first of them is used.
template <class C, class P, int parts>
PANDO_DEVICE void sum_windows(const float* x, const float* dy, const std::uint8_t* positions, int channel, int filter,
                              int part, float (&sum)[C::taps]) {
  constexpr int ahead = 5, steps = (P::windows + parts - 1) / parts;
  constexpr bool fits = (C::out_height - 1) * C::stride_h + (C::kh - 1) * C::dilation_h - C::top < C::height &&
                        (C::out_width - 1) * C::stride_w + (C::kw - 1) * C::dilation_w - C::left < C::width;
  for (int first = 0; first < steps; first += ahead) {
    float v[ahead];
    int position[ahead];
    PANDO_UNROLL
    for (int n = 0; n < ahead; ++n) {
      const int window = part + (first + n) * parts;
      const bool is_there = window < P::windows;
      v[n] = is_there ? dy[window * C::filters + filter] : 0.0f;
      position[n] = is_there ? positions[window * C::filters + filter] : 0;
    }
    PANDO_UNROLL
    for (int n = 0; n < ahead; ++n) {
      if (v[n] == 0.0f) continue;
      const PooledPlace<P> place(part + (first + n) * parts, position[n]);
      PANDO_UNROLL
      for (int tap = 0; tap < C::taps; ++tap) {
        const int r = place.row * C::stride_h + tap / C::kw * C::dilation_h - C::top;
        const int c = place.column * C::stride_w + tap % C::kw * C::dilation_w - C::left;
        const bool inside = (C::top == 0 && C::left == 0) || (r >= 0 && c >= 0);
        if (inside && (fits || (r < C::height && c < C::width)))
          sum[tap] += v[n] * x[(r * C::width + c) * C::channels + channel];
      }
    }
  }
}

// The partial sums of a cluster are in the order [tap][channel and filter].
template <class C, class P, int parts>
PANDO_DEVICE void sum_pooled_filter(const Thread& t, const float* x, const float* dy, const std::uint8_t* positions,
                                    int scratch, const Sum& to) {
  constexpr int all = C::channels * C::filters, most = most_of_share(all);
  const Share share = share_of(t.rank, all);
  each_own<most * parts>(t, [&](int item) {
    const int i = share.begin + item % most, part = item / most;
    if (i >= share.end) return;
    const int channel = channels_first<C> ? i % C::channels : i / C::filters;
    const int filter = channels_first<C> ? i / C::channels : i % C::filters;
    float sum[C::taps] = {};
    sum_windows<C, P, parts>(x, dy, positions, channel, filter, part, sum);
    PANDO_UNROLL
    for (int tap = 0; tap < C::taps; ++tap) {
      if (parts == 1) to.put(tap * all + i, sum[tap]);
      else shared<float>(t, scratch)[(part * C::taps + tap) * most + item % most] = sum[tap];
    }
  });
}
// Only if there are several parts.
template <class C, int parts>
PANDO_DEVICE void finish_pooled_filter(const Thread& t, int scratch, const Sum& to) {
  constexpr int all = C::channels * C::filters, most = most_of_share(all);
  const Share share = share_of(t.rank, all);
  each_own<most * C::taps>(t, [&](int n) {
    if (share.begin + n % most >= share.end) return;
    float sum = 0;
    for (int part = 0; part < parts; ++part) sum += shared<float>(t, scratch)[part * C::taps * most + n];
    to.put(n / most * all + share.begin + n % most, sum);
  });
}

// The gradient of the image before a max pooling. A block has some of the filters, and copies of their weights as
// [filter][tap][channel]; rows are a number longer so that they start in other banks.
template <class C>
struct FilterCopy {
  static constexpr int own = (C::filters + ranks - 1) / ranks, row = C::taps * C::channels + 1;
  static PANDO_DEVICE int count(int rank) {
    const int rest = C::filters - rank * own;
    return rest < 0 ? 0 : rest < own ? rest : own;
  }
};
// With `is_begun` from global memory, and only begun, like stage().
template <class C, bool is_begun>
PANDO_DEVICE void copy_filter(const Thread& t, const float* w, int copy) {
  using Copy = FilterCopy<C>;
  const int count = Copy::count(t.rank);
#ifndef PANDO_EMULATION
#pragma unroll 8
#endif
  for (int i = t.index; i < Copy::own * C::taps * C::channels; i += threads) {
    const int filter = i % Copy::own, from = i / Copy::own;
    if (filter >= count) continue;
    const float* const source = w + from * C::filters + t.rank * Copy::own + filter;
    const int to = copy + (filter * Copy::row + from) * static_cast<int>(sizeof(float));
    if (is_begun) copy_number(t, source, to);
    else *shared<float>(t, to) = *source;
  }
}

// What the windows of a pooling add to the image: a thread has a window and a channel. Leaves [part][window][patch]
// [channel] at `scratch`; only for strides and dilations of 1.
template <class C, class P>
struct Patch {
  static constexpr int height = P::kh - 1 + C::kh, width = P::kw - 1 + C::kw, places = height * width;
};
// Adds what one element of the gradient gives to its patch. Registers cannot be indexed, so each position has
// instructions of its own. The comment in the assembly keeps the compiler from merging these and putting the sums into
// memory.
template <class C, class P, int position>
PANDO_DEVICE void add_window(int own, float v, const float* w, float (&sum)[Patch<C, P>::places]) {
  if constexpr (position < P::kh * P::kw) {
    if (own != position) return add_window<C, P, position + 1>(own, v, w, sum);
#ifndef PANDO_EMULATION
    asm volatile("// position %0" ::"n"(position));
#endif
    PANDO_UNROLL
    for (int tap = 0; tap < C::taps; ++tap)
      sum[(position / P::kw + tap / C::kw) * Patch<C, P>::width + position % P::kw + tap % C::kw] +=
          v * w[tap * C::channels];
  }
}
template <class C, class P, int parts>
PANDO_DEVICE void spread_windows(const Thread& t, const float* dy, const std::uint8_t* positions, int copy,
                                 int scratch) {
  using Copy = FilterCopy<C>;
  using Places = Patch<C, P>;
  const int first = t.rank * Copy::own, count = Copy::count(t.rank);
  each_own<P::windows * C::channels * parts>(t, [&](int item) {
    const int channel = item % C::channels, window = item / C::channels % P::windows;
    const int part = item / (C::channels * P::windows);
    float sum[Places::places] = {};
    constexpr int ahead = 4, steps = (Copy::own + parts - 1) / parts;
    for (int start = 0; start < steps; start += ahead) {
      float v[ahead];
      int position[ahead];
      PANDO_UNROLL
      for (int n = 0; n < ahead; ++n) {
        const int filter = part + (start + n) * parts, at = window * C::filters + first + filter;
        v[n] = filter < count ? dy[at] : 0.0f;
        position[n] = filter < count ? positions[at] : 0;
      }
      PANDO_UNROLL
      for (int n = 0; n < ahead; ++n) {
        if (v[n] == 0.0f) continue;
        const float* const from = shared<float>(t, copy) + (part + (start + n) * parts) * Copy::row + channel;
        add_window<C, P, 0>(position[n], v[n], from, sum);
      }
    }
    PANDO_UNROLL
    for (int p = 0; p < Places::places; ++p)
      shared<float>(t, scratch)[((part * P::windows + window) * Places::places + p) * C::channels + channel] = sum[p];
  });
}

// Sums what windows add to each element, in the order of blocks, parts and windows.
template <class C, class P, int parts, class F>
PANDO_DEVICE void gather_windows(const Thread& t, int scratch, F f) {
  using Places = Patch<C, P>;
  each<C::height * C::width * C::channels>(t, [&](int i) {
    const int channel = i % C::channels, column = i / C::channels % C::width, row = i / (C::channels * C::width);
    // Where the element is in the patch of the first window.
    const int r = row + C::top + P::top, c = column + C::left + P::left;
    // The windows over an element, as many as there can be, so that all loads are on their way at once.
    constexpr int rows = (Places::height + P::stride_h - 1) / P::stride_h;
    constexpr int columns = (Places::width + P::stride_w - 1) / P::stride_w;
    float sum = 0;
    PANDO_UNROLL
    for (int rank = 0; rank < ranks; ++rank) {
      const float* const from = shared_of<float>(rank, scratch);
      PANDO_UNROLL
      for (int n = 0; n < parts * rows * columns; ++n) {
        const int part = n / (rows * columns);
        const int y = r / P::stride_h - n / columns % rows, x = c / P::stride_w - n % columns;
        const int at_r = r - y * P::stride_h, at_c = c - x * P::stride_w;
        const bool covers =
            y >= 0 && x >= 0 && y < P::out_height && x < P::out_width && at_r < Places::height && at_c < Places::width;
        const int window = part * P::windows + y * P::out_width + x;
        sum += covers ? from[(window * Places::places + at_r * Places::width + at_c) * C::channels + channel] : 0.0f;
      }
    }
    f(i, sum);
  });
}

// Max pooling of an image [height, width, channels]: f(element, the largest, its position).
template <class P, int height, int width, int channels, class F>
PANDO_DEVICE void pool_largest(const Thread& t, const float* x, F f) {
  each<P::windows * channels>(t, [&](int i) {
    const int channel = i % channels, window = i / channels;
    Largest largest;
    for (int p = 0; p < P::kh * P::kw; ++p) {
      const PooledPlace<P> place(window, p);
      if (place.row >= 0 && place.row < height && place.column >= 0 && place.column < width)
        largest.take(x[(place.row * width + place.column) * channels + channel], p);
    }
    f(i, largest.value, largest.position);
  });
}
// Its gradient: for each element, the sum over all windows of which it is the largest.
template <class P, int height, int width, int channels, class F>
PANDO_DEVICE void pool_largest_back(const Thread& t, const float* dy, const std::uint8_t* positions, F f) {
  each<height * width * channels>(t, [&](int i) {
    const int channel = i % channels, column = i / channels % width + P::left, row = i / (channels * width) + P::top;
    float sum = 0;
    const int first_row = row < P::kh ? 0 : (row - P::kh) / P::stride_h + 1;
    const int first_column = column < P::kw ? 0 : (column - P::kw) / P::stride_w + 1;
    for (int y = first_row; y <= row / P::stride_h && y < P::out_height; ++y)
      for (int x = first_column; x <= column / P::stride_w && x < P::out_width; ++x) {
        const int at = (y * P::out_width + x) * channels + channel;
        if (positions[at] == (row - y * P::stride_h) * P::kw + column - x * P::stride_w) sum += dy[at];
      }
    f(i, sum);
  });
}

}  // namespace pando::region
