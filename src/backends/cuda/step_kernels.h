// SPDX-License-Identifier: Apache-2.0
// What the steps of a graph do before and after their kernels without the host: they take their rows of the feed, or
// gather their samples, count, keep their results, and look for NaN and for indices that are out of range.
#pragma once
#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "plan/plan.h"

namespace pando::cuda {

// How far the loop is; in device memory.
struct LoopState {
  // The number of the next step since the executor was made, and the number of its update.
  std::int64_t step = 0, update = 0;
  // Blocks of the last kernel that are done.
  unsigned blocks_done = 0;
  // Where the first NaN or infinity of a step was: superstep << 32 | call << 8 | output, or `finite`.
  unsigned long long not_finite = finite;

  // The first call that met an index out of range, and that index: kernel << 32 | index, or `in_range`.
  unsigned long long bad_index = in_range;

  static constexpr unsigned long long finite = ~0ULL, in_range = ~0ULL;
};

// One input of the Plan.
struct FeedField {
  // Its place in a row.
  std::size_t offset = 0, bytes = 0;
  // Its place in a slot of the ring, where its bytes are or, if there are samples, their numbers, 32 bits each.
  std::size_t slot_offset = 0;
  const std::byte* samples = nullptr;
  std::size_t sample_bytes = 0;
};

// The ring that rows of the feed are copied to; in device memory, with the fields after it.
struct LoopFeed {
  const std::byte* ring = nullptr;
  std::int64_t slots = 1;
  std::size_t slot_bytes = 0;
};

// Where the steps of a graph find their rows and counters; each may be null.
struct StepPlaces {
  std::byte* rows = nullptr;
  std::size_t row_bytes = 0;
  std::byte* counters = nullptr;
  std::size_t counter_bytes = 0;
};

// Fills the rows of that many steps, and sets their counters. The largest of the fields has `largest` bytes.
void begin_steps(const LoopFeed* feed, int fields, std::size_t largest, const StepPlaces& places, int steps,
                 const LoopState* state, cudaStream_t stream);

// A value that is kept for every step: the one of step i of the graph, at `made + i * stride`, goes to
// `kept + step % room * bytes`.
struct KeptOutput {
  const std::byte* made = nullptr;
  std::size_t stride = 0;
  std::byte* kept = nullptr;
  std::size_t bytes = 0;
};
inline constexpr std::size_t most_kept_at_once = 16;

// Keeps what that many steps made, and counts them if it is the last such call of a graph.
void keep_outputs(const std::array<KeptOutput, most_kept_at_once>& outputs, int count, std::int64_t room, int steps,
                  bool counts_steps, LoopState* state, cudaStream_t stream);

// Notes `place` in the state if an element is not finite and no earlier place is noted. Types that are always finite
// cost nothing.
void check_finite(const Type& type, const std::byte* data, unsigned long long place, LoopState* state,
                  cudaStream_t stream);
// Notes the kernel and the index in the state if one of the int32 indices is not that of one of `rows` rows and no
// earlier kernel is noted.
void check_indices(const std::byte* indices, std::int64_t count, std::int64_t rows, std::size_t kernel,
                   LoopState* state, cudaStream_t stream);

}  // namespace pando::cuda
