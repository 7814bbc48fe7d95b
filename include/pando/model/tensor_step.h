// SPDX-License-Identifier: Apache-2.0
// TensorStep: a function of inputs and variables as a program, whose variables are memory of the caller's, such as the
// weights of another framework.
#pragma once
#include <pando/model/tensor.h>

#include <optional>

namespace pando {

// A variable as the function of a step sees it.
struct TensorStepVariable {
  std::string name = {};
  Type type = {};
  VariableRole role = VariableRole::weight;
};

// Memory of someone else. The step keeps `owner` while it uses the memory.
struct HeldMemory {
  void* data = nullptr;
  std::shared_ptr<const void> owner = {};
};

struct TensorStepOptions {
  // All cores if there is none.
  std::optional<Device> device = {};
  Precision precision = Precision::float32;
};

// A run reads and changes the variables where they are, and copies none of them. Pointers to inputs, outputs and
// variables are in the memory of the device: for a GPU, addresses there. Only one thread at a time may use a step.
class PANDO_API TensorStep {
 public:
  // What the function computes: its outputs, and the variables that take a new value at the end of the step, by their
  // position.
  struct Results {
    std::vector<Tensor> outputs = {};
    std::vector<std::pair<std::size_t, Tensor>> assigned = {};
  };
  // `counter` has the number of the update and 0, int64 [2]: random ops take it.
  using Body =
      Function<Results(const std::vector<Tensor>& inputs, const std::vector<Tensor>& variables, const Tensor& counter)>;

  // Traces the function with tensors of these types; `name` appears in messages. Throws what the function throws, and
  // Error if it returns a tensor of something else, or assigns a value of another type.
  TensorStep(const std::string& name, const std::vector<Type>& inputs, const std::vector<TensorStepVariable>& variables,
             const Body& body, const TensorStepOptions& options = {});
  ~TensorStep();
  TensorStep(TensorStep&&) noexcept;

  // The types of the outputs.
  std::vector<Type> outputs() const;
  // The memory of each variable from now on. Compiles the program if it is new, or if the memory of a variable changed.
  // Pieces of memory must not overlap.
  void hold(const std::vector<HeldMemory>& variables);
  // Runs one step, with a pointer for each input and for each output; an output may be null. Throws Error before the
  // first hold(), and for an index of the inputs that is out of range.
  void run(std::span<const void* const> inputs, std::span<void* const> outputs, std::int64_t update);

  // The compiled program. Throws Error before the first hold().
  const Program& program() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pando
