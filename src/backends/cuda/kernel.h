// SPDX-License-Identifier: Apache-2.0
// Kernel: one KernelCall made ready for a GPU, and a factory for each op: what turns a KernelCall into a Kernel. Made
// from ops.def, so an op without one does not link.
//
// A kernel is made once when a Plan is loaded and enqueues its work while a CUDA graph is captured. What a call reads
// and writes is in device memory; the counter (update and first sample) is an operand like any other, as on the CPU.
//
// The order of its sums depends on shapes alone, and it uses no atomic sums: every run gives the same bits. Those of
// the CPU are the same to rounding.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>

#include "backends/cuda/check.h"
#include "backends/cuda/recording.h"
#include "plan/plan.h"

namespace pando::cuda {

// Pointers in the device's memory, aligned as plan.h says.
struct Operands {
  // In the order of the call's inputs and outputs. An output that is never read (buffer -1) is null and is not written.
  std::span<const std::byte* const> inputs;
  std::span<std::byte* const> outputs;
  // scratch_bytes() bytes with undefined contents, shared by all calls of a stream: one after the other uses it.
  std::byte* scratch = nullptr;
  // Whether it runs right after the same call of the step before, and need not wait for anything else.
  bool follows_itself = false;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::size_t scratch_bytes() const { return 0; }
  // Enqueues the work on the stream. It is called while a CUDA graph is captured: it must not allocate, synchronise or
  // read device memory on the host. It may be called several times, with other pointers.
  virtual void launch(const Operands& operands, cudaStream_t stream) const = 0;

  // A recorded step is not captured. A kernel that does several calls may then do them in parts, so that each part has
  // a time. This function prepares that; it may take long, and is called before the other functions of a recording.
  virtual void prepare_recording() {}
  virtual std::size_t recorded_parts() const { return 1; }
  // Enqueues one part.
  virtual void launch_recorded([[maybe_unused]] std::size_t part, const Operands& operands, cudaStream_t stream) const {
    launch(operands, stream);
  }
  // What took the time of a part, once it has ended: its calls in the order in which they ran; empty if it does one
  // call.
  virtual std::vector<CallCycles> recorded_calls(std::size_t) const { return {}; }
};

// What a kernel is made for.
struct KernelContext {
  // Products may round their float32 factors to bfloat16; their sums stay float32.
  bool mixed_bfloat16 = false;
  // The same with tf32, which has the range of float32 and 11 bits of its precision.
  bool tf32 = false;
  bool rounds_factors() const { return mixed_bfloat16 || tf32; }
  int multiprocessors = 1;
  // Compute capability 9.0 is 90.
  int architecture = 80;
  // The most shared memory that a block may ask for.
  std::size_t shared_bytes = 48 * 1024;
};

// The most instructions of a fused program: the interpreter keeps that many values a thread in registers.
inline constexpr std::size_t most_fused_instructions = 32;

using KernelFactory = std::unique_ptr<Kernel> (*)(const KernelCall& call, const KernelContext& context);

namespace factories {
#define PANDO_SOURCE(name)
#define PANDO_SPAN(name)
#define PANDO_VIEW(name)
#define PANDO_OP(name) std::unique_ptr<Kernel> name(const KernelCall& call, const KernelContext& context);
#include "ops/ops.def"
}  // namespace factories

// A typed pointer to an operand; null for an output that is never read.
template <class T>
const T* input(const Operands& operands, std::size_t index) {
  return reinterpret_cast<const T*>(operands.inputs[index]);
}
template <class T>
T* output(const Operands& operands, std::size_t index) {
  return reinterpret_cast<T*>(operands.outputs[index]);
}

// A Kernel that is nothing but its function; `Launch` is called as launch(operands, stream).
template <class Launch>
std::unique_ptr<Kernel> make_kernel(Launch launch, std::size_t scratch_bytes = 0) {
  class FunctionKernel final : public Kernel {
   public:
    FunctionKernel(Launch launch, std::size_t scratch_bytes)
        : launch_(std::move(launch)), scratch_bytes_(scratch_bytes) {}
    std::size_t scratch_bytes() const override { return scratch_bytes_; }
    void launch(const Operands& operands, cudaStream_t stream) const override { launch_(operands, stream); }

   private:
    Launch launch_;
    std::size_t scratch_bytes_;
  };
  return std::make_unique<FunctionKernel>(std::move(launch), scratch_bytes);
}

}  // namespace pando::cuda
