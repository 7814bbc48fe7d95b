// SPDX-License-Identifier: Apache-2.0
// The memory of a GPU, and memory of the host that a GPU copies from while the host does other things.
#pragma once
#include "runtime/memory.h"

namespace pando::cuda {

// Addresses are device pointers. When a call of copy returns, the bytes have arrived. It does not wait for programs
// that run at the same time.
class CudaMemory final : public Memory {
 public:
  explicit CudaMemory(int gpu) : gpu_(gpu) {}

  int gpu() const { return gpu_; }
  Allocation allocate(std::size_t bytes, const std::string& what) override;
  void set_zero(const Place& place, std::size_t bytes) override;
  void write(const Place& to, const std::byte* from, std::size_t bytes) override;
  void read(std::byte* to, const Place& from, std::size_t bytes) override;
  void copy(const Place& to, const Place& from, std::size_t bytes) override;
  std::byte* host_pointer(const Place&) const override { return nullptr; }
  std::byte* kernel_pointer(const Place& place) const override;

 private:
  void release(std::uintptr_t address, std::size_t bytes) noexcept override;

  const int gpu_;
};

// The memory of a GPU; devices on the same GPU share it.
std::shared_ptr<Memory> memory_of(int gpu);
// Memory of the host whose pages stay where they are.
const std::shared_ptr<Memory>& pinned_memory();

}  // namespace pando::cuda
