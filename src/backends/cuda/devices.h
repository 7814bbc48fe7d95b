// SPDX-License-Identifier: Apache-2.0
// The GPUs of this machine, and why there are none.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pando::cuda {

struct Gpu {
  // As the CUDA runtime counts them.
  int number = 0;
  std::string name;
  std::size_t memory_bytes = 0;
  // Compute capability 9.0 is 90.
  int architecture = 0;
  int multiprocessors = 0;
  // The most shared memory that a block may ask for.
  std::size_t shared_bytes = 0;
  // No other GPU of the world has the same.
  std::array<std::uint8_t, 16> uuid = {};
};

// What the CUDA runtime says about drivers and GPUs. Versions are as it counts them: 13.0 is 13000; a driver that is
// not there has version 0.
struct Machine {
  int driver_version = 0, runtime_version = 0;
  // What was wrong when GPUs were counted; empty if nothing was.
  std::string failure = {};
  std::vector<Gpu> gpus = {};
};

// Looks once for a process; calls nothing of the driver before.
const Machine& machine();
// Why the backend cannot be used there, as a sentence with the remedy; empty if it can.
std::string why_unusable(const Machine& machine);
// The text of the Error when `bytes` for `what` did not fit into what is free on a GPU.
std::string out_of_memory(std::size_t bytes, std::size_t free_bytes, const std::string& what);
// The GPUs that a process takes of the `count` of its machine. This is number `rank` of the `workers` on the machine,
// which take different GPUs as far as there are enough. 0 workers: their number is not known.
std::vector<int> own_gpus(int count, int rank, int workers);
// The bytes that are free on the GPU now.
std::size_t free_bytes(int gpu);
// The calling thread works with this GPU from now on.
void use_gpu(int gpu);

}  // namespace pando::cuda
