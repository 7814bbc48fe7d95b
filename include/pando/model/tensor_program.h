// SPDX-License-Identifier: Apache-2.0
// TensorProgram: a function of tensors that computes arrays, for data sets and for anything outside of a model.
#pragma once
#include <pando/model/tensor.h>

namespace pando {

// Traces the function once for each list of input types, and compiles it for one tile: it runs on the thread that calls
// it. Any number of threads may call it at once, each with a program of its own. Copies share their programs.
//   dataset.map(TensorProgram("scale", [](const std::vector<Tensor>& x) { return std::vector{x[0] / 255.0}; }))
class PANDO_API TensorProgram {
 public:
  using Body = Function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;
  // `name` appears in messages.
  TensorProgram(const std::string& name, Body body);

  // The types of the results of inputs of these types; compiles nothing. Throws what the function throws, and Error if
  // it returns a tensor of something else.
  std::vector<Type> types(const std::vector<Type>& inputs) const;
  // The arrays of the tensors that the function returns. Throws as types() does when it sees these types first.
  Arrays operator()(const Arrays& inputs) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace pando
