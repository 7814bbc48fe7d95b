// SPDX-License-Identifier: Apache-2.0
// Computation: what a program does with tensors and modules outside of PopTorch, as one compiled program.
#pragma once
#include <pando/frontends/torch/module.h>
#include <pando/frontends/torch/optim.h>

#include <optional>

namespace pando::torch {

// The outputs of a traced function and, for an optimizer, the gradients of its parameters, laid out as PyTorch lays the
// parameters out.
struct ComputationResults {
  std::vector<Tensor> outputs = {};
  std::vector<std::pair<nn::Parameter, Tensor>> gradients = {};
};
using ComputationFunction = Function<ComputationResults(const std::vector<Tensor>& inputs)>;

// The gradients of a loss, which is one number, while a computation is traced: first those of the parameters, then
// those of the tensors. They are zeros where the loss does not depend on one.
PANDO_API std::vector<Tensor> gradients(const Tensor& loss, const std::vector<nn::Parameter>& parameters,
                                        const std::vector<Tensor>& tensors = {});

// While a computation is traced: from here on, calls of layers change what they keep about their inputs, such as
// running means, or do not.
PANDO_API void keep_statistics(bool keep);

// What an optimizer keeps for its parameters. Computations that are given the same states continue each other's.
struct OptimizerStates {
  Variables variables = {};
  std::int64_t updates = 0;
};

// Only one thread at a time may use it.
class PANDO_API Computation {
 public:
  // Traces the function with tensors of these types; `parts` are the modules that it calls. The inputs may be scalars.
  // With an optimizer, a run updates the parameters that have a gradient. Throws Error as the ops do.
  Computation(const std::vector<Type>& inputs, const nn::ModuleParts& parts, const ComputationFunction& function,
              const std::optional<optim::Optimizer>& optimizer = {}, std::shared_ptr<OptimizerStates> states = {});
  ~Computation();
  Computation(Computation&&) noexcept;

  Arrays run(const Arrays& inputs);

  // The types of what the function returns, without a program.
  static std::vector<Type> output_types(const std::vector<Type>& inputs, const nn::ModuleParts& parts,
                                        const ComputationFunction& function);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pando::torch
