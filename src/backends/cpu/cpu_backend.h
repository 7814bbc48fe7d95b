// The CPU as a backend: tiles are threads, kernels are compiled for several instruction sets.
#pragma once
#include "backends/cpu/routines.h"
#include "runtime/backend.h"
#include "backends/cpu/tiles.h"

namespace pando::cpu {

class CpuBackend final : public Backend {
 public:
  CpuBackend(int tiles, std::string_view instruction_set);

  std::string_view name() const override { return "cpu"; }
  int tiles() const override { return tiles_->count(); }
  InstructionSet instruction_set() const { return routines_.instruction_set; }
  std::unique_ptr<Executable> load(const Plan& plan, const BindVariable& bind) override;
  std::vector<Array> evaluate(const Node& node, const std::vector<Array>& inputs) override;

 private:
  const Routines& routines_;
  // The same, with products of bfloat16 where they are faster.
  const Routines mixed_routines_;
  std::shared_ptr<TileGroup> tiles_;
};

}  // namespace pando::cpu
