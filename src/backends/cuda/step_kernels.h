// SPDX-License-Identifier: Apache-2.0
// What a step does before and after its kernels without the host: it takes its row of the feed, counts, keeps its
// results, and looks for NaN.
#pragma once
#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "plan/plan.h"

namespace pando::cuda {

// How far an execution of the loop is; in device memory.
struct LoopState {
  // Of the step that is next: its number in this execution, and that of its update.
  std::int64_t step = 0, update = 0;
  // Blocks of the last kernel that are done.
  unsigned blocks_done = 0;
  // Where the first NaN or infinity of a step was: superstep << 32 | call << 8 | output, or `finite`.
  unsigned long long not_finite = finite;

  static constexpr unsigned long long finite = ~0ULL;
};

// The ring that rows of the feed are copied to, and where kernels read the row of this step.
struct FeedCopy {
  const std::byte* ring = nullptr;
  std::int64_t slots = 1;
  // A multiple of buffer_alignment.
  std::size_t bytes = 0;
  std::byte* row = nullptr;
};

// Copies this step's row of the feed and sets the counter; both may be null.
void begin_step(const FeedCopy& feed, std::int64_t* counter, const LoopState* state, cudaStream_t stream);

// A value that is kept for every step: the step's goes to `kept + step % room * bytes`.
struct KeptOutput {
  const std::byte* from = nullptr;
  std::byte* kept = nullptr;
  std::size_t bytes = 0;
};
inline constexpr std::size_t most_kept_at_once = 16;

// Keeps what the step made, and counts the step if it is the last call of a step.
void keep_outputs(const std::array<KeptOutput, most_kept_at_once>& outputs, int count, std::int64_t room,
                  bool counts_step, LoopState* state, cudaStream_t stream);

// Notes `place` in the state if an element is not finite and no earlier place is noted. Types that are always finite
// cost nothing.
void check_finite(const Type& type, const std::byte* data, unsigned long long place, LoopState* state,
                  cudaStream_t stream);

}  // namespace pando::cuda
