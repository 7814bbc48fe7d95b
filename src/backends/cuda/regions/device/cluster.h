// SPDX-License-Identifier: Apache-2.0
// A cluster of blocks takes a sample through a region. Every block has a copy of each value in its shared memory, at
// the same offset; a thread that computes an element stores it in all of them. A region is a list of phases with a
// barrier after each; within a phase no thread reads what another one writes. That lets the host run a phase as a loop
// over threads, which tests do.
//
// Sources that are made for a region define PANDO_RANKS, the blocks of a cluster, and PANDO_THREADS, those of a block.
#pragma once
#include <cstdint>

namespace pando::region {

constexpr int ranks = PANDO_RANKS, threads = PANDO_THREADS;

// Which thread of a block, and which block of the cluster.
struct Thread {
  int index, rank;
};

}  // namespace pando::region

#ifdef PANDO_EMULATION
#include PANDO_EMULATION
#else
#include "backends/cuda/regions/device/gpu.h"
#endif

namespace pando::region {

// The part of [0, count) that a block takes: parts of equal size, in whole warps if there are many of them.
struct Share {
  int begin, end;
};
#ifndef PANDO_EMULATION
__device__
#endif
    constexpr int
    most_of_share(int count) {
  const int fair = (count + ranks - 1) / ranks;
  return fair < 64 ? fair : (fair + 31) / 32 * 32;
}
PANDO_DEVICE Share share_of(int rank, int count) {
  const int part = most_of_share(count);
  const int begin = rank * part < count ? rank * part : count;
  return {begin, begin + part < count ? begin + part : count};
}

// Calls f(i) for all i < count, each in one thread of this block; there are at most `most` of them. Where every thread
// has one at most, there is nothing to repeat: the compiler would unroll a loop, which takes it longer than anything
// else.
template <int most, class F>
PANDO_DEVICE void each_up_to(const Thread& t, int count, F f) {
  if constexpr (most <= threads) {
    if (t.index < count) f(t.index);
  } else {
    for (int i = t.index; i < count; i += threads) f(i);
  }
}
// The same for a count that is known, in every block.
template <int count, class F>
PANDO_DEVICE void each_own(const Thread& t, F f) {
  each_up_to<count>(t, count, f);
}
// The same, each in one thread of the cluster.
template <int count, class F>
PANDO_DEVICE void each(const Thread& t, F f) {
  const Share share = share_of(t.rank, count);
  each_up_to<most_of_share(count)>(t, share.end - share.begin, [&](int i) { f(share.begin + i); });
}

// Copies `count` elements from global memory to every block's own. Copies are only begun, so that many are on their
// way; a phase that begins some ends with wait_for_copies().
template <class T, int count>
PANDO_DEVICE void stage(const Thread& t, const T* from, int offset) {
  constexpr int bytes = count * static_cast<int>(sizeof(T)), word = bytes % 16 == 0 ? 16 : bytes % 4 == 0 ? 4 : 1;
  if constexpr (word == 1) each_own<count>(t, [&](int i) { shared<T>(t, offset)[i] = from[i]; });
  else
    each_own<bytes / word>(
        t, [&](int i) { begin_copy<word>(t, offset + i * word, reinterpret_cast<const char*>(from) + i * word); });
}
// One number, likewise.
PANDO_DEVICE void copy_number(const Thread& t, const float* from, int offset) {
  begin_copy<static_cast<int>(sizeof(float))>(t, offset, from);
}

// A value that a region makes: its place in shared memory (negative: none), and the place of this sample's part in
// global memory (null: none).
template <class T, bool is_shared, bool is_global>
struct Out {
  int offset;
  T* global;

