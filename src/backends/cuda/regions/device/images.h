// SPDX-License-Identifier: Apache-2.0
// Convolutions of a sample's image [rows, columns, channels] with filters [height, width, channels, filters], their
// gradients, and max pooling. Each has a phase in which threads sum their part, and one that sums the parts in order.
#pragma once
#include "backends/cuda/regions/device/cluster.h"

namespace pando::region {

template <int height_, int width_, int channels_, int kernel_h, int kernel_w, int stride_h_, int stride_w_,
          int dilation_h_, int dilation_w_, int top_, int left_, int out_height_, int out_width_, int filters_>
struct Convolution {
  static constexpr int height = height_, width = width_, channels = channels_, kh = kernel_h, kw = kernel_w;
  static constexpr int stride_h = stride_h_, stride_w = stride_w_, dilation_h = dilation_h_, dilation_w = dilation_w_;
  static constexpr int top = top_, left = left_, out_height = out_height_, out_width = out_width_, filters = filters_;
  static constexpr int taps = kh * kw;
};

template <int kernel_h, int kernel_w, int stride_h_, int stride_w_, int top_, int left_, int out_height_,
          int out_width_>
struct Pooling {
  static constexpr int kh = kernel_h, kw = kernel_w, stride_h = stride_h_, stride_w = stride_w_;
  static constexpr int top = top_, left = left_, out_height = out_height_, out_width = out_width_;
  static constexpr int windows = out_height * out_width;
};

// How the results of a convolution are split over threads: tiles of `height` by `width` places, which begin every
// `step_h` rows and `step_w` columns, `filters` at a time, and the channels in `parts`. Blocks split the filters or the
// tiles.
template <class Conv_, int height_, int width_, int step_h_, int step_w_, int top_, int left_, int rows_, int columns_,
          int filters_, int channels_, int parts_, bool by_filters_>
struct Tiles {
  using Conv = Conv_;
  static constexpr int height = height_, width = width_, step_h = step_h_, step_w = step_w_, top = top_, left = left_;
  static constexpr int rows = rows_, columns = columns_, filters = filters_, channels = channels_, parts = parts_;
  static constexpr bool by_filters = by_filters_;
  static constexpr int groups = Conv::filters / filters;
  static constexpr int own_groups = by_filters ? groups / ranks : groups;
  static constexpr int own_tiles = by_filters ? rows * columns : (rows * columns + ranks - 1) / ranks;
  static constexpr int own = own_groups * own_tiles;
  static constexpr int places = height * width;
  static constexpr int patch_h = (height - 1) * Conv::stride_h + (Conv::kh - 1) * Conv::dilation_h + 1;
  static constexpr int patch_w = (width - 1) * Conv::stride_w + (Conv::kw - 1) * Conv::dilation_w + 1;
  // Whether each patch lies within the image.
  static constexpr bool inside =
      top == 0 && left == 0 && Conv::top == 0 && Conv::left == 0 &&
      ((rows - 1) * step_h + height - 1) * Conv::stride_h + (Conv::kh - 1) * Conv::dilation_h < Conv::height &&
      ((columns - 1) * step_w + width - 1) * Conv::stride_w + (Conv::kw - 1) * Conv::dilation_w < Conv::width;

