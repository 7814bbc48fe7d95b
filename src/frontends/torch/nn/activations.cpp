// SPDX-License-Identifier: Apache-2.0
// Activations, dropout and shapes: layers without weights.
#include <fmt/format.h>

#include "base/text.h"
#include "frontends/torch/nn/weights.h"

namespace pando::torch::nn {

namespace {

std::shared_ptr<const Layer::Body> function(const std::string& kind, const std::string& extra,
                                            const Function<Value(Value)>& apply) {
  return std::make_shared<const Layer::Body>(
      Layer::Body{.kind = kind, .extra = extra, .forward = [apply](const LayerCall&, Value x) { return apply(x); }});
}

// The softmax ops work on the last axis.
Value along(Value x, std::int64_t dim, Value (*op)(Value)) {
  const std::int64_t rank = x.shape().rank(), axis = dim < 0 ? dim + rank : dim;
  if (axis < 0 || axis >= rank) throw Error(fmt::format("dim is {} but the input has {} axes", dim, rank));
  if (axis == rank - 1) return op(x);
  Integers exchange;
  for (std::int64_t i = 0; i < rank; ++i) exchange.push_back(i);
  std::swap(exchange[static_cast<std::size_t>(axis)], exchange.back());
  return ops::transpose(op(ops::transpose(x, exchange)), exchange);
}

Value flattened(Value x, std::int64_t start, std::int64_t end) {
  const std::int64_t rank = x.shape().rank();
  const auto first = static_cast<int>(start < 0 ? start + rank : start),
             last = static_cast<int>(end < 0 ? end + rank : end);
  if (first < 0 || last >= rank || first > last)
    throw Error(fmt::format("start_dim {} and end_dim {} are not axes of the input in this order", start, end));
  Shape shape = x.shape().part(0, first);
  shape.append(x.shape().part(first, last + 1).elements());
  for (int axis = last + 1; axis < rank; ++axis) shape.append(x.shape()[axis]);
  return ops::reshape(x, shape);
}

}  // namespace

ReLU::ReLU() : Layer(function("ReLU", "", ops::relu)) {}
LeakyReLU::LeakyReLU(double slope)
    : Layer(function("LeakyReLU", "negative_slope=" + float_text(slope),
                     [slope](Value x) { return ops::leaky_relu(x, slope); })) {}

GELU::GELU(const std::string& approximate)
    : Layer(function("GELU", fmt::format("approximate='{}'", approximate),
                     approximate == "tanh" ? ops::gelu_tanh : ops::gelu)) {
  if (approximate != "tanh" && approximate != "none")
    throw Error(fmt::format("GELU: approximate is '{}' but must be 'none' or 'tanh'", approximate));
}

SiLU::SiLU() : Layer(function("SiLU", "", ops::silu)) {}
Sigmoid::Sigmoid() : Layer(function("Sigmoid", "", ops::sigmoid)) {}
Tanh::Tanh() : Layer(function("Tanh", "", ops::tanh)) {}
Softmax::Softmax(std::int64_t dim)
    : Layer(function("Softmax", fmt::format("dim={}", dim), [dim](Value x) { return along(x, dim, ops::softmax); })) {}
LogSoftmax::LogSoftmax(std::int64_t dim)
    : Layer(function("LogSoftmax", fmt::format("dim={}", dim),
                     [dim](Value x) { return along(x, dim, ops::log_softmax); })) {}

Dropout::Dropout(double p)
    : Layer(std::make_shared<const Body>(Body{.kind = "Dropout",
                                              .extra = fmt::format("p={}, inplace=False", float_text(p)),
                                              .forward = [p](const LayerCall& call, Value x) {
                                                if (!call.training() || p == 0) return x;
                                                if (p == 1) return x * 0.0;
                                                return ops::dropout(x, call.trace().counter(), p, call.random());
                                              }})) {
  if (!(p >= 0 && p <= 1))
    throw Error(fmt::format("Dropout: the probability has to be between 0 and 1, but it is {}", p));
}

Flatten::Flatten(std::int64_t start_dim, std::int64_t end_dim)
    : Layer(function("Flatten", fmt::format("start_dim={}, end_dim={}", start_dim, end_dim),
                     [=](Value x) { return flattened(x, start_dim, end_dim); })) {}
Identity::Identity() : Layer(function("Identity", "", [](Value x) { return x; })) {}

}  // namespace pando::torch::nn
