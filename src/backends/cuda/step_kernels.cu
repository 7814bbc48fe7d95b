// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/step_kernels.h"

#include <algorithm>

#include "backends/cuda/launch.h"

namespace pando::cuda {

namespace {

constexpr std::int64_t most_copy_blocks = 512;

__global__ void fetch(FeedCopy feed, std::int64_t* counter, const LoopState* state) {
  if (counter != nullptr && first_element() == 0) {
    counter[0] = state->update;
    counter[1] = 0;
  }
  if (feed.row == nullptr) return;
  const auto words = static_cast<std::int64_t>(feed.bytes / sizeof(uint4));
  const auto* from = reinterpret_cast<const uint4*>(feed.ring + state->step % feed.slots * feed.bytes);
  auto* to = reinterpret_cast<uint4*>(feed.row);
  for (std::int64_t i = first_element(); i < words; i += element_stride()) to[i] = from[i];
}

struct Keep {
  KeptOutput outputs[most_kept_at_once];
  int count;
  std::int64_t room;
  bool counts_step;
};

__device__ void keep_one(const KeptOutput& output, std::int64_t place) {
  std::byte* to = output.kept + place * output.bytes;
  const auto bytes = static_cast<std::int64_t>(output.bytes);
  // Both begin on a multiple of 4 if the size is one.
  if (bytes % 4 == 0) {
    for (std::int64_t i = first_element(); i < bytes / 4; i += element_stride())
      reinterpret_cast<std::uint32_t*>(to)[i] = reinterpret_cast<const std::uint32_t*>(output.from)[i];
  } else {
    for (std::int64_t i = first_element(); i < bytes; i += element_stride()) to[i] = output.from[i];
  }
}

__global__ void keep(Keep keep, LoopState* state) {
  const std::int64_t place = state->step % keep.room;
  for (int i = 0; i < keep.count; ++i) keep_one(keep.outputs[i], place);
  if (!keep.counts_step) return;
  // The last block to come here knows that all have read the state.
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicAdd(&state->blocks_done, 1U) != gridDim.x - 1) return;
  state->blocks_done = 0;
  ++state->step;
  ++state->update;
}

template <class T>
__global__ void find_not_finite(const T* data, std::int64_t count, unsigned long long place, LoopState* state) {
  for (std::int64_t i = first_element(); i < count; i += element_stride())
    if (!isfinite(data[i])) {
      atomicMin(&state->not_finite, place);
      return;
    }
}

}  // namespace

void begin_step(const FeedCopy& feed, std::int64_t* counter, const LoopState* state, cudaStream_t stream) {
  if (feed.row == nullptr && counter == nullptr) return;
  const auto words = static_cast<std::int64_t>(feed.row == nullptr ? 0 : feed.bytes / sizeof(uint4));
  fetch<<<blocks_for(words, block_threads, most_copy_blocks), block_threads, 0, stream>>>(feed, counter, state);
  check_launch("to launch the begin of a step");
}

void keep_outputs(const std::array<KeptOutput, most_kept_at_once>& outputs, int count, std::int64_t room,
                  bool counts_step, LoopState* state, cudaStream_t stream) {
  Keep all{.outputs = {}, .count = count, .room = room, .counts_step = counts_step};
  std::size_t largest = 0;
  for (int i = 0; i < count; ++i) {
    all.outputs[i] = outputs[static_cast<std::size_t>(i)];
    largest = std::max(largest, all.outputs[i].bytes);
  }
  const auto words = static_cast<std::int64_t>((largest + 3) / 4);
  keep<<<blocks_for(words, block_threads, most_copy_blocks), block_threads, 0, stream>>>(all, state);
  check_launch("to launch the end of a step");
}

void check_finite(const Type& type, const std::byte* data, unsigned long long place, LoopState* state,
                  cudaStream_t stream) {
  const std::int64_t count = type.shape.elements();
  const unsigned blocks = blocks_for(count, block_threads, most_copy_blocks);
  if (type.dtype == DType::float32)
    find_not_finite<<<blocks, block_threads, 0, stream>>>(reinterpret_cast<const float*>(data), count, place, state);
  else if (type.dtype == DType::float64)
    find_not_finite<<<blocks, block_threads, 0, stream>>>(reinterpret_cast<const double*>(data), count, place, state);
  else return;
  check_launch("to look for NaN");
}

}  // namespace pando::cuda
