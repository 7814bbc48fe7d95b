// SPDX-License-Identifier: Apache-2.0
// The examples of the page "Keras layers": each layer once, in models that are built and run.
#include <gtest/gtest.h>
#include <pando/pando.h>

namespace {

using namespace pando;
namespace layers = pando::keras::layers;

// Trains a step, so that every layer runs forwards and backwards.
void train_step(keras::Model model, const Array& x, std::int64_t outputs) {
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const keras::Logs logs = model.train_on_batch(x, zeros({x.shape()[0], outputs}));
  EXPECT_GE(logs["loss"], 0.0);
}

TEST(KerasLayers, Convolutions) {
  //! [functional]
  Tensor input = keras::Input({28, 28, 1}, {.name = "image"});
  Tensor x = layers::Rescaling(1.0 / 255, {.offset = -0.5})(input);
  x = layers::Conv2D(8, {3, 3}, {.activation = "relu", .padding = "same", .strides = 2})(x);
  x = layers::BatchNormalization({.momentum = 0.9})(x);
  x = layers::MaxPooling2D({2, 2}, {.strides = keras::Pair(2), .padding = "same"})(x);
  x = layers::Flatten()(x);
  x = layers::Dropout(0.5)(x);
  x = layers::Dense(10, {.activation = "softmax", .kernel_regularizer = keras::regularizers::L2(1e-4)})(x);
  keras::Model model(input, x, {.name = "digits"});
  //! [functional]
  train_step(model, zeros({4, 28, 28, 1}), 10);
}

TEST(KerasLayers, Residual) {
  //! [residual]
  Tensor input = keras::Input({16, 16, 8});
  Tensor x = layers::DepthwiseConv2D(3, {.padding = "same", .depth_multiplier = 1})(input);
  x = layers::Activation("gelu")(x);
  x = layers::SeparableConv2D(8, {3, 3}, {.padding = "same"})(x);
  x = layers::Add()({x, input});
  //! [residual]
  x = layers::ZeroPadding2D({1, 2})(x);
  layers::Padding2D one_row_above({1, 0}, {0, 0});
  x = layers::ZeroPadding2D(one_row_above)(x);
  x = layers::AveragePooling2D({2, 2})(x);
  x = layers::UpSampling2D(2, {.interpolation = "bilinear"})(x);
  x = layers::Conv2DTranspose(4, {3, 3}, {.strides = {2, 2}})(x);
  x = layers::ReLU({.max_value = 6.0})(x);
  x = layers::LeakyReLU({.alpha = 0.1})(x);
  Tensor mean = layers::GlobalAveragePooling2D()(x);
  Tensor peak = layers::GlobalMaxPooling2D({.keepdims = false})(x);
  x = layers::Concatenate({.axis = -1})({mean, peak});
  x = layers::Multiply()({x, layers::Dense(8, {.activation = "sigmoid"})(x)});
  x = layers::LayerNormalization({.epsilon = 1e-5})(x);
  x = layers::Softmax()(x);
  train_step(keras::Model(input, x), ones({2, 16, 16, 8}), 8);
}

TEST(KerasLayers, SequentialAndAugmentation) {
  //! [sequential]
  keras::Sequential model({layers::InputLayer({32, 32, 3}), layers::RandomFlip("horizontal"),
                           layers::RandomTranslation(0.1, 0.1, {.fill_mode = "nearest"}), layers::RandomRotation(0.05),
                           layers::Conv2D(4, 3, {.activation = "relu"}), layers::GlobalAveragePooling2D(),
                           layers::Dense(2)});
  //! [sequential]
  train_step(model, zeros({3, 32, 32, 3}), 2);
}

TEST(KerasLayers, Shapes) {
  keras::Sequential words({layers::Embedding(1000, 16, {.input_shape = Shape{12}}), layers::Permute({2, 1}),
                           layers::Reshape({-1}), layers::Dense(1)});
  train_step(words, zeros({2, 12}, DType::int32), 1);
}

//! [own_layer]
// y = x * scale, with a scale for each channel.
struct ScaleBody : keras::LayerBody {
  std::string kind() const override { return "Scale"; }
  void build(keras::LayerBuild& build, const std::vector<Shape>& inputs) override {
    const Shape& shape = inputs[0];
    build.add_weight("scale", {shape[shape.rank() - 1]}, {.initializer = "ones"});
  }
  std::vector<Value> call(keras::LayerCall& call, const std::vector<Value>& inputs) const override {
    return {inputs[0] * call.weight(0)};
  }
};
keras::Layer Scale() { return keras::Layer(std::make_shared<ScaleBody>()); }
//! [own_layer]

TEST(KerasLayers, OwnLayer) {
  keras::Sequential model({layers::Flatten(), Scale(), layers::Dense(1)});
  train_step(model, ones({2, 3}), 1);

  keras::LayerBody& body = model.layers()[1].body();
  EXPECT_EQ(body.kind(), "Scale");
  keras::CallOptions as_in_training{.training = true};
  Tensor y = model.layers()[0](keras::Input({3}), as_in_training);
  EXPECT_EQ(y.shape(), (Shape{-1, 3}));

  layers::Dense tried(2);
  {
    keras::BuildScope scope;
    tried(keras::Input({3}));
    if (tried.built_for()[0][1] == 4) scope.keep();
  }
  EXPECT_FALSE(tried.built());  // it can be built for other inputs now
}

}  // namespace
