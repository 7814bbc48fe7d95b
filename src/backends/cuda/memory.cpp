// SPDX-License-Identifier: Apache-2.0
// Copies use the stream of the calling thread and wait for it: threads do not wait for each other.
#include "backends/cuda/memory.h"

#include <pando/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "backends/cuda/check.h"
#include "backends/cuda/devices.h"
#include "base/text.h"

namespace pando::cuda {

namespace {

void* pointer(const Place& place) { return reinterpret_cast<void*>(place.address); }

void finish(const char* what) { check(cudaStreamSynchronize(cudaStreamPerThread), what); }

// To pin memory takes as long as many steps, and calls of a model pin the same rings again and again: some of what is
// released is kept for them.
class PinnedMemory final : public Memory {
 public:
  Allocation allocate(std::size_t bytes, const std::string& what) override {
    if (const std::uintptr_t kept = take_kept(bytes)) return {shared_from_this(), kept, bytes};
    void* data = nullptr;
    const cudaError_t code = cudaHostAlloc(&data, std::max<std::size_t>(bytes, 1), cudaHostAllocPortable);
    if (code == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw Error(
          fmt::format("cannot pin {} of memory for {}; use a smaller batch, or raise the limit of locked memory",
                      bytes_text(bytes), what));
    }
    check(code, "to pin memory");
    std::memset(data, 0, bytes);
    return {shared_from_this(), reinterpret_cast<std::uintptr_t>(data), bytes};
  }
  void set_zero(const Place& place, std::size_t bytes) override { std::memset(pointer(place), 0, bytes); }
  void write(const Place& to, const std::byte* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(pointer(to), from, bytes);
  }
  void read(std::byte* to, const Place& from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, pointer(from), bytes);
  }
  std::byte* host_pointer(const Place& place) const override { return static_cast<std::byte*>(pointer(place)); }
  std::byte* kernel_pointer(const Place&) const override { return nullptr; }

 private:
  static constexpr std::size_t most_kept_bytes = std::size_t{64} << 20, most_kept = 32;

  std::uintptr_t take_kept(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(kept_.begin(), kept_.end(), [&](const auto& block) { return block.second == bytes; });
    if (found == kept_.end()) return 0;
    const std::uintptr_t address = found->first;
    kept_.erase(found);
    kept_bytes_ -= bytes;
    return address;
  }

  // The oldest blocks make room. At the end of the process the driver may be gone, and the memory with it.
  void release(std::uintptr_t address, std::size_t bytes) noexcept override {
    const std::lock_guard lock(mutex_);
    kept_.emplace_back(address, bytes);
    kept_bytes_ += bytes;
    while (kept_bytes_ > most_kept_bytes || kept_.size() > most_kept) {
      cudaFreeHost(reinterpret_cast<void*>(kept_.front().first));
      kept_bytes_ -= kept_.front().second;
      kept_.pop_front();
    }
  }

  std::mutex mutex_;
  // Addresses and bytes, the oldest first.
  std::deque<std::pair<std::uintptr_t, std::size_t>> kept_;
  std::size_t kept_bytes_ = 0;
};

}  // namespace

Allocation CudaMemory::allocate(std::size_t bytes, const std::string& what) {
  use_gpu(gpu_);
  void* data = nullptr;
  const cudaError_t code = cudaMalloc(&data, std::max<std::size_t>(bytes, 1));
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error(out_of_memory(bytes, free_bytes(gpu_), what));
  }
  check(code, "to allocate memory");
  return {shared_from_this(), reinterpret_cast<std::uintptr_t>(data), bytes};
}

void CudaMemory::release(std::uintptr_t address, std::size_t) noexcept { cudaFree(reinterpret_cast<void*>(address)); }

std::byte* CudaMemory::kernel_pointer(const Place& place) const {
  return place.memory == this ? static_cast<std::byte*>(pointer(place)) : nullptr;
}

void CudaMemory::set_zero(const Place& place, std::size_t bytes) {
  use_gpu(gpu_);
  check(cudaMemsetAsync(pointer(place), 0, bytes, cudaStreamPerThread), "to clear memory");
  finish("to clear memory");
}

void CudaMemory::write(const Place& to, const std::byte* from, std::size_t bytes) {
  use_gpu(gpu_);
  check(cudaMemcpyAsync(pointer(to), from, bytes, cudaMemcpyHostToDevice, cudaStreamPerThread),
        "to copy from the host");
  finish("to copy from the host");
}

void CudaMemory::read(std::byte* to, const Place& from, std::size_t bytes) {
  use_gpu(gpu_);
  check(cudaMemcpyAsync(to, pointer(from), bytes, cudaMemcpyDeviceToHost, cudaStreamPerThread), "to copy to the host");
  finish("to copy to the host");
}

void CudaMemory::copy(const Place& to, const Place& from, std::size_t bytes) {
  const auto* other = dynamic_cast<const CudaMemory*>(from.memory);
  if (other == nullptr) return Memory::copy(to, from, bytes);
  use_gpu(gpu_);
  // The runtime goes through the host where two GPUs cannot reach each other.
  check(cudaMemcpyPeerAsync(pointer(to), gpu_, pointer(from), other->gpu(), bytes, cudaStreamPerThread),
        "to copy from another GPU");
  finish("to copy from another GPU");
}

// They are never destroyed, because objects that live until the end of the process may release memory last.
std::shared_ptr<Memory> memory_of(int gpu) {
  static auto& memories = *new std::map<int, std::shared_ptr<Memory>>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Memory>& memory = memories[gpu];
  if (!memory) memory = std::make_shared<CudaMemory>(gpu);
  return memory;
}

const std::shared_ptr<Memory>& pinned_memory() {
  static const auto& memory = *new std::shared_ptr<Memory>(std::make_shared<PinnedMemory>());
  return memory;
}

}  // namespace pando::cuda
