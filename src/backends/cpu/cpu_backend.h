// SPDX-License-Identifier: Apache-2.0
// The CPU as a backend: tiles are threads, kernels are compiled for several instruction sets.
#pragma once
#include "backends/cpu/routines.h"
#include "backends/cpu/tiles.h"
#include "runtime/backend.h"

namespace pando::cpu {

class CpuBackend : public Backend {
 public:
  // Works in the host's memory, or in one that its kernels can reach. With 0 tiles it has one for each core, and plans
  // use as many of them as suggested_tiles() says.
  CpuBackend(int tiles, std::string_view instruction_set, std::shared_ptr<Memory> memory = host_memory());

  std::string name() const override { return "cpu"; }
  std::string instruction_set() const override;
  int tiles() const override { return tiles_->count(); }
  const std::shared_ptr<Memory>& memory() const override { return memory_; }
  Capabilities capabilities() const override { return {.gradient_epilogues = true}; }
  bool prefers_pooled_gradient(const PooledGradientChoice& choice) const override;
  std::string why_unsupported(const KernelCall& call) const override;
  LoadedPlans load(std::span<const Plan* const> plans, const BindVariable& bind) override;

 private:
  const Routines& routines_;
  // The same, with products of bfloat16 where they are faster.
  const Routines mixed_routines_;
  std::shared_ptr<TileGroup> tiles_;
  bool chooses_tiles_;
  std::shared_ptr<Memory> memory_;
};

// Runs one node on host arrays. Returns nothing if it meets an index out of range.
std::vector<Array> evaluate(const Node& node, const std::vector<Array>& inputs);

}  // namespace pando::cpu
