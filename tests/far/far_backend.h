// SPDX-License-Identifier: Apache-2.0
// The backend "far": CPU kernels in a memory of their own, which the host cannot reach. It stands for a GPU on machines
// without one: whatever the host touches without asking the device's memory crashes, and whatever was not written is
// not a number.
#pragma once
#include "backends/cpu/cpu_backend.h"
#include "tests/comm/emulated_sums.h"

namespace pando {

// Addresses are not pointers: their upper bits are wrong, so that a processor refuses to follow them.
class FarMemory final : public Memory {
 public:
  Allocation allocate(std::size_t bytes, const std::string& what) override;
  void set_zero(const Place& place, std::size_t bytes) override;
  void write(const Place& to, const std::byte* from, std::size_t bytes) override;
  void read(std::byte* to, const Place& from, std::size_t bytes) override;
  std::byte* host_pointer(const Place&) const override { return nullptr; }
  std::byte* kernel_pointer(const Place& place) const override;

 private:
  std::byte* pointer(const Place& place) const;
  void release(std::uintptr_t address, std::size_t bytes) noexcept override;
};

// A device with a memory of its own.
class FarBackend : public cpu::CpuBackend {
 public:
  FarBackend(int tiles, std::string_view instruction_set)
      : CpuBackend(tiles, instruction_set, std::make_shared<FarMemory>()) {}
  std::string name() const override { return "far"; }
  // Sums over workers do not go through the host.
  std::shared_ptr<SumLink> sum_link() const override { return link_; }

 private:
  const std::shared_ptr<SumLink> link_ = std::make_shared<EmulatedSumLink>();
};

}  // namespace pando
