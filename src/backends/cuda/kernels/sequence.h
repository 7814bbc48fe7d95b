// SPDX-License-Identifier: Apache-2.0
// Sequence: a Kernel made of others, one after the other, with what they pass on in scratch memory. Ops that stand for
// several are such sequences where no kernel does all of it at once.
#pragma once
#include <vector>

#include "backends/cuda/kernel.h"

namespace pando::cuda {

class Sequence final : public Kernel {
 public:
  // Where a part finds an operand: an input or an output of the whole call, or `at` bytes into scratch memory.
  struct Place {
    enum class Kind { input, output, scratch };
    Kind kind;
    std::size_t at;
  };
  static Place input(std::size_t index) { return {Place::Kind::input, index}; }
  static Place output(std::size_t index) { return {Place::Kind::output, index}; }
  // Room for a value that parts pass on.
  Place passed_on(const Type& type);

  void add(std::unique_ptr<Kernel> kernel, std::vector<Place> inputs, std::vector<Place> outputs);

  std::size_t scratch_bytes() const override;
  void launch(const Operands& operands, cudaStream_t stream) const override;

 private:
  struct Part {
    std::unique_ptr<Kernel> kernel;
    std::vector<Place> inputs, outputs;
  };
  std::vector<Part> parts_;
  // For what is passed on; the scratch memory of the parts follows.
  std::size_t bytes_ = 0;
};

// Whether the op ends with an elementwise program.
bool has_epilogue(const KernelCall& call);
// Whether its program adds input 2, a number for each of the last axis, and then perhaps takes relu: kernels of
// products do that themselves.
struct BiasEpilogue {
  bool found = false, relu = false;
};
BiasEpilogue find_bias(const KernelCall& call);
// The op made by `factory`, then its program. The first two inputs are the op's own.
std::unique_ptr<Kernel> make_with_epilogue(const KernelCall& call, const KernelContext& context, KernelFactory factory);
// Adds the program of a call to a sequence that has made its raw result at `raw`, of type `type`.
void add_epilogue(Sequence& sequence, const KernelCall& call, const KernelContext& context, const Type& type,
                  Sequence::Place raw);

}  // namespace pando::cuda
