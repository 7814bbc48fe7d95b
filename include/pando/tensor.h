// Tensor: a symbolic value of a model, in every front end.
#pragma once
#include <pando/trace.h>

#include <functional>

namespace pando {

// Computes values of a graph from others.
using TensorFunction = std::function<std::vector<Value>(Trace& trace, const std::vector<Value>& inputs)>;

// Either recorded, for a model that is made of it later and given data of any batch size, or a value of a graph that is
// being traced. Copies are the same tensor; a default-constructed one is none.
class PANDO_API Tensor {
 public:
  Tensor() = default;
  // A value of a graph that is being traced.
  Tensor(Trace& trace, Value value);

  explicit operator bool() const { return state_ != nullptr; }
  // The batch size, axis 0, is -1 in a recorded tensor. Throws Error for no tensor.
  const Shape& shape() const;
  DType dtype() const;

  friend bool operator==(const Tensor& a, const Tensor& b) { return a.state_ == b.state_; }

  struct State;
  const State& state() const;

 private:
  friend class TensorRecorder;
  std::shared_ptr<const State> state_;
};

// What `function` computes of the inputs; `name` appears in messages and summaries. Throws Error if the inputs come
// from different models or graphs, or the function refuses them.
PANDO_API Tensor apply(const std::string& name, const std::vector<Tensor>& inputs,
                       const std::function<Value(const std::vector<Value>&)>& function);

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
