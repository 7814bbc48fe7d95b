// SPDX-License-Identifier: Apache-2.0
// Tensor: a symbolic value of a model, in every front end.
#pragma once
#include <pando/base/function.h>
#include <pando/model/trace.h>

namespace pando {

// Computes values of a graph from others.
using TensorFunction = Function<std::vector<Value>(Trace& trace, const std::vector<Value>& inputs)>;

// A tensor is either recorded, for a model that is made later and takes any batch size, or a value of a graph that is
// being traced. Copies are the same tensor; a default-constructed one is empty.
class PANDO_API Tensor {
 public:
  Tensor() = default;
  // A value of a graph that is being traced.
  Tensor(Trace& trace, Value value);

  explicit operator bool() const { return state_ != nullptr; }
  // The batch size, axis 0, is -1 in a recorded tensor. Throws Error if the tensor is empty.
  const Shape& shape() const;
  DType dtype() const;
  // Whether it is a value of a graph that is being traced.
  bool is_traced() const;
  // The value of the graph. Throws Error for a recorded tensor, and after the graph was traced.
  Value value() const;

  // The same elements in another shape; one size may be -1. In a recorded tensor that is the first size, or the first
  // size is the batch.
  Tensor view(const Shape& shape) const;
  Tensor reshape(const Shape& shape) const { return view(shape); }
  Tensor permute(const std::vector<std::int64_t>& permutation) const;
  // Swaps two axes.
  Tensor transpose(std::int64_t a, std::int64_t b) const;
  // Joins the axes from `first` to `last` into one.
  Tensor flatten(std::int64_t first = 0, std::int64_t last = -1) const;

  friend bool operator==(const Tensor& a, const Tensor& b) { return a.state_ == b.state_; }

  struct State;
  const State& state() const;

 private:
  friend class TensorRecorder;
  std::shared_ptr<const State> state_;
};

// What `function` computes from the inputs; `name` appears in messages and summaries. Throws Error if the inputs come
// from different models or graphs, or the function refuses them.
PANDO_API Tensor apply(const std::string& name, const std::vector<Tensor>& inputs,
                       const Function<Value(const std::vector<Value>&)>& function);

// The same for a function that sees the trace, for random numbers, the mask of samples or whether the model trains, and
// that returns any number of values. Every call of it must return as many.
PANDO_API std::vector<Tensor> apply(const std::string& name, const std::vector<Tensor>& inputs,
                                    const TensorFunction& function);

PANDO_API Tensor operator+(const Tensor& a, const Tensor& b);
PANDO_API Tensor operator-(const Tensor& a, const Tensor& b);
PANDO_API Tensor operator*(const Tensor& a, const Tensor& b);
PANDO_API Tensor operator/(const Tensor& a, const Tensor& b);
PANDO_API Tensor operator-(const Tensor& a);
PANDO_API Tensor operator+(const Tensor& a, double b);
PANDO_API Tensor operator-(const Tensor& a, double b);
PANDO_API Tensor operator*(const Tensor& a, double b);
PANDO_API Tensor operator/(const Tensor& a, double b);
PANDO_API Tensor operator-(double a, const Tensor& b);

}  // namespace pando
