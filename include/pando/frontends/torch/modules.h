// SPDX-License-Identifier: Apache-2.0
// The modules of torch.nn, with PyTorch's names, defaults, initial values and layouts: images are [batch, channels,
// height, width].
#pragma once
#include <pando/frontends/torch/module.h>

#include <optional>

namespace pando::torch::nn {

// Height and width: 3, or {3, 5}.
struct Size2 {
  Size2(std::int64_t both) : height(both), width(both), is_pair(false) {}
  Size2(std::int64_t rows, std::int64_t columns) : height(rows), width(columns), is_pair(true) {}
  std::int64_t height, width;
  // Whether {3, 3} or 3 is printed.
  bool is_pair;
};

// Zeros on each side: a number, or "same" or "valid".
struct ConvPadding {
  // A template, because 0 could also be a null pointer.
  template <class Integer>
  requires std::is_integral_v<Integer> ConvPadding(Integer both) : sizes(both) {}
  ConvPadding(std::int64_t height, std::int64_t width) : sizes(height, width) {}
  ConvPadding(const char* same_or_valid) : mode(same_or_valid) {}
  Size2 sizes = 0;
  // If empty, the sizes count.
  std::string mode = {};
};

struct Conv2dOptions {
  Size2 kernel_size = 1;
  Size2 stride = 1;
  ConvPadding padding = 0;
  Size2 dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
};
// Weight: [out_channels, in_channels / groups, height, width].
struct PANDO_API Conv2d : Layer {
  Conv2d(std::int64_t in_channels, std::int64_t out_channels, const Conv2dOptions& options);
};

struct ConvTranspose2dOptions {
  Size2 kernel_size = 1;
  Size2 stride = 1;
  Size2 padding = 0;
  Size2 output_padding = 0;
  std::int64_t groups = 1;
  bool bias = true;
  Size2 dilation = 1;
};
// Weight: [in_channels, out_channels / groups, height, width].
struct PANDO_API ConvTranspose2d : Layer {
  ConvTranspose2d(std::int64_t in_channels, std::int64_t out_channels, const ConvTranspose2dOptions& options);
};

struct LinearOptions {
  bool bias = true;
};
// Weight: [out_features, in_features].
struct PANDO_API Linear : Layer {
  Linear(std::int64_t in_features, std::int64_t out_features, const LinearOptions& options = {});
};

// Looks integers in [0, num_embeddings) up in a table. Weight: [num_embeddings, embedding_dim].
struct PANDO_API Embedding : Layer {
  Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim);
};

struct MaxPool2dOptions {
  Size2 kernel_size = 1;
  // If unset, the size of the kernel.
  std::optional<Size2> stride = {};
  Size2 padding = 0;
  bool ceil_mode = false;
};
// The largest value of each window.
struct PANDO_API MaxPool2d : Layer {
  explicit MaxPool2d(const MaxPool2dOptions& options);
};

struct AvgPool2dOptions {
  Size2 kernel_size = 1;
  std::optional<Size2> stride = {};
  Size2 padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
};
// The mean of each window; with count_include_pad the zeros of the padding count.
struct PANDO_API AvgPool2d : Layer {
  explicit AvgPool2d(const AvgPool2dOptions& options);
};

// Means over windows that are chosen so that the output has this size.
struct PANDO_API AdaptiveAvgPool2d : Layer {
  explicit AdaptiveAvgPool2d(const Size2& output_size);
};

struct BatchNorm2dOptions {
  double eps = 1e-5;
  double momentum = 0.1;
  bool affine = true;
  bool track_running_stats = true;
};
// Has no num_batches_tracked: nothing depends on it.
struct PANDO_API BatchNorm2d : Layer {
  explicit BatchNorm2d(std::int64_t num_features, const BatchNorm2dOptions& options = {});
};

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;
};
// Normalises each sample over its last axes, which have this shape.
struct PANDO_API LayerNorm : Layer {
  explicit LayerNorm(const Shape& normalized_shape, const LayerNormOptions& options = {});
};

// max(x, 0).
struct PANDO_API ReLU : Layer {
  ReLU();
};
// x, or negative_slope * x where x is negative.
struct PANDO_API LeakyReLU : Layer {
  explicit LeakyReLU(double negative_slope = 0.01);
};
// x times the normal distribution function of x.
struct PANDO_API GELU : Layer {
  // "none" or "tanh".
  explicit GELU(const std::string& approximate = "none");
};
// x * sigmoid(x).
struct PANDO_API SiLU : Layer {
  SiLU();
};
// 1 / (1 + exp(-x)).
struct PANDO_API Sigmoid : Layer {
  Sigmoid();
};
// The hyperbolic tangent.
struct PANDO_API Tanh : Layer {
  Tanh();
};
// Probabilities along the axis `dim`.
struct PANDO_API Softmax : Layer {
  explicit Softmax(std::int64_t dim);
};
// The logarithm of the probabilities along the axis `dim`.
struct PANDO_API LogSoftmax : Layer {
  explicit LogSoftmax(std::int64_t dim);
};

// In training, sets values to 0 with probability p and scales the others up.
struct PANDO_API Dropout : Layer {
  explicit Dropout(double p = 0.5);
};
// Joins the axes from start_dim to end_dim.
struct PANDO_API Flatten : Layer {
  explicit Flatten(std::int64_t start_dim = 1, std::int64_t end_dim = -1);
};
// Returns its input.
struct PANDO_API Identity : Layer {
  Identity();
};

}  // namespace pando::torch::nn
