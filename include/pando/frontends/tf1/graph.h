// SPDX-License-Identifier: Apache-2.0
// What a TF1-style program is made of: tensors, variables, operations, and functions that are traced.
#pragma once
#include <pando/model/tensor.h>

#include <optional>
#include <variant>

namespace pando::tf1 {

struct OperationState;

// Something to be run for what it does: an update of weights, an initializer.
class PANDO_API Operation {
 public:
  // Does nothing.
  Operation() = default;
  explicit Operation(std::shared_ptr<const OperationState> state) : state_(std::move(state)) {}
  const OperationState* state() const { return state_.get(); }

 private:
  std::shared_ptr<const OperationState> state_;
};

// What a traced function returns: tensors and operations.
class PANDO_API Outputs {
 public:
  struct Output {
    Output(const Tensor& tensor) : value(tensor) {}
    Output(const Operation& operation) : value(operation) {}
    std::variant<Tensor, Operation> value;
  };
  Outputs() = default;
  Outputs(std::initializer_list<Output> list);
  explicit Outputs(const std::vector<Output>& list);
  explicit Outputs(const std::vector<Tensor>& tensors) : tensors_(tensors) {}

  const std::vector<Tensor>& tensors() const { return tensors_; }
  // The tensors and the operations are counted separately. Both throw Error if the index is too large.
  Tensor tensor(std::size_t index) const;
  Operation operation(std::size_t index) const;

 private:
  std::vector<Tensor> tensors_;
  std::vector<Operation> operations_;
};

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R (*)(A...)> {
  static constexpr std::size_t arguments = sizeof...(A);
};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};

// A function from tensors to Outputs, a Tensor, or a vector of Tensors, which is called while it is traced.
class PANDO_API TracedFunction {
 public:
  template <class F>
  requires(!std::is_base_of_v<TracedFunction, std::decay_t<F>>) TracedFunction(F function)
      : arguments_(Signature<F>::arguments), call_([function](const std::vector<Tensor>& inputs) mutable {
          return [&]<std::size_t... I>(std::index_sequence<I...>) { return as_outputs(function(inputs[I]...)); }
          (std::make_index_sequence<Signature<F>::arguments>());
        }) {}

  // For a number of arguments that is known when the program runs.
  TracedFunction(std::size_t arguments, Function<Outputs(const std::vector<Tensor>&)> function)
      : arguments_(arguments), call_(std::move(function)) {}

  std::size_t arguments() const { return arguments_; }
  // Throws Error, beginning with `who`, unless there are as many inputs as it has arguments.
  Outputs operator()(const std::string& who, const std::vector<Tensor>& inputs) const;

 private:
  static Outputs as_outputs(const Outputs& outputs) { return outputs; }
  static Outputs as_outputs(const Tensor& tensor) { return {tensor}; }
  static Outputs as_outputs(const Operation& operation) { return {operation}; }
  static Outputs as_outputs(const std::vector<Tensor>& tensors) { return Outputs(tensors); }

  std::size_t arguments_;
  Function<Outputs(const std::vector<Tensor>&)> call_;
};

// A value that must be fed to every run.
PANDO_API Tensor placeholder(DType dtype, const Shape& shape, const std::string& name = "Placeholder");
// A value that never changes.
PANDO_API Tensor constant(const Array& value);
inline Tensor constant(float value) { return constant(Array::scalar(value)); }
inline Tensor constant(std::int32_t value) { return constant(Array::scalar(value)); }

struct VariableOptions {
  // If empty, a name is made from "Variable".
  std::string name = {};
  bool trainable = true;
};

// A value that is kept between runs. It must be initialised before use. Copies are the same variable.
class PANDO_API Variable {
 public:
  explicit Variable(const Array& initial_value, const VariableOptions& options = {});

  const std::string& name() const { return parameter_.name(); }
  const Shape& shape() const { return parameter_.shape(); }
  // Whether the default graph still has it.
  bool exists() const;
  const Parameter& parameter() const { return parameter_; }
  // Its value within a computation that is being traced, or for a session to fetch.
  operator Tensor() const;
  // The variable takes the value at the end of the step.
  Operation assign(const Tensor& value) const;

 private:
  friend PANDO_API Variable get_variable(const std::string& name, const Array& initial_value, bool trainable);
  explicit Variable(Parameter parameter) : parameter_(std::move(parameter)) {}
  Parameter parameter_;
};
// The variable of that name, made with the value if there is none. Throws Error if it has another shape or type.
PANDO_API Variable get_variable(const std::string& name, const Array& initial_value, bool trainable = true);

// Gives every variable that exists now its initial value, including those of layers and optimizers.
PANDO_API Operation global_variables_initializer();
// Forgets all variables; computations that were compiled before can no longer be initialised.
PANDO_API void reset_default_graph();

}  // namespace pando::tf1
