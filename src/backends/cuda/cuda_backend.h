// SPDX-License-Identifier: Apache-2.0
// An NVIDIA GPU as a backend: one tile, kernels of CUDA, a step as one CUDA graph. Several virtual IPUs may share a
// GPU.
#pragma once
#include "backends/cuda/devices.h"
#include "runtime/backend.h"

namespace pando::cuda {

// Why no GPU has a kernel for the call, in words that end an error message; empty if there is one.
std::string why_no_kernel(const KernelCall& call);

// On the GPU of this process that has the fewest of them. Throws Error with the remedy if there is no GPU that it can
// use.
class CudaBackend final : public Backend {
 public:
  CudaBackend();
  ~CudaBackend() override;

  std::string name() const override { return "cuda"; }
  std::string instruction_set() const override;
  int tiles() const override { return 1; }
  Capabilities capabilities() const override;
  const std::shared_ptr<Memory>& memory() const override { return memory_; }
  const std::shared_ptr<Memory>& staging() const override;
  std::size_t room_for_samples() const override;
  std::shared_ptr<SumLink> sum_link() const override { return link_; }
  std::string why_unsupported(const KernelCall& call) const override;
  LoadedPlans load(std::span<const Plan* const> plans, const BindVariable& bind) override;

 private:
  const Gpu& gpu_;
  const std::shared_ptr<Memory> memory_;
  const std::shared_ptr<SumLink> link_;
};

}  // namespace pando::cuda