  static PANDO_DEVICE int tile_of(int rank, int item) {
    return (by_filters ? 0 : rank * own_tiles) + item / own_groups % own_tiles;
  }
  static PANDO_DEVICE int filter_of(int rank, int item) {
    return ((by_filters ? rank * own_groups : 0) + item % own_groups) * filters;
  }
};

// Hands the results of a convolution, or of the pooling after it, to the other blocks.
template <class T, bool is_pooled, class Element>
PANDO_DEVICE void exchange_results(const Thread& t, int offset) {
  using C = typename T::Conv;
  constexpr int size = static_cast<int>(sizeof(Element)), place = C::filters * size;
  constexpr int places = is_pooled ? T::rows * T::columns : C::out_height * C::out_width;
  if (T::by_filters) {
    constexpr int own = place / ranks;
    exchange<own, own>(t, offset, t.rank * own, places, place);
    return;
  }
  // Results of tiles that follow each other do so in memory.
  const auto begin_of = [](int rank) {
    const int tile = rank * T::own_tiles;
    if (tile >= T::rows * T::columns) return places;
    return is_pooled ? tile : tile / T::columns * C::out_width + tile % T::columns * T::width;
  };
  const int first = begin_of(t.rank);
  exchange<place, place>(t, offset, first * place, begin_of(t.rank + 1) - first, place);
}

template <class T>
PANDO_DEVICE void load_patch(const float* x, int row, int column, int channel,
                             float (&patch)[T::patch_h][T::patch_w][T::channels]) {
  using C = typename T::Conv;
  PANDO_UNROLL
  for (int r = 0; r < T::patch_h; ++r) PANDO_UNROLL
  for (int c = 0; c < T::patch_w; ++c) {
    const int at_r = row + r, at_c = column + c;
    Vector<T::channels> v = {};
    if (T::inside || (at_r >= 0 && at_r < C::height && at_c >= 0 && at_c < C::width))
      v = load<T::channels>(x + (at_r * C::width + at_c) * C::channels + channel);
    PANDO_UNROLL
    for (int i = 0; i < T::channels; ++i) patch[r][c][i] = v.at[i];
  }
}

// The sums of one tile over the channels of one part.
template <class T>
PANDO_DEVICE void sum_tile(const float* x, const float* w, int tile, int filter, int part,
                           float (&sum)[T::places][T::filters]) {
  using C = typename T::Conv;
  const int row = (tile / T::columns * T::step_h - T::top) * C::stride_h - C::top;
  const int column = (tile % T::columns * T::step_w - T::left) * C::stride_w - C::left;
  constexpr int own = C::channels / T::parts;
#ifndef PANDO_EMULATION
#pragma unroll 1
#endif
  for (int channel = part * own; channel < (part + 1) * own; channel += T::channels) {
    float patch[T::patch_h][T::patch_w][T::channels];
    load_patch<T>(x, row, column, channel, patch);
    PANDO_UNROLL
    for (int ky = 0; ky < C::kh; ++ky) PANDO_UNROLL
    for (int kx = 0; kx < C::kw; ++kx) PANDO_UNROLL
    for (int c = 0; c < T::channels; ++c) {
      const Vector<T::filters> from =
          load<T::filters>(w + ((ky * C::kw + kx) * C::channels + channel + c) * C::filters + filter);
      PANDO_UNROLL
      for (int p = 0; p < T::places; ++p) {
        const float value =
            patch[p / T::width * C::stride_h + ky * C::dilation_h][p % T::width * C::stride_w + kx * C::dilation_w][c];
        PANDO_UNROLL
        for (int f = 0; f < T::filters; ++f) sum[p][f] += value * from.at[f];
      }
    }
  }
}

// Leaves the sums of each part at `scratch`, as [part][place of tile][tile and filter].
template <class T>
PANDO_DEVICE void convolve(const Thread& t, const float* x, const float* w, int scratch) {
  each_own<T::own * T::parts>(t, [&](int item) {
    const int own = item % T::own, tile = T::tile_of(t.rank, own), part = item / T::own;
    if (tile >= T::rows * T::columns) return;
    float sum[T::places][T::filters] = {};
    sum_tile<T>(x, w, tile, T::filter_of(t.rank, own), part, sum);
    PANDO_UNROLL
    for (int p = 0; p < T::places; ++p) PANDO_UNROLL
    for (int f = 0; f < T::filters; ++f)
      shared<float>(t, scratch)[((part * T::places + p) * T::own + own) * T::filters + f] = sum[p][f];
  });
}
template <class T>
PANDO_DEVICE float sum_of_parts(const float* scratch, int place, int own, int f) {
  float sum = 0;
  PANDO_UNROLL
  for (int part = 0; part < T::parts; ++part)
    sum += scratch[((part * T::places + place) * T::own + own) * T::filters + f];
  return sum;
}

// Calls f(element, result) for all results of this block.
template <class T, class F>
PANDO_DEVICE void finish_convolution(const Thread& t, int scratch, F f) {
  using C = typename T::Conv;
  each_own<T::own * T::filters * T::places>(t, [&](int i) {
    const int filter = i % T::filters, own = i / T::filters % T::own, place = i / (T::filters * T::own);
    const int tile = T::tile_of(t.rank, own);
    const int row = tile / T::columns * T::step_h + place / T::width;
    const int column = tile % T::columns * T::step_w + place % T::width;
    if (tile >= T::rows * T::columns || row >= C::out_height || column >= C::out_width) return;
    f((row * C::out_width + column) * C::filters + T::filter_of(t.rank, own) + filter,
      sum_of_parts<T>(shared<float>(t, scratch), place, own, filter));
  });
}

// The same without scratch, for one part: a thread has all sums of its tile.
template <class T, class F>
PANDO_DEVICE void convolve_at_once(const Thread& t, const float* x, const float* w, F f) {
  using C = typename T::Conv;
  each_own<T::own>(t, [&](int own) {
    const int tile = T::tile_of(t.rank, own), first = T::filter_of(t.rank, own);
    if (tile >= T::rows * T::columns) return;
    float sum[T::places][T::filters] = {};
    sum_tile<T>(x, w, tile, first, 0, sum);
    PANDO_UNROLL
    for (int p = 0; p < T::places; ++p) {
      const int row = tile / T::columns * T::step_h + p / T::width;
      const int column = tile % T::columns * T::step_w + p % T::width;
      PANDO_UNROLL
      for (int n = 0; n < T::filters; ++n)
        if (row < C::out_height && column < C::out_width)
          f((row * C::out_width + column) * C::filters + first + n, sum[p][n]);
    }
  });
}
// A filter for the way back, where strides are 1: [tap from the end][filter][channel].
template <class C>
PANDO_DEVICE void turn_filter(const Thread& t, const float* w, int copy) {
  each_own<C::taps * C::channels * C::filters>(t, [&](int i) {
    const int filter = i % C::filters, channel = i / C::filters % C::channels, tap = i / (C::filters * C::channels);
    shared<float>(t, copy)[((C::taps - 1 - tap) * C::filters + filter) * C::channels + channel] = w[i];
  });
}

// The gradient of the image: tiles of `width` columns and `channels`, over all places and filters that read them.
template <class C, int width, int channels, int filters, class F>
PANDO_DEVICE void convolve_back(const Thread& t, const float* dy, const float* w, F f) {
  constexpr int columns = (C::width + width - 1) / width, groups = C::channels / channels;
  each<C::height * columns * groups>(t, [&](int item) {
    const int group = item % groups, column = item / groups % columns * width, row = item / (groups * columns);
    float sum[width][channels] = {};
    for (int ky = 0; ky < C::kh; ++ky) {
      const int from_row = row + C::top - ky * C::dilation_h, r = from_row / C::stride_h;
      if (from_row < 0 || from_row % C::stride_h != 0 || r >= C::out_height) continue;
      PANDO_UNROLL
      for (int kx = 0; kx < C::kw; ++kx)
        for (int filter = 0; filter < C::filters; filter += filters) {
          Vector<filters> factor[channels];
          PANDO_UNROLL
          for (int c = 0; c < channels; ++c)
            factor[c] =
                load<filters>(w + ((ky * C::kw + kx) * C::channels + group * channels + c) * C::filters + filter);
          PANDO_UNROLL
          for (int p = 0; p < width; ++p) {
            const int from = column + p + C::left - kx * C::dilation_w, at = from / C::stride_w;
            if (from < 0 || from % C::stride_w != 0 || at >= C::out_width) continue;
            const Vector<filters> v = load<filters>(dy + (r * C::out_width + at) * C::filters + filter);
            PANDO_UNROLL
            for (int c = 0; c < channels; ++c) PANDO_UNROLL
            for (int i = 0; i < filters; ++i) sum[p][c] += v.at[i] * factor[c].at[i];
          }
        }
    }
    PANDO_UNROLL
    for (int p = 0; p < width; ++p) PANDO_UNROLL
    for (int c = 0; c < channels; ++c)
      if (column + p < C::width) f((row * C::width + column + p) * C::channels + group * channels + c, sum[p][c]);
  });
}

// The gradient of the filter: a thread has a row of the kernel for one channel and `filters`, and every parts-th row of
// results. Leaves [part][column of the kernel][row, channel and filters] at `scratch`.
template <class C, int filters>
constexpr int filter_items = C::kh* C::channels*(C::filters / filters);

template <class C, int filters, int parts>
PANDO_DEVICE void sum_filter(const Thread& t, const float* x, const float* dy, int scratch) {
  constexpr int groups = C::filters / filters;
  const Share share = share_of(t.rank, filter_items<C, filters>);
  const int own = share.end - share.begin;
  each_up_to<most_of_share(filter_items<C, filters>) * parts>(t, own * parts, [&](int item) {
    const int i = share.begin + item % own, part = item / own;
    const int group = i % groups, channel = i / groups % C::channels, ky = i / (groups * C::channels);
    float sum[C::kw][filters] = {};
    for (int row = part; row < C::out_height; row += parts) {
      const int r = row * C::stride_h + ky * C::dilation_h - C::top;
      if (r < 0 || r >= C::height) continue;
      for (int column = 0; column < C::out_width; ++column) {
        const Vector<filters> v = load<filters>(dy + (row * C::out_width + column) * C::filters + group * filters);
        PANDO_UNROLL
        for (int kx = 0; kx < C::kw; ++kx) {
          const int at = column * C::stride_w + kx * C::dilation_w - C::left;
          const float factor = at >= 0 && at < C::width ? x[(r * C::width + at) * C::channels + channel] : 0.0f;
          PANDO_UNROLL
          for (int f = 0; f < filters; ++f) sum[kx][f] += factor * v.at[f];
        }
      }
    }
    PANDO_UNROLL
    for (int kx = 0; kx < C::kw; ++kx) PANDO_UNROLL
    for (int f = 0; f < filters; ++f)
      shared<float>(t, scratch)[((part * C::kw + kx) * own + item % own) * filters + f] = sum[kx][f];
  });
}
template <class C, int filters, int parts>
PANDO_DEVICE void finish_filter(const Thread& t, int scratch, const Sum& to) {
  constexpr int groups = C::filters / filters;
  const Share share = share_of(t.rank, filter_items<C, filters>);
  const int own = share.end - share.begin, row = own * filters;
  each_up_to<most_of_share(filter_items<C, filters>) * filters * C::kw>(t, row * C::kw, [&](int n) {
    const int kx = n / row, f = n % filters, i = share.begin + n % row / filters;
    const int group = i % groups, channel = i / groups % C::channels, ky = i / (groups * C::channels);
    float sum = 0;
    for (int part = 0; part < parts; ++part) sum += shared<float>(t, scratch)[part * C::kw * row + n];
    to.put(((ky * C::kw + kx) * C::channels + channel) * C::filters + group * filters + f, sum);
  });
}

}  // namespace pando::region
