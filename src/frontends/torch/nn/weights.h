// SPDX-License-Identifier: Apache-2.0
// Initial values and layouts of weights, as PyTorch has them.
#pragma once
#include "frontends/torch/nn/module.h"

namespace pando::torch::nn {

// Uniform between -limit and limit.
Array uniform_weight(const Shape& shape, double limit);
Array normal_weight(const Shape& shape);

// The axes of images: as PyTorch has them, and as the ops take them.
inline Value channels_last(Value x) { return ops::transpose(x, {0, 2, 3, 1}); }
inline Value channels_first(Value x) { return ops::transpose(x, {0, 3, 1, 2}); }

// Throw Error naming the module and its option.
void check_positive(const char* who, const char* what, std::int64_t number);
void check_positive(const char* who, const char* what, const Size2& size);

// Throws Error unless it has the axes of images.
void check_image(Value x);

// "(3, 3)", or "3" if it was given as one number and `brief`.
std::string to_text(const Size2& size, bool brief = false);

// As Python prints it.
inline const char* python_flag(bool flag) { return flag ? "True" : "False"; }

// Weights are floating-point, so fed integers are cast.
inline Value as_float(Value x) { return is_floating(x.dtype()) ? x : ops::cast(x, DType::float32); }

}  // namespace pando::torch::nn
