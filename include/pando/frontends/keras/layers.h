// SPDX-License-Identifier: Apache-2.0
// The layers, with Keras's names, defaults and initial values. Images are [batch, height, width, channels].
#pragma once
#include <pando/frontends/keras/activations.h>
#include <pando/frontends/keras/layer.h>

#include <optional>

namespace pando::keras {

// Rows and columns: {3, 5}, or 3 for both.
struct Pair {
  std::int64_t height = 1, width = 1;
  Pair(std::int64_t both) : height(both), width(both) {}
  Pair(std::int64_t rows, std::int64_t columns) : height(rows), width(columns) {}
};

struct InputOptions {
  DType dtype = DType::float32;
  std::string name = {};
};
// A symbolic input of samples of this shape, without the batch.
PANDO_API Tensor Input(const Shape& shape, const InputOptions& options = {});

namespace layers {

// `input_shape` (without the batch) lets a Sequential model be built before it sees data.
using InputShape = std::optional<Shape>;

// The input of a Sequential model: samples of this shape, without the batch.
struct PANDO_API InputLayer : Layer {
  explicit InputLayer(const Shape& shape, const InputOptions& options = {});
};

struct DenseOptions {
  Activation activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  InputShape input_shape = {};
  std::string name = {};
};
// Fully connected: activation(x . kernel + bias) along the last axis. Weights: kernel [in, units], bias [units].
struct PANDO_API Dense : Layer {
  explicit Dense(std::int64_t units, const DenseOptions& options = {});
};

struct Conv2DOptions {
  Activation activation = {};
  // "valid" or "same"
  std::string padding = "valid";
  Pair strides = 1;
  // The distance between two elements of the kernel.
  Pair dilation_rate = 1;
  // Each group of filters sees its own part of the channels.
  std::int64_t groups = 1;
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  InputShape input_shape = {};
  std::string name = {};
};
// Convolution of images with `filters` filters. Weights: kernel [height, width, in / groups, filters], bias [filters].
struct PANDO_API Conv2D : Layer {
  Conv2D(std::int64_t filters, Pair kernel_size, const Conv2DOptions& options = {});
};
// The transpose of a convolution: enlarges images by its strides. Weights: kernel [height, width, filters, in], bias.
struct PANDO_API Conv2DTranspose : Layer {
  Conv2DTranspose(std::int64_t filters, Pair kernel_size, const Conv2DOptions& options = {});
};

// The pointwise options are used by SeparableConv2D only.
struct DepthwiseConv2DOptions {
  Activation activation = {};
  std::string padding = "valid";
  Pair strides = 1;
  Pair dilation_rate = 1;
  std::int64_t depth_multiplier = 1;
  bool use_bias = true;
  Initializer depthwise_initializer = "glorot_uniform";
  Initializer pointwise_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer depthwise_regularizer = {};
  Regularizer pointwise_regularizer = {};
  Regularizer bias_regularizer = {};
  InputShape input_shape = {};
  std::string name = {};
};
// Convolves each channel by itself, with depth_multiplier filters for each.
struct PANDO_API DepthwiseConv2D : Layer {
  explicit DepthwiseConv2D(Pair kernel_size, const DepthwiseConv2DOptions& options = {});
};
// A depthwise convolution, then a 1 x 1 convolution that mixes the channels.
struct PANDO_API SeparableConv2D : Layer {
  SeparableConv2D(std::int64_t filters, Pair kernel_size, const DepthwiseConv2DOptions& options = {});
};

struct Pooling2DOptions {
  // If unset, the size of the window.
  std::optional<Pair> strides = {};
  std::string padding = "valid";
  std::string name = {};
};
// The largest value of each window.
struct PANDO_API MaxPooling2D : Layer {
  explicit MaxPooling2D(Pair pool_size = 2, const Pooling2DOptions& options = {});
};
// The mean of each window; places beyond the border do not count.
struct PANDO_API AveragePooling2D : Layer {
  explicit AveragePooling2D(Pair pool_size = 2, const Pooling2DOptions& options = {});
};
struct GlobalPooling2DOptions {
  bool keepdims = false;
  std::string name = {};
};
// The mean of each channel over the whole image, [batch, channels].
struct PANDO_API GlobalAveragePooling2D : Layer {
  explicit GlobalAveragePooling2D(const GlobalPooling2DOptions& options = {});
};
// The largest value of each channel in the whole image, [batch, channels].
struct PANDO_API GlobalMaxPooling2D : Layer {
  explicit GlobalMaxPooling2D(const GlobalPooling2DOptions& options = {});
};

struct ShapeLayerOptions {
  InputShape input_shape = {};
  std::string name = {};
};
// Joins all axes but the batch into one.
struct PANDO_API Flatten : Layer {
  explicit Flatten(const ShapeLayerOptions& options = {});
};
// One size may be -1.
struct PANDO_API Reshape : Layer {
  explicit Reshape(const Shape& target_shape, const ShapeLayerOptions& options = {});
};
// Axes count from 1: the batch stays where it is.
struct PANDO_API Permute : Layer {
  explicit Permute(const std::vector<std::int64_t>& dims, const ShapeLayerOptions& options = {});
};

struct NamedOptions {
  std::string name = {};
};
// In training, sets this part of the values to 0 and scales the others up, so that the mean stays.
struct PANDO_API Dropout : Layer {
  explicit Dropout(double rate, const NamedOptions& options = {});
};
// An activation as a layer of its own, by name or as a function.
struct PANDO_API Activation : Layer {
  explicit Activation(const keras::Activation& activation, const NamedOptions& options = {});
};
struct ReLUOptions {
  std::optional<double> max_value = {};
  double negative_slope = 0.0;
  std::string name = {};
};
// max(x, 0), with a slope for negative values and an upper limit if they are given.
struct PANDO_API ReLU : Layer {
  explicit ReLU(const ReLUOptions& options = {});
};
struct LeakyReLUOptions {
  double alpha = 0.3;
  std::string name = {};
};
// x, or alpha * x where x is negative.
struct PANDO_API LeakyReLU : Layer {
  explicit LeakyReLU(const LeakyReLUOptions& options = {});
};
// Probabilities along the last axis: exp(x) divided by its sum.
struct PANDO_API Softmax : Layer {
  explicit Softmax(const NamedOptions& options = {});
};

struct BatchNormalizationOptions {
  // The axis of the channels, counted with the batch. It must be the last one.
  std::int64_t axis = -1;
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Initializer moving_mean_initializer = "zeros";
  Initializer moving_variance_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  std::string name = {};
};
// Normalises each channel: by the statistics of the batch in training, by moving averages otherwise. A layer that is
// not trainable always uses the moving averages.
struct PANDO_API BatchNormalization : Layer {
  explicit BatchNormalization(const BatchNormalizationOptions& options = {});
};
struct LayerNormalizationOptions {
  // The axis that is normalised, counted with the batch. It must be the last one.
  std::int64_t axis = -1;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  std::string name = {};
};
// Normalises each sample along the last axis.
struct PANDO_API LayerNormalization : Layer {
  explicit LayerNormalization(const LayerNormalizationOptions& options = {});
};

struct EmbeddingOptions {
  Initializer embeddings_initializer = "random_uniform";
  Regularizer embeddings_regularizer = {};
  InputShape input_shape = {};
  std::string name = {};
};
// Looks integers in [0, input_dim) up in a table [input_dim, output_dim].
struct PANDO_API Embedding : Layer {
  Embedding(std::int64_t input_dim, std::int64_t output_dim, const EmbeddingOptions& options = {});
};

// The sum, element by element. Like Multiply and Concatenate it takes two or more tensors: Add()({a, b}).
struct PANDO_API Add : Layer {
  explicit Add(const NamedOptions& options = {});
};
// The product, element by element.
struct PANDO_API Multiply : Layer {
  explicit Multiply(const NamedOptions& options = {});
};
struct ConcatenateOptions {
  std::int64_t axis = -1;
  std::string name = {};
};
// Joins tensors along an axis.
struct PANDO_API Concatenate : Layer {
  explicit Concatenate(const ConcatenateOptions& options = {});
};

// Rows above, below, columns left, right; or the same for both sides: ZeroPadding2D({1, 2}).
struct Padding2D {
  std::int64_t top = 1, bottom = 1, left = 1, right = 1;
  Padding2D(std::int64_t all) : top(all), bottom(all), left(all), right(all) {}
  Padding2D(std::int64_t rows, std::int64_t columns) : top(rows), bottom(rows), left(columns), right(columns) {}
  Padding2D(Pair rows, Pair columns)
      : top(rows.height), bottom(rows.width), left(columns.height), right(columns.width) {}
};
// Puts rows and columns of zeros around images.
struct PANDO_API ZeroPadding2D : Layer {
  explicit ZeroPadding2D(Padding2D padding = 1, const NamedOptions& options = {});
};
struct UpSampling2DOptions {
  // "nearest" or "bilinear"
  std::string interpolation = "nearest";
  std::string name = {};
};
// Repeats, or interpolates between, rows and columns.
struct PANDO_API UpSampling2D : Layer {
  explicit UpSampling2D(Pair size = 2, const UpSampling2DOptions& options = {});
};

struct RescalingOptions {
  double offset = 0.0;
  InputShape input_shape = {};
  std::string name = {};
};
// x * scale + offset: 1.0 / 255 maps bytes to [0, 1].
struct PANDO_API Rescaling : Layer {
  explicit Rescaling(double scale, const RescalingOptions& options = {});
};

// Mirrors images at random: "horizontal", "vertical" or "horizontal_and_vertical". Like the next two layers it acts in
// training only, and every sample draws its own change.
struct PANDO_API RandomFlip : Layer {
  explicit RandomFlip(const std::string& mode = "horizontal_and_vertical", const NamedOptions& options = {});
};
struct RandomTransformOptions {
  // What fills the places beyond the border: "reflect", "nearest" or "constant" (fill_value).
  std::string fill_mode = "reflect";
  double fill_value = 0.0;
  std::string name = {};
};
// Moves images up or down and left or right, by up to this part of the height and of the width.
struct PANDO_API RandomTranslation : Layer {
  RandomTranslation(double height_factor, double width_factor, const RandomTransformOptions& options = {});
};
// Turns images either way, by up to this part of a full turn.
struct PANDO_API RandomRotation : Layer {
  explicit RandomRotation(double factor, const RandomTransformOptions& options = {});
};

}  // namespace layers
}  // namespace pando::keras
