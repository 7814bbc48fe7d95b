// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/step_kernels.h"

#include <algorithm>

#include "backends/cuda/launch.h"

namespace pando::cuda {

namespace {

constexpr std::int64_t most_copy_blocks = 128;
constexpr int words_at_once = 4;

// to[i] = from(i) for all words. A thread loads several before it stores them, so that it waits for memory once.
template <class Word, class From>
__device__ void copy_words(Word* to, std::int64_t words, const From& from) {
  const std::int64_t stride = element_stride();
  for (std::int64_t first = first_element(); first < words; first += words_at_once * stride) {
    Word loaded[words_at_once];
#pragma unroll
    for (int n = 0; n < words_at_once; ++n)
      if (const std::int64_t i = first + n * stride; i < words) loaded[n] = from(i);
#pragma unroll
    for (int n = 0; n < words_at_once; ++n)
      if (const std::int64_t i = first + n * stride; i < words) to[i] = loaded[n];
  }
}

// Copies the field of one step; threads of all blocks x share the work.
template <class Word>
__device__ void copy_field(const FeedField& field, const std::byte* slot, std::byte* row) {
  const auto words = static_cast<std::int64_t>(field.bytes / sizeof(Word));
  auto* to = reinterpret_cast<Word*>(row + field.offset);
  if (field.samples == nullptr) {
    const auto* from = reinterpret_cast<const Word*>(slot + field.slot_offset);
    return copy_words(to, words, [&](std::int64_t i) { return from[i]; });
  }
  // A feed with samples has less than 4 GiB, and 32 bits divide faster.
  const auto words_a_sample = static_cast<std::uint32_t>(field.sample_bytes / sizeof(Word));
  const auto* numbers = reinterpret_cast<const std::int32_t*>(slot + field.slot_offset);
  const auto* from = reinterpret_cast<const Word*>(field.samples);
  copy_words(to, words, [&](std::int64_t i) {
    const std::uint32_t sample = static_cast<std::uint32_t>(i) / words_a_sample;
    const std::uint32_t word = static_cast<std::uint32_t>(i) - sample * words_a_sample;
    return from[static_cast<std::int64_t>(numbers[sample]) * words_a_sample + word];
  });
}

// Block (x, step).
__global__ void fetch(const LoopFeed* feed, int fields, StepPlaces places, const LoopState* state) {
  if (places.counters != nullptr && first_element() == 0) {
    auto* counter = reinterpret_cast<std::int64_t*>(places.counters + blockIdx.y * places.counter_bytes);
    counter[0] = state->update + blockIdx.y;
    counter[1] = 0;
  }
  if (places.rows == nullptr) return;
  const std::byte* slot = feed->ring + (state->step + blockIdx.y) % feed->slots * feed->slot_bytes;
  std::byte* row = places.rows + blockIdx.y * places.row_bytes;
  for (int i = 0; i < fields; ++i) {
    const FeedField field = reinterpret_cast<const FeedField*>(feed + 1)[i];
    // Fields begin on a multiple of 64, and samples where the one before ends.
    const std::size_t unit = field.bytes | field.sample_bytes;
    if (unit % sizeof(uint4) == 0) copy_field<uint4>(field, slot, row);
    else if (unit % sizeof(std::uint32_t) == 0) copy_field<std::uint32_t>(field, slot, row);
    else copy_field<std::uint8_t>(field, slot, row);
  }
}

struct Keep {
  KeptOutput outputs[most_kept_at_once];
  std::int64_t room;
  bool counts_steps;
};

// Block (x, output, step).
__global__ void keep(Keep keep, LoopState* state) {
  const KeptOutput& output = keep.outputs[blockIdx.y];
  const std::byte* from = output.made + blockIdx.z * output.stride;
  std::byte* to = output.kept + (state->step + blockIdx.z) % keep.room * output.bytes;
  const auto bytes = static_cast<std::int64_t>(output.bytes);
  // Both begin on a multiple of 4 if the size is one.
  if (bytes % 4 == 0) {
    for (std::int64_t i = first_element(); i < bytes / 4; i += element_stride())
      reinterpret_cast<std::uint32_t*>(to)[i] = reinterpret_cast<const std::uint32_t*>(from)[i];
  } else {
    for (std::int64_t i = first_element(); i < bytes; i += element_stride()) to[i] = from[i];
  }
  if (!keep.counts_steps) return;
  // The last block to come here knows that all have read the state.
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicAdd(&state->blocks_done, 1U) != gridDim.x * gridDim.y * gridDim.z - 1) return;
  state->blocks_done = 0;
  state->step += gridDim.z;
  state->update += gridDim.z;
}

template <class T>
__global__ void find_not_finite(const T* data, std::int64_t count, unsigned long long place, LoopState* state) {
  for (std::int64_t i = first_element(); i < count; i += element_stride())
    if (!isfinite(data[i])) {
      atomicMin(&state->not_finite, place);
      return;
    }
}

__global__ void find_bad_index(const std::int32_t* indices, std::int64_t count, std::int64_t rows,
                               unsigned long long kernel, LoopState* state) {
  for (std::int64_t i = first_element(); i < count; i += element_stride())
    if (indices[i] < 0 || indices[i] >= rows)
      atomicMin(&state->bad_index, kernel << 32 | static_cast<std::uint32_t>(indices[i]));
}

}  // namespace

void begin_steps(const LoopFeed* feed, int fields, std::size_t largest, const StepPlaces& places, int steps,
                 const LoopState* state, cudaStream_t stream) {
  if (places.rows == nullptr && places.counters == nullptr) return;
  const auto words = static_cast<std::int64_t>(largest / (sizeof(uint4) * words_at_once));
  const dim3 blocks(blocks_for(words, block_threads, most_copy_blocks), static_cast<unsigned>(steps));
  fetch<<<blocks, block_threads, 0, stream>>>(feed, fields, places, state);
  check_launch("to launch the begin of a step");
}

void keep_outputs(const std::array<KeptOutput, most_kept_at_once>& outputs, int count, std::int64_t room, int steps,
                  bool counts_steps, LoopState* state, cudaStream_t stream) {
  Keep all{.outputs = {}, .room = room, .counts_steps = counts_steps};
  std::size_t largest = 0;
  for (int i = 0; i < count; ++i) {
    all.outputs[i] = outputs[static_cast<std::size_t>(i)];
    largest = std::max(largest, all.outputs[i].bytes);
  }
  const auto words = static_cast<std::int64_t>((largest + 3) / 4);
  const dim3 blocks(blocks_for(words, block_threads, most_copy_blocks), static_cast<unsigned>(std::max(count, 1)),
                    static_cast<unsigned>(steps));
  keep<<<blocks, block_threads, 0, stream>>>(all, state);
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

void check_indices(const std::byte* indices, std::int64_t count, std::int64_t rows, std::size_t kernel,
                   LoopState* state, cudaStream_t stream) {
  if (count == 0) return;
  find_bad_index<<<blocks_for(count, block_threads, most_copy_blocks), block_threads, 0, stream>>>(
      reinterpret_cast<const std::int32_t*>(indices), count, rows, kernel, state);
  check_launch("to look for indices out of range");
}

}  // namespace pando::cuda
