// SPDX-License-Identifier: Apache-2.0
// Activations, by Keras's names.
#pragma once
#include <pando/base/function.h>
#include <pando/ops/ops.h>

namespace pando::keras {

// A function of each layer's output, by its name or of your own.
class PANDO_API Activation {
 public:
  // "linear", which changes nothing.
  Activation() : Activation("linear") {}
  // "relu", "softmax", ... Throws Error with the nearest name.
  Activation(const char* name) : Activation(std::string(name)) {}
  Activation(const std::string& name);
  // A function of the user's.
  Activation(std::string name, Function<Value(Value)> function)
      : name_(std::move(name)), function_(std::move(function)) {}

  const std::string& name() const { return name_; }
  // False for a function of the user's.
  bool is_named() const { return is_named_; }
  Value operator()(Value x) const { return function_(x); }

 private:
  std::string name_;
  Function<Value(Value)> function_;
  bool is_named_ = false;
};

}  // namespace pando::keras