  // By one thread of the cluster.
  PANDO_DEVICE void put(const Thread& t, int i, T value) const {
    if (is_shared) {
      shared<T>(t, offset)[i] = value;
      PANDO_UNROLL
      for (int away = 1; away < ranks; ++away) shared_of<T>((t.rank + away) % ranks, offset)[i] = value;
    }
    if (is_global) global[i] = value;
  }
  // By one thread of the cluster; exchange() hands it to the other blocks.
  PANDO_DEVICE void put_here(const Thread& t, int i, T value) const {
    if (is_shared) shared<T>(t, offset)[i] = value;
    if (is_global) global[i] = value;
  }
  // By a thread of every block. One block stores it in global memory.
  PANDO_DEVICE void put_own(const Thread& t, int i, T value) const {
    if (is_shared) shared<T>(t, offset)[i] = value;
    if (is_global && t.rank == 0) global[i] = value;
  }
  // The same for many elements: blocks take turns, 32 elements each, to store them in global memory.
  PANDO_DEVICE void put_in_turns(const Thread& t, int i, T value) const {
    if (is_shared) shared<T>(t, offset)[i] = value;
    if (is_global && i / 32 % ranks == t.rank) global[i] = value;
  }
};

// Hands what this block has put at `offset` to the other blocks: `rows` rows of `bytes` bytes, `stride` bytes apart,
// the first of them at `first`. Consecutive threads store words that lie next to each other; scattered stores to
// another block take many times as long.
template <class Word, int bytes>
PANDO_DEVICE void exchange_words(const Thread& t, int offset, int first, int rows, int stride) {
  constexpr int words = bytes / static_cast<int>(sizeof(Word));
  for (int i = t.index; i < rows * words; i += threads) {
    const int at = offset + first + i / words * stride + i % words * static_cast<int>(sizeof(Word));
    const Word word = *shared<Word>(t, at);
    PANDO_UNROLL
    for (int away = 1; away < ranks; ++away) *shared_of<Word>((t.rank + away) % ranks, at) = word;
  }
}
struct alignas(16) FourWords {
  std::uint32_t at[4];
};
// `multiple` divides the places of all rows.
template <int bytes, int multiple>
PANDO_DEVICE void exchange(const Thread& t, int offset, int first, int rows, int stride) {
  if (bytes % 16 == 0 && multiple % 16 == 0) exchange_words<FourWords, bytes>(t, offset, first, rows, stride);
  else if (bytes % 4 == 0 && multiple % 4 == 0) exchange_words<std::uint32_t, bytes>(t, offset, first, rows, stride);
  else exchange_words<std::uint8_t, bytes>(t, offset, first, rows, stride);
}

// A sum over samples: what this cluster has of it.
struct Sum {
  float* partial;
  bool is_first;
  PANDO_DEVICE void put(int i, float value) const { partial[i] = is_first ? value : partial[i] + value; }
};

// `width` numbers that lie next to each other.
template <int width>
struct Vector {
  float at[width];
};
template <int width>
PANDO_DEVICE Vector<width> load(const float* from) {
  Vector<width> v;
#ifndef PANDO_EMULATION
  if (width == 4) {
    const float4 f = *reinterpret_cast<const float4*>(from);
    v.at[0] = f.x, v.at[1 % width] = f.y, v.at[2 % width] = f.z, v.at[3 % width] = f.w;
    return v;
  }
  if (width == 2) {
    const float2 f = *reinterpret_cast<const float2*>(from);
    v.at[0] = f.x, v.at[1 % width] = f.y;
    return v;
  }
#endif
  PANDO_UNROLL
  for (int i = 0; i < width; ++i) v.at[i] = from[i];
  return v;
}
template <int width>
PANDO_DEVICE void store(float* to, const Vector<width>& v) {
#ifndef PANDO_EMULATION
  if (width == 4) {
    *reinterpret_cast<float4*>(to) = make_float4(v.at[0], v.at[1 % width], v.at[2 % width], v.at[3 % width]);
    return;
  }
  if (width == 2) {
    *reinterpret_cast<float2*>(to) = make_float2(v.at[0], v.at[1 % width]);
    return;
  }
#endif
  PANDO_UNROLL
  for (int i = 0; i < width; ++i) to[i] = v.at[i];
}

}  // namespace pando::region
