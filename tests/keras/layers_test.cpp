// SPDX-License-Identifier: Apache-2.0
// Layers: names, shapes, weights, and how models are put together from them.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include "tests/message.h"

using namespace pando;
using namespace pando::keras;

namespace {

std::int64_t parameters(const Shape& input, const Layer& layer) {
  layer(Input(input));
  return layer.count_params();
}

TEST(Layers, HaveTheParameterCountsOfKeras) {
  EXPECT_EQ(parameters({784}, layers::Dense(128)), 100480);
  EXPECT_EQ(parameters({784}, layers::Dense(128, {.use_bias = false})), 100352);
  EXPECT_EQ(parameters({28, 28, 1}, layers::Conv2D(32, {3, 3})), 320);
  EXPECT_EQ(parameters({13, 13, 32}, layers::Conv2D(64, 3, {.groups = 2})), 64 * 9 * 16 + 64);
  EXPECT_EQ(parameters({8, 8, 4}, layers::Conv2DTranspose(6, {3, 2})), 3 * 2 * 4 * 6 + 6);
  EXPECT_EQ(parameters({8, 8, 4}, layers::DepthwiseConv2D(3, {.depth_multiplier = 2})), 9 * 4 * 2 + 8);
  EXPECT_EQ(parameters({8, 8, 4}, layers::SeparableConv2D(5, 3)), 9 * 4 + 4 * 5 + 5);
  EXPECT_EQ(parameters({8, 8, 4}, layers::BatchNormalization()), 16);
  EXPECT_EQ(parameters({8}, layers::LayerNormalization()), 16);
  EXPECT_EQ(parameters({7}, layers::Embedding(100, 16)), 1600);
  EXPECT_EQ(parameters({8, 8, 4}, layers::MaxPooling2D()), 0);
}

TEST(Layers, NormaliseTheLastAxisOnly) {
  EXPECT_EQ(parameters({8, 8, 4}, layers::BatchNormalization({.axis = 3})), 16);
  EXPECT_EQ(parameters({4}, layers::BatchNormalization({.axis = 1})), 16);
  for (const Layer& layer : {Layer(layers::BatchNormalization({.axis = 1, .name = "norm"})),
                             Layer(layers::LayerNormalization({.axis = 1, .name = "norm"}))}) {
    const std::string text = message([&] { layer(Input({8, 8, 4})); });
    EXPECT_TRUE(text.ends_with("axis is 1 but the channels must be last: -1")) << text;
  }
}

TEST(Layers, GiveTheShapesOfKeras) {
  const Tensor image = Input({28, 28, 3});
  const auto shape = [&](const Layer& layer) { return to_string(layer(image).shape()); };
  EXPECT_EQ(shape(layers::Conv2D(8, {3, 5})), "[-1, 26, 24, 8]");
  EXPECT_EQ(shape(layers::Conv2D(8, 3, {.padding = "same", .strides = {2, 3}})), "[-1, 14, 10, 8]");
  EXPECT_EQ(shape(layers::Conv2D(8, 3, {.dilation_rate = 2})), "[-1, 24, 24, 8]");
  EXPECT_EQ(shape(layers::Conv2DTranspose(8, 3, {.padding = "same", .strides = 2})), "[-1, 56, 56, 8]");
  EXPECT_EQ(shape(layers::Conv2DTranspose(8, 3, {.strides = 2})), "[-1, 57, 57, 8]");
  EXPECT_EQ(shape(layers::DepthwiseConv2D(3)), "[-1, 26, 26, 3]");
  EXPECT_EQ(shape(layers::MaxPooling2D(3)), "[-1, 9, 9, 3]");
  EXPECT_EQ(shape(layers::AveragePooling2D(2, {.strides = 1, .padding = "same"})), "[-1, 28, 28, 3]");
  EXPECT_EQ(shape(layers::GlobalAveragePooling2D()), "[-1, 3]");
  EXPECT_EQ(shape(layers::GlobalMaxPooling2D({.keepdims = true})), "[-1, 1, 1, 3]");
  EXPECT_EQ(shape(layers::Flatten()), "[-1, 2352]");
  EXPECT_EQ(shape(layers::Reshape({14, -1})), "[-1, 14, 168]");
  EXPECT_EQ(shape(layers::Permute({3, 1, 2})), "[-1, 3, 28, 28]");
  EXPECT_EQ(shape(layers::ZeroPadding2D({1, 2})), "[-1, 30, 32, 3]");
  EXPECT_EQ(shape(layers::ZeroPadding2D({Pair(1, 2), Pair(3, 4)})), "[-1, 31, 35, 3]");
  EXPECT_EQ(shape(layers::UpSampling2D({2, 3})), "[-1, 56, 84, 3]");
  EXPECT_EQ(shape(layers::UpSampling2D(2, {.interpolation = "bilinear"})), "[-1, 56, 56, 3]");
  EXPECT_EQ(shape(layers::RandomFlip()), "[-1, 28, 28, 3]");
  EXPECT_EQ(shape(layers::Dense(4)), "[-1, 28, 28, 4]");
}

TEST(Layers, AreNamedAsInKeras) {
  const std::string first = layers::Conv2D(1, 1).name(), second = layers::Conv2D(1, 1).name();
  EXPECT_EQ(first.rfind("conv2d", 0), 0u);
  EXPECT_NE(first, second);
  EXPECT_EQ(layers::MaxPooling2D().name().rfind("max_pooling2d", 0), 0u);
  EXPECT_EQ(layers::ReLU().name().rfind("re_lu", 0), 0u);
  EXPECT_EQ(layers::Dense(1, {.name = "head"}).name(), "head");
  const layers::Dense dense(2, {.name = "weighed"});
  dense(Input({3}));
  EXPECT_EQ(dense.weights()[0].name(), "weighed/kernel");
  EXPECT_EQ(dense.weights()[1].name(), "weighed/bias");
}

TEST(Layers, KeepTheirWeightsWhereverTheyAreUsed) {
  const layers::Dense shared(3);
  const Tensor a = Input({4}), b = Input({4});
  const Model both({a, b}, {layers::Add()({shared(a), shared(b)})});
  const Model alone(a, shared(a));
  EXPECT_EQ(both.count_params(), 15);
  shared.set_weight("bias", ones({3}));
  EXPECT_TRUE(array_equal(alone.get_weights()[1], ones({3})));
  EXPECT_TRUE(array_equal(both.get_weights()[1], ones({3})));
}

TEST(Layers, AreDrawnFromTheSeedWheneverTheyAreBuilt) {
  const auto kernel = [](bool late) {
    set_random_seed(11);
    const layers::Dense first(3), second(3);
    if (late) second(Input({4}));
    first(Input({4}));
    if (!late) second(Input({4}));
    return second.get_weights()[0];
  };
  EXPECT_TRUE(array_equal(kernel(true), kernel(false)));
}

TEST(Layers, RefuseWhatTheyCannotTake) {
  const layers::Conv2D conv(8, 3, {.name = "c"});
  EXPECT_EQ(
      message([&] { conv(Input({784})); }),
      "layer 'c' (Conv2D) takes an input of 4 axes, the batch among them, but was called on (None, 784); insert a "
      "Reshape");
  const layers::Dense dense(8, {.name = "d"});
  dense(Input({4}));
  EXPECT_EQ(
      message([&] { dense(Input({5})); }),
      "layer 'd' (Dense) was built for an input of shape (None, 4) and cannot take one of shape (None, 5); use a new "
      "layer");
  EXPECT_EQ(message([] { layers::Dense(4, {.activation = "rleu"}); }),
            "unknown activation 'rleu'; did you mean 'relu'?");
  EXPECT_EQ(message([] { layers::Conv2D(4, 3, {.padding = "smae"}); }),
            "Conv2D: unknown padding 'smae'; did you mean 'same'?");
  EXPECT_EQ(message([] { layers::Dense(4, {.kernel_initializer = "glorot_unifrom"}); }),
            "unknown initializer 'glorot_unifrom'; did you mean 'glorot_uniform'?");
  EXPECT_EQ(message([] { layers::Dropout(1.0); }), "Dropout: the rate is 1 but must be in [0, 1)");
  EXPECT_EQ(message([&] {
              layers::Dense(4, {.name = "e"})({Input({4}), Input({4})});
            }),
            "layer 'e' (Dense) takes 1 input but was called on 2");
  EXPECT_EQ(message([&] { layers::Reshape({5}, {.name = "r"})(Input({4})); }).substr(0, 45),
            "layer 'r' (Reshape) cannot take (None, 4): re");
}

TEST(Models, HaveTheParametersOfTheTutorials) {
  const Sequential sequential({layers::Flatten({.input_shape = Shape{28, 28}}),
                               layers::Dense(128, {.activation = "relu"}),
                               layers::Dense(10, {.activation = "softmax"})});
  EXPECT_EQ(sequential.count_params(), 101'770);
  const Tensor input = Input({28, 28, 1});
  Tensor x = layers::MaxPooling2D()(layers::Conv2D(32, 3)(input));
  x = layers::Dropout(0.5)(layers::Flatten()(layers::MaxPooling2D()(layers::Conv2D(64, 3)(x))));
  EXPECT_EQ(Model(input, layers::Dense(10)(x)).count_params(), 34'826);
}

TEST(Layers, AreNotBuiltByACallThatFails) {
  const layers::Dense first(6);
  const layers::Conv2D wide(3, 5);
  Sequential model({first, layers::Reshape({5})});
  EXPECT_NE(message([&] { model.build({{-1, 4}}); }), "(nothing was thrown)");
  EXPECT_NE(message([&] { wide(Input({4, 4, 1})); }), "(nothing was thrown)");
  EXPECT_FALSE(first.built());
  EXPECT_FALSE(wide.built());
  EXPECT_TRUE(model.weights().empty());
  wide(Input({9, 9, 2}));
  EXPECT_EQ(wide.built_for(), (std::vector<Shape>{{-1, 9, 9, 2}}));
}

TEST(Layers, SayTheirOptions) {
  const layers::Dense dense(3, {.activation = "relu", .use_bias = false, .name = "d"});
  const std::string config = layer_config(dense);
  for (const char* part : {"\"name\": \"d\"", "\"units\": 3", "\"activation\": \"relu\"", "\"use_bias\": false"})
    EXPECT_NE(config.find(part), config.npos) << config;
  const layers::Dense own(3, {.activation = Activation("twice", [](Value x) { return x * 2.0; }), .name = "own"});
  EXPECT_EQ(message([&] { layer_config(own); }),
            "the layer 'own' (Dense) cannot be saved: the activation 'twice' is your own function, which a file cannot "
            "hold; use one of Keras's");
  const std::string rest = layer_config(own, {.leave_out_functions = true});
  EXPECT_NE(rest.find("\"units\": 3"), rest.npos);
  EXPECT_EQ(rest.find("activation\": \"twice"), rest.npos);
}

TEST(Models, AreClonedLayerByLayer) {
  const Tensor x = Input({3}, {.name = "x"});
  const layers::Dense shared(3, {.use_bias = false, .name = "shared"});
  const Model model(x, shared(shared(x)) + x * 2.0, {.name = "twice"});
  int asked = 0;
  const Model clone = clone_model(model, [&](const Layer& layer) {
    ++asked;
    return layers::Dense(3, {.use_bias = false, .kernel_initializer = "ones", .name = layer.name()});
  });
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(clone.name(), "twice");
  EXPECT_EQ(Model(clone).predict({ones({1, 3})}).data<float>()[0], 11.0f);
  const Sequential stack({Input({4}, {.name = "in"}), layers::Dense(2), layers::ReLU()}, {.name = "stack"});
  const Model wider = clone_model(stack, [](const Layer& layer) -> Layer {
    if (layer.kind() == "Dense") return layers::Dense(5);
    return layers::ReLU();
  });
  EXPECT_TRUE(wider.built());
  EXPECT_EQ(wider.count_params(), 25);
}

TEST(Models, NestAndShareLayers) {
  const Sequential inner({layers::Dense(4, {.activation = "relu", .input_shape = Shape{3}}), layers::Dense(2)});
  const Tensor x = Input({3});
  const Model outer(x, layers::Dense(1)(inner(x)));
  EXPECT_EQ(inner.count_params(), 3 * 4 + 4 + 4 * 2 + 2);
  EXPECT_EQ(outer.count_params(), inner.count_params() + 3);
  inner.set_trainable(false);
  EXPECT_EQ(outer.trainable_weights().size(), 2u);
  EXPECT_EQ(outer.weights().size(), 6u);
}

TEST(Models, SayTheShapesThatALayerGives) {
  const layers::Dense shared(5);
  const Tensor a = Input({3}), b = Input({7, 3});
  const Model model({a, b}, {shared(a), shared(b)});
  EXPECT_EQ(model.output_shapes(shared), (std::vector<Shape>{{-1, 5}, {-1, 7, 5}}));
  EXPECT_EQ(model.output_shapes(layers::Dense(5)), std::vector<Shape>{});
}

TEST(Models, MayUsePartsOfAnother) {
  const layers::Dense inner(4, {.name = "inner"});
  EXPECT_EQ(message([&] { inner.outputs(); }),
            "layer 'inner' has no symbolic inputs and outputs: it was not called on an Input, or nothing uses the call "
            "any more");
  std::optional<Model> whole;
  {
    const Tensor input = Input({3});
    whole.emplace(input, layers::Dense(2)(inner(input)));
  }
  ASSERT_EQ(whole->inputs().size(), 1);
  EXPECT_EQ(whole->outputs()[0].shape(), Shape({-1, 2}));
  EXPECT_EQ(inner.inputs()[0].shape(), Shape({-1, 3}));
  Model part(whole->inputs(), inner.outputs());
  const Array x = Array::of<float>({1, 2, 3}, {1, 3});
  EXPECT_EQ(part.predict(x).shape(), Shape({1, 4}));
  EXPECT_EQ(part.count_params(), inner.count_params());
  Sequential stack({layers::Dense(2)});
  EXPECT_TRUE(message([&] { stack.outputs(); }).starts_with("outputs: the model '"));
}

TEST(Models, RefuseWhatDoesNotConnect) {
  const Tensor a = Input({4}, {.name = "a"}), b = Input({4}, {.name = "b"});
  EXPECT_EQ(message([&] { Model(a, layers::Dense(2)(b)); }),
            "Model: an output depends on the input 'b', which is not among the model's inputs; add it");
  EXPECT_EQ(message([&] { Model(a, layers::Dense(4, {.name = "twin"})(layers::Dense(4, {.name = "twin"})(a))); }),
            "Model: two layers are named 'twin'; the names of a model's layers must differ");
  const Model model(a, layers::Dense(2, {.name = "dense_head"})(a));
  EXPECT_EQ(message([&] { model.get_layer("dense_haed"); }), "unknown layer 'dense_haed'; did you mean 'dense_head'?");
  EXPECT_EQ(message([&] { model.get_weight("dense_head/kernal"); }),
            "'" + model.name() + "': unknown weight 'dense_head/kernal'; did you mean 'dense_head/kernel'?");
  EXPECT_EQ(message([&] {
              model.set_weights({ones({4, 2})});
            }),
            "set_weights: '" + model.name() + "' has 2 weights but 1 values were given");
  EXPECT_EQ(message([] { Sequential({layers::Dense(2)}, {.name = "stack"}).summary(); }),
            "summary: the model 'stack' is not built and has no weights yet; begin it with an Input, give its first "
            "layer an input_shape, or fit it first");
}

TEST(Models, PrintTheSummaryOfKeras) {
  const Tensor input = Input({28, 28, 1}, {.name = "image"});
  Tensor x = layers::Conv2D(32, {3, 3}, {.activation = "relu", .name = "conv"})(input);
  const Tensor left = layers::GlobalAveragePooling2D({.name = "average"})(x);
  const Tensor right = layers::GlobalMaxPooling2D({.name = "largest"})(x);
  x = layers::Concatenate({.name = "joined"})({left, right});
  const Model model(input, layers::Dense(10, {.activation = "softmax", .name = "classes"})(x), {.name = "branched"});
  setenv("LC_ALL", "C.UTF-8", 1);
  EXPECT_EQ(model.summary_text(), R"(Model: "branched"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━┓
┃ Layer (type)                     ┃ Output Shape       ┃    Param # ┃ Connected to      ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━┩
│ image (InputLayer)               │ (None, 28, 28, 1)  │          0 │ -                 │
├──────────────────────────────────┼────────────────────┼────────────┼───────────────────┤
│ conv (Conv2D)                    │ (None, 26, 26, 32) │        320 │ image[0][0]       │
├──────────────────────────────────┼────────────────────┼────────────┼───────────────────┤
│ average (GlobalAveragePooling2D) │ (None, 32)         │          0 │ conv[0][0]        │
├──────────────────────────────────┼────────────────────┼────────────┼───────────────────┤
│ largest (GlobalMaxPooling2D)     │ (None, 32)         │          0 │ conv[0][0]        │
├──────────────────────────────────┼────────────────────┼────────────┼───────────────────┤
│ joined (Concatenate)             │ (None, 64)         │          0 │ average[0][0],    │
│                                  │                    │            │ largest[0][0]     │
├──────────────────────────────────┼────────────────────┼────────────┼───────────────────┤
│ classes (Dense)                  │ (None, 10)         │        650 │ joined[0][0]      │
└──────────────────────────────────┴────────────────────┴────────────┴───────────────────┘
 Total params: 970 (3.79 KB)
 Trainable params: 970 (3.79 KB)
 Non-trainable params: 0 (0.00 B)
)");
}

}  // namespace
