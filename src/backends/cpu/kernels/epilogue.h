// SPDX-License-Identifier: Apache-2.0
// Epilogue: what follows the raw result of a matmul or convolution: nothing, or an elementwise program.
#pragma once
#include <optional>

#include "backends/cpu/kernels/elementwise_runner.h"

namespace pando::cpu {

class Epilogue {
 public:
  // The first `own_inputs` inputs of the call are the op's own; `raw` is the type of its raw result.
  Epilogue(const KernelCall& call, std::size_t own_inputs, const Type& raw, const Routines& routines);

  // Whether the raw result is made where output 0 goes; otherwise it is made in scratch memory.
  bool raw_in_output() const { return raw_in_output_; }
  template <class T>
  T* raw(const Tile& tile) const {
    return pointer<T>(tile, output_);
  }

  std::size_t scratch_bytes() const { return runner_ ? runner_->scratch_bytes() : 0; }
  // Once on each tile before finish(), which needs `scratch` unchanged.
  void begin(const Tile& tile, std::byte* scratch) const {
    if (runner_) runner_->begin(tile, scratch);
  }
  // Makes elements [first, first + count) of the outputs from those of the raw result, which start at `raw`.
  void finish(const Tile& tile, std::byte* scratch, std::int64_t first, std::int64_t count, const void* raw) const {
    if (runner_ && count > 0) runner_->run(tile, scratch, first, count, raw);
  }

 private:
  Operand output_;
  bool raw_in_output_;
  std::optional<ElementwiseRunner> runner_;
};

}  // namespace pando::cpu
