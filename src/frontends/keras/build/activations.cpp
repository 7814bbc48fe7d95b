// SPDX-License-Identifier: Apache-2.0
#include <pando/frontends/keras/activations.h>
#include <pando/frontends/keras/regularizers.h>

#include "frontends/keras/build/names.h"

namespace pando::keras {

namespace {

const std::map<std::string, Function<Value(Value)>>& activations() {
  static const std::map<std::string, Function<Value(Value)>> table = {
      {"linear", [](Value x) { return x; }},
      {"relu", ops::relu},
      {"sigmoid", ops::sigmoid},
      {"tanh", ops::tanh},
      {"softmax", ops::softmax},
      {"log_softmax", ops::log_softmax},
      {"softplus", ops::softplus},
      {"softsign", [](Value x) { return x / (ops::abs(x) + 1.0); }},
      {"elu", [](Value x) { return ops::elu(x); }},
      {"selu", [](Value x) { return ops::elu(x, 1.67326324235437728) * 1.05070098735548049; }},
      {"leaky_relu", [](Value x) { return ops::leaky_relu(x, 0.2); }},
      {"gelu", ops::gelu},
      {"swish", ops::silu},
      {"silu", ops::silu},
      {"exponential", ops::exp},
      {"hard_sigmoid", [](Value x) { return ops::clip(x * 0.2 + 0.5, 0.0, 1.0); }}};
  return table;
}

}  // namespace

Activation::Activation(const std::string& name)
    : name_(name), function_(find_by_name("activation", activations(), name)), is_named_(true) {}

namespace regularizers {

Regularizer::Regularizer(const std::string& name) {
  static const std::map<std::string, Regularizer> table = {{"l1", L1()}, {"l2", L2()}, {"l1_l2", L1L2()}};
  *this = find_by_name("regularizer", table, name);
}

}  // namespace regularizers

}  // namespace pando::keras
