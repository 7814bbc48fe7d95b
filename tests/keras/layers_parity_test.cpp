// SPDX-License-Identifier: Apache-2.0
// Every layer against what Keras computes.
#include <fstream>
#include <set>

#include "tests/keras/reference.h"

using namespace pando;
using namespace pando::keras;
using namespace pando::keras::layers;

namespace {

struct LayerCase {
  const char* name;
  Shape sample;
  std::function<Layer()> make;
  // How many Dense layers are before it; none: it takes whole numbers.
  int fronts = 1;
};

const Shape image = {7, 6, 2}, wide = {7, 6, 4};

LayerCase activation(const char* name) {
  static std::set<std::string> names;
  const std::string& kept = *names.insert(std::string("activation_") + name).first;
  return {kept.c_str(), {3, 6}, [name] { return layers::Activation(name); }};
}

const std::vector<LayerCase> layer_cases = {
    {"dense", {5}, [] { return Dense(4); }},
    {"dense_no_bias", {5}, [] { return Dense(4, {.use_bias = false}); }},
    {"dense_rank3", {3, 5}, [] { return Dense(4); }},
    {"dense_relu", {5}, [] { return Dense(4, {.activation = "relu"}); }},
    {"conv2d", image,
     [] {
       return Conv2D(3, {3, 2});
     }},
    {"conv2d_no_bias_relu", image, [] { return Conv2D(3, 3, {.activation = "relu", .use_bias = false}); }},
    {"conv2d_same", image, [] { return Conv2D(3, 3, {.padding = "same"}); }},
    {"conv2d_same_even", image,
     [] {
       return Conv2D(3, {2, 4}, {.padding = "same"});
     }},
    {"conv2d_strides", image,
     [] {
       return Conv2D(3, 3, {.strides = {2, 1}});
     }},
    {"conv2d_same_strides", image, [] { return Conv2D(3, 3, {.padding = "same", .strides = 2}); }},
    {"conv2d_same_even_strides", image,
     [] {
       return Conv2D(3, {4, 2}, {.padding = "same", .strides = {2, 3}});
     }},
    {"conv2d_dilation", image,
     [] {
       return Conv2D(3, {3, 2}, {.dilation_rate = {2, 3}});
     }},
    {"conv2d_same_dilation", image,
     [] {
       return Conv2D(3, {3, 2}, {.padding = "same", .dilation_rate = {2, 3}});
     }},
    {"conv2d_groups", wide, [] { return Conv2D(6, 3, {.padding = "same", .groups = 2}); }},
    {"conv2d_transpose", image,
     [] {
       return Conv2DTranspose(3, {3, 2});
     }},
    {"conv2d_transpose_strides", image,
     [] {
       return Conv2DTranspose(3, {3, 2}, {.strides = 2});
     }},
    {"conv2d_transpose_gaps", image,
     [] {
       return Conv2DTranspose(3, {2, 1}, {.strides = {3, 2}});
     }},
    {"conv2d_transpose_dilation", image,
     [] {
       return Conv2DTranspose(3, {3, 2}, {.dilation_rate = 2});
     }},
    {"conv2d_transpose_same", image,
     [] {
       return Conv2DTranspose(3, {3, 4}, {.padding = "same"});
     }},
    {"conv2d_transpose_same_strides", image,
     [] {
       return Conv2DTranspose(3, {3, 4}, {.padding = "same", .strides = 2});
     }},
    {"conv2d_transpose_same_gaps", image,
     [] {
       return Conv2DTranspose(3, {2, 1}, {.padding = "same", .strides = {3, 2}});
     }},
    {"depthwise_conv2d", image,
     [] {
       return DepthwiseConv2D({3, 2});
     }},
    {"depthwise_conv2d_multiplier", image,
     [] {
       return DepthwiseConv2D({3, 2}, {.padding = "same", .strides = 2, .depth_multiplier = 2});
     }},
    {"depthwise_conv2d_dilation", image,
     [] {
       return DepthwiseConv2D({3, 2}, {.dilation_rate = 2, .depth_multiplier = 2});
     }},
    {"separable_conv2d", image, [] { return SeparableConv2D(3, 3); }},
    {"separable_conv2d_multiplier", image,
     [] {
       return SeparableConv2D(3, {2, 3}, {.padding = "same", .strides = 2, .depth_multiplier = 2});
     }},
    {"max_pooling2d", image, [] { return MaxPooling2D(); }},
    {"max_pooling2d_same", image,
     [] {
       return MaxPooling2D({2, 3}, {.padding = "same"});
     }},
    {"max_pooling2d_overlapping", image, [] { return MaxPooling2D(3, {.strides = Pair(2, 1)}); }},
    {"max_pooling2d_same_overlapping", image,
     [] {
       return MaxPooling2D({3, 2}, {.strides = 1, .padding = "same"});
     }},
    {"average_pooling2d", image, [] { return AveragePooling2D(); }},
    {"average_pooling2d_same", image,
     [] {
       return AveragePooling2D({2, 3}, {.padding = "same"});
     }},
    {"average_pooling2d_overlapping", image, [] { return AveragePooling2D(3, {.strides = Pair(2, 1)}); }},
    {"average_pooling2d_same_overlapping", image,
     [] {
       return AveragePooling2D({3, 2}, {.strides = 1, .padding = "same"});
     }},
    {"global_average_pooling2d", image, [] { return GlobalAveragePooling2D(); }},
    {"global_average_pooling2d_keepdims", image, [] { return GlobalAveragePooling2D({.keepdims = true}); }},
    {"global_max_pooling2d", image, [] { return GlobalMaxPooling2D(); }},
    {"global_max_pooling2d_keepdims", image, [] { return GlobalMaxPooling2D({.keepdims = true}); }},
    {"flatten", image, [] { return Flatten(); }},
    {"reshape", image,
     [] {
       return Reshape({12, -1});
     }},
    {"permute", image,
     [] {
       return Permute({3, 1, 2});
     }},
    {"re_lu", {3, 6}, [] { return ReLU(); }},
    {"re_lu_max_value", {3, 6}, [] { return ReLU({.max_value = 0.4}); }},
    {"re_lu_negative_slope", {3, 6}, [] { return ReLU({.max_value = 0.4, .negative_slope = 0.1}); }},
    {"leaky_re_lu", {3, 6}, [] { return LeakyReLU(); }},
    {"softmax", {3, 6}, [] { return Softmax(); }},
    {"batch_normalization", {5}, [] { return BatchNormalization(); }},
    {"batch_normalization_images", image, [] { return BatchNormalization({.momentum = 0.7, .epsilon = 0.1}); }},
    {"batch_normalization_no_scale", {5}, [] { return BatchNormalization({.momentum = 0.9, .scale = false}); }},
    {"batch_normalization_no_center", {5}, [] { return BatchNormalization({.momentum = 0.9, .center = false}); }},
    {"layer_normalization", {5}, [] { return LayerNormalization(); }},
    {"layer_normalization_images", {3, 3, 6}, [] { return LayerNormalization({.epsilon = 0.1}); }},
    {"layer_normalization_plain", {3, 6}, [] { return LayerNormalization({.center = false, .scale = false}); }},
    {"embedding", {4}, [] { return Embedding(6, 3); }, 0},
    {"add", {3, 4}, [] { return Add(); }, 3},
    {"multiply", {3, 4}, [] { return Multiply(); }, 3},
    {"concatenate", {3, 4}, [] { return Concatenate(); }, 3},
    {"concatenate_axis", {3, 4}, [] { return Concatenate({.axis = 1}); }, 3},
    {"zero_padding2d", image, [] { return ZeroPadding2D(); }},
    {"zero_padding2d_sides", image,
     [] {
       return ZeroPadding2D({Pair(1, 0), Pair(0, 2)});
     }},
    {"up_sampling2d",
     {3, 4, 2},
     [] {
       return UpSampling2D({2, 3});
     }},
    {"up_sampling2d_bilinear",
     {3, 4, 2},
     [] {
       return UpSampling2D({2, 3}, {.interpolation = "bilinear"});
     }},
    {"rescaling", {3, 4}, [] { return Rescaling(0.5, {.offset = -0.25}); }},
    activation("linear"),
    activation("relu"),
    activation("sigmoid"),
    activation("tanh"),
    activation("softmax"),
    activation("log_softmax"),
    activation("softplus"),
    activation("softsign"),
    activation("elu"),
    activation("selu"),
    activation("leaky_relu"),
    activation("gelu"),
    activation("swish"),
    activation("silu"),
    activation("exponential"),
    activation("hard_sigmoid"),
};

// Whole numbers in [0, 6) where the layer takes them.
Array layer_input(const LayerCase& example) {
  const Shape shape = with_batch(example.sample);
  if (example.fronts > 0) return hashed(0, shape);
  const Array parts = hashed(0, shape, 3.0, 3.0);
  Array words(DType::int32, shape);
  for (std::int64_t i = 0; i < words.elements(); ++i)
    words.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(parts.data<float>()[i]);
  return words;
}

class LayerParity : public testing::TestWithParam<LayerCase> {};

TEST_P(LayerParity, OutputsAndWeightsAfterTenStepsAreThoseOfKeras) {
  const LayerCase& example = GetParam();
  const std::string name = example.name;
  const Layer layer = example.make();
  const Tensor input = Input(example.sample, {.dtype = example.fronts > 0 ? DType::float32 : DType::int32});
  std::vector<Layer> layers;
  std::vector<Tensor> tensors;
  for (int i = 0; i < example.fronts; ++i) {
    layers.push_back(Dense(example.sample[example.sample.rank() - 1]));
    tensors.push_back(layers.back()(input));
  }
  if (tensors.empty()) tensors.push_back(input);
  Model model(input, layer(tensors));
  layers.push_back(layer);
  set_first_weights(layers);

  const Array x = layer_input(example);
  const Array y = model.predict(x);
  expect_near(y, name + ".forward");
  if (layer.kind() == "BatchNormalization") {
    expect_near(Model(input, layer(tensors, {.training = true})).predict(x), name + ".training");
    set_first_weights(layers);
  }
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  take_steps(model, x, hashed(1, y.shape()));
  expect_weights(layers, name);
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerParity, testing::ValuesIn(layer_cases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LayerParity, EveryLayerIsTested) {
  // What is drawn at random has no reference values; augmentation_test.cpp tests it.
  std::set<std::string> tested = {"InputLayer", "Dropout", "RandomFlip", "RandomTranslation", "RandomRotation"};
  for (const LayerCase& example : layer_cases) tested.insert(example.make().kind());
  std::ifstream header(PANDO_LAYERS_HEADER);
  const std::string begin = "struct PANDO_API ";
  std::set<std::string> declared;
  for (std::string line; std::getline(header, line);)
    if (const std::size_t end = line.find(" : Layer "); line.rfind(begin, 0) == 0 && end != std::string::npos)
      declared.insert(line.substr(begin.size(), end - begin.size()));
  EXPECT_EQ(tested, declared);
}

}  // namespace
