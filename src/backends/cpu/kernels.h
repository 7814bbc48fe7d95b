// SPDX-License-Identifier: Apache-2.0
// One factory per op: what turns a KernelCall into a Kernel. Made from ops.def, so an op without one does not link.
#pragma once
#include <memory>

#include "backends/cpu/routines.h"
#include "ops/op_list.h"
#include "plan/plan.h"
#include "backends/cpu/kernel.h"

namespace pando::cpu {

using KernelFactory = std::unique_ptr<Kernel> (*)(const KernelCall& call, const Routines& routines);

namespace factories {
#define PANDO_SOURCE(name)
#define PANDO_SPAN(name)
#define PANDO_VIEW(name)
#define PANDO_OP(name) std::unique_ptr<Kernel> name(const KernelCall& call, const Routines& routines);
#include "ops/ops.def"
}  // namespace factories

// The memory of an operand on this tile.
template <class T>
T* pointer(const Tile& tile, const Operand& operand) {
  return reinterpret_cast<T*>(tile.buffers[operand.buffer]);
}

// Element `index` of an operand that counts: int32, int64, or whole float64 numbers.
inline std::int64_t whole_number(const Tile& tile, const Operand& operand, int index) {
  switch (operand.type.dtype) {
    case DType::int64: return pointer<const std::int64_t>(tile, operand)[index];
    case DType::float64: return static_cast<std::int64_t>(pointer<const double>(tile, operand)[index]);
    default: return pointer<const std::int32_t>(tile, operand)[index];
  }
}

// Calls `make` with the routines of a family, e.g. routines.norm, for float64 or float32.
template <class Family, class Make>
std::unique_ptr<Kernel> for_dtype(DType dtype, const Family& family, Make make) {
  return dtype == DType::float64 ? make(family.float64) : make(family.float32);
}

// A Kernel that is nothing but its function; `Run` is called as run(tile).
template <class Run>
std::unique_ptr<Kernel> make_kernel(Run run, std::size_t scratch_bytes = 0) {
  class FunctionKernel final : public Kernel {
   public:
    FunctionKernel(Run run, std::size_t scratch_bytes) : run_(std::move(run)), scratch_bytes_(scratch_bytes) {}
    std::size_t scratch_bytes() const override { return scratch_bytes_; }
    void run(const Tile& tile) const override { run_(tile); }

   private:
    Run run_;
    std::size_t scratch_bytes_;
  };
  return std::make_unique<FunctionKernel>(std::move(run), scratch_bytes);
}

}  // namespace pando::cpu
