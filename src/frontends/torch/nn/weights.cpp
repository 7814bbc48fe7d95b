// SPDX-License-Identifier: Apache-2.0
#include "frontends/torch/nn/weights.h"

#include <fmt/format.h>

#include "base/random_stream.h"
#include "pando/base/random.h"

namespace pando::torch::nn {

Array uniform_weight(const Shape& shape, double limit) {
  RandomStream random(next_random_key());
  Array value(DType::float32, shape);
  for (std::int64_t i = 0; i < value.elements(); ++i)
    value.mutable_data<float>()[i] = static_cast<float>(limit * (2.0 * random.uniform() - 1.0));
  return value;
}

Array normal_weight(const Shape& shape) {
  RandomStream random(next_random_key());
  Array value(DType::float32, shape);
  for (std::int64_t i = 0; i < value.elements(); ++i)
    value.mutable_data<float>()[i] = static_cast<float>(random.normal());
  return value;
}

void check_positive(const char* who, const char* what, std::int64_t number) {
  if (number < 1) throw Error(fmt::format("{}: {} is {} but must be positive", who, what, number));
}

void check_positive(const char* who, const char* what, const Size2& size) {
  if (size.height < 1 || size.width < 1)
    throw Error(fmt::format("{}: {} is {} but must be positive", who, what, to_text(size, true)));
}

void check_image(Value x) {
  if (x.shape().rank() != 4)
    throw Error("the input must have the axes [batch, channels, height, width]; reshape it with view()");
}

std::string to_text(const Size2& size, bool brief) {
  return brief && !size.is_pair ? fmt::format("{}", size.height) : fmt::format("({}, {})", size.height, size.width);
}

}  // namespace pando::torch::nn
