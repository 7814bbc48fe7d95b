// SPDX-License-Identifier: Apache-2.0
// Runs the code of a kernel on the host: a thread of the host for each thread of a block, one block after the other.
// For headers of kernels that use barriers, shared memory and tensor cores, and nothing else of a GPU. Include it
// before them.
#pragma once
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <barrier>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

// One block runs at a time, so what its threads share may be static.
#undef __shared__
#define __shared__ static
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __grid_constant__
#define __grid_constant__
#define PANDO_EMULATED_TENSOR_CORES

struct EmulatedIndex {
  unsigned x = 0, y = 0;
};
inline thread_local EmulatedIndex threadIdx;
inline EmulatedIndex blockIdx, blockDim, gridDim;

namespace pando::cuda {

inline std::optional<std::barrier<>> block_barrier;

template <class Run>
void emulate(unsigned blocks, EmulatedIndex threads, Run run) {
  const unsigned count = threads.x * threads.y;
  gridDim = {blocks, 1};
  blockDim = threads;
  block_barrier.emplace(count);
  std::vector<std::thread> running;
  for (unsigned i = 0; i < count; ++i)
    running.emplace_back([&, i] {
      threadIdx = {i % threads.x, i / threads.x};
      for (unsigned block = 0; block < blocks; ++block) {
        if (i == 0) blockIdx = {block, 0};
        block_barrier->arrive_and_wait();
        run();
        block_barrier->arrive_and_wait();
      }
    });
  for (std::thread& thread : running) thread.join();
}

inline std::int64_t first_element() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
inline std::int64_t element_stride() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

inline float bfloat16_at(std::uint32_t pair, int half) {
  const std::uint32_t bits = (half == 0 ? pair << 16 : pair & 0xffff0000u);
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// mma.m16n8k16 as the manual of PTX lays it out. All warps of a block call it equally often.
inline void multiply_add(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  static std::uint32_t all_a[1024][4], all_b[1024][2];
  const unsigned thread = threadIdx.x, warp = thread / 32 * 32, lane = thread % 32;
  std::memcpy(all_a[thread], a, sizeof a);
  std::memcpy(all_b[thread], b, sizeof b);
  block_barrier->arrive_and_wait();
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane / 4 + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + i % 2;
    for (unsigned k = 0; k < 16; ++k) {
      const unsigned a_lane = row % 8 * 4 + k % 8 / 2, b_lane = column * 4 + k % 8 / 2;
      sums[i] += bfloat16_at(all_a[warp + a_lane][row / 8 + k / 8 * 2], static_cast<int>(k % 2)) *
                 bfloat16_at(all_b[warp + b_lane][k / 8], static_cast<int>(k % 2));
    }
  }
  block_barrier->arrive_and_wait();
}

// mma.m16n8k8 in tf32.
inline void multiply_add_tf32(float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  static std::uint32_t all_a[1024][4], all_b[1024][2];
  const unsigned thread = threadIdx.x, warp = thread / 32 * 32, lane = thread % 32;
  std::memcpy(all_a[thread], a, sizeof a);
  std::memcpy(all_b[thread], b, sizeof b);
  block_barrier->arrive_and_wait();
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane / 4 + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + i % 2;
    for (unsigned k = 0; k < 8; ++k)
      sums[i] += std::bit_cast<float>(all_a[warp + row % 8 * 4 + k % 4][row / 8 + k / 4 * 2]) *
                 std::bit_cast<float>(all_b[warp + column * 4 + k % 4][k / 4]);
  }
  block_barrier->arrive_and_wait();
}
// To the nearest number of 11 significant bits, halves away from zero.
inline std::uint32_t rounded_to_tf32(float value) { return (std::bit_cast<std::uint32_t>(value) + 0x1000u) & ~0x1fffu; }

}  // namespace pando::cuda

inline void __syncthreads() { pando::cuda::block_barrier->arrive_and_wait(); }
