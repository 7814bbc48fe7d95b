// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/devices.h"

#include <fmt/format.h>

#include <cstring>

#include "backends/cuda/check.h"
#include "base/text.h"

namespace pando::cuda {

namespace {

// What the kernels are compiled for at least.
constexpr int oldest_architecture = 80;

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }
std::string architecture_text(int architecture) { return fmt::format("{}.{}", architecture / 10, architecture % 10); }

Gpu describe(int number) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, number), "to describe itself");
  Gpu gpu{.number = number,
          .name = properties.name,
          .memory_bytes = properties.totalGlobalMem,
          .architecture = properties.major * 10 + properties.minor,
          .multiprocessors = properties.multiProcessorCount,
          .shared_bytes = properties.sharedMemPerBlockOptin};
  static_assert(sizeof properties.uuid == sizeof gpu.uuid);
  std::memcpy(gpu.uuid.data(), &properties.uuid, sizeof gpu.uuid);
  return gpu;
}

Machine look() {
  Machine found;
  cudaRuntimeGetVersion(&found.runtime_version);
  cudaDriverGetVersion(&found.driver_version);
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (code != cudaSuccess) {
    if (code != cudaErrorNoDevice) found.failure = cudaGetErrorString(code);
    return found;
  }
  for (int number = 0; number < count; ++number) found.gpus.push_back(describe(number));
  return found;
}

}  // namespace

// It is never destroyed, because devices that live until the end of the process refer to it.
const Machine& machine() {
  static const auto& found = *new Machine(look());
  return found;
}

std::string out_of_memory(std::size_t bytes, std::size_t free_bytes, const std::string& what) {
  return fmt::format(
      "cannot allocate {} for {} on the GPU, which has {} free; use a smaller batch or a smaller model, or end other "
      "programs that use the GPU",
      bytes_text(bytes), what, bytes_text(free_bytes));
}

std::string why_unusable(const Machine& machine) {
  if (machine.driver_version == 0)
    return "the backend 'cuda' finds no driver for NVIDIA GPUs; install one (nvidia-smi shows it), or use the backend "
           "'cpu'";
  if (machine.driver_version / 1000 < machine.runtime_version / 1000)
    return fmt::format(
        "the backend 'cuda' needs a driver for CUDA {} but that of this machine is for CUDA {}; update the NVIDIA "
        "driver, or use the backend 'cpu'",
        version_text(machine.runtime_version), version_text(machine.driver_version));
  if (!machine.failure.empty())
    return fmt::format("the backend 'cuda' cannot use the GPU: {}; look at nvidia-smi, or use the backend 'cpu'",
                       machine.failure);
  if (machine.gpus.empty())
    return "the backend 'cuda' finds no NVIDIA GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES, or use the backend "
           "'cpu'";
  for (const Gpu& gpu : machine.gpus)
    if (gpu.architecture < oldest_architecture)
      return fmt::format(
          "the backend 'cuda' needs compute capability {} but GPU {}, {}, has {}; leave it out with "
          "CUDA_VISIBLE_DEVICES, or use the backend 'cpu'",
          architecture_text(oldest_architecture), gpu.number, gpu.name, architecture_text(gpu.architecture));
  return "";
}

std::vector<int> own_gpus(int count, int rank, int workers) {
  // More workers than GPUs share them.
  if (workers < 1 || workers > count) return {rank % count};
  std::vector<int> own;
  for (int gpu = rank % workers; gpu < count; gpu += workers) own.push_back(gpu);
  return own;
}

std::size_t free_bytes(int gpu) {
  std::size_t free = 0, total = 0;
  use_gpu(gpu);
  check(cudaMemGetInfo(&free, &total), "to say what memory is free");
  return free;
}

void use_gpu(int gpu) { check(cudaSetDevice(gpu), "to be chosen"); }

}  // namespace pando::cuda
