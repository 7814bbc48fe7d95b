// SPDX-License-Identifier: Apache-2.0
// Every layer, initializer, regularizer and activation is written with all its settings as Keras 2 names them, and read
// back as it was.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <fstream>
#include <set>
#include <sstream>

#include "tests/keras/layer_config.h"

using namespace pando;
using namespace pando::keras;

namespace {

struct Case {
  Layer layer;
  // With settings other than the defaults.
  std::string settings;
};

const char* const no_constraints =
    R"("activity_regularizer": null, "kernel_constraint": null, "bias_constraint": null})";

std::vector<Case> weight_layers() {
  const Regularizer l1 = regularizers::L1(0.5), both = regularizers::L1L2(0.5, 0.25);
  const std::string l1_text = R"({"class_name": "L1L2", "config": {"l1": 0.5, "l2": 0.0}})";
  const std::string both_text = R"({"class_name": "L1L2", "config": {"l1": 0.5, "l2": 0.25}})";
  const std::string ones = R"({"class_name": "Ones", "config": {}})",
                    he = R"({"class_name": "HeNormal", "config": {}})";
  const layers::Conv2DOptions conv = {.activation = "tanh",
                                      .padding = "same",
                                      .strides = {2, 1},
                                      .dilation_rate = {1, 3},
                                      .groups = 2,
                                      .use_bias = false,
                                      .kernel_initializer = "he_normal",
                                      .bias_initializer = "ones",
                                      .kernel_regularizer = l1,
                                      .bias_regularizer = both,
                                      .input_shape = Shape{9, 9, 4}};
  layers::Conv2DOptions transposed = conv;
  transposed.groups = 1;
  const auto conv_text = [&](const char* groups) {
    return R"({"batch_input_shape": [null, 9, 9, 4], "filters": 8, "kernel_size": [3, 5], "strides": [2, 1], )"
           R"("padding": "same", "data_format": "channels_last", "dilation_rate": [1, 3], "groups": )" +
           std::string(groups) + R"(, "activation": "tanh", "use_bias": false, "kernel_initializer": )" + he +
           R"(, "bias_initializer": )" + ones + R"(, "kernel_regularizer": )" + l1_text + R"(, "bias_regularizer": )" +
           both_text + ", " + no_constraints;
  };
  const layers::DepthwiseConv2DOptions depthwise = {.activation = "elu",
                                                    .padding = "same",
                                                    .strides = 2,
                                                    .dilation_rate = 3,
                                                    .depth_multiplier = 4,
                                                    .use_bias = false,
                                                    .depthwise_initializer = "he_normal",
                                                    .pointwise_initializer = "ones",
                                                    .bias_initializer = "ones",
                                                    .depthwise_regularizer = l1,
                                                    .pointwise_regularizer = both,
                                                    .bias_regularizer = both,
                                                    .input_shape = Shape{9, 9, 4}};
  const std::string depthwise_text =
      R"("kernel_size": [3, 3], "strides": [2, 2], "padding": "same", "data_format": "channels_last", )"
      R"("dilation_rate": [3, 3], "groups": 1, "activation": "elu", "use_bias": false, "depth_multiplier": 4, )"
      R"("depthwise_initializer": )" +
      he + R"(, "bias_initializer": )" + ones + R"(, "depthwise_regularizer": )" + l1_text +
      R"(, "bias_regularizer": )" + both_text +
      R"(, "activity_regularizer": null, "depthwise_constraint": null, "bias_constraint": null)";
  const std::string image = R"({"batch_input_shape": [null, 9, 9, 4], )";
  std::string transposed_text = conv_text("1");
  transposed_text.back() = ',';
  return {
      {layers::Dense(7, {.activation = "relu",
                         .use_bias = false,
                         .kernel_initializer = "he_normal",
                         .bias_initializer = "ones",
                         .kernel_regularizer = l1,
                         .bias_regularizer = both,
                         .input_shape = Shape{4}}),
       R"({"batch_input_shape": [null, 4], "units": 7, "activation": "relu", "use_bias": false, "kernel_initializer": )" +
           he + R"(, "bias_initializer": )" + ones + R"(, "kernel_regularizer": )" + l1_text +
           R"(, "bias_regularizer": )" + both_text + ", " + no_constraints},
      {layers::Conv2D(8, {3, 5}, conv), conv_text("2")},
      {layers::Conv2DTranspose(8, {3, 5}, transposed), transposed_text + R"( "output_padding": null})"},
      {layers::DepthwiseConv2D(3, depthwise), image + depthwise_text + "}"},
      {layers::SeparableConv2D(6, 3, depthwise),
       image + R"("filters": 6, )" + depthwise_text + R"(, "pointwise_initializer": )" + ones +
           R"(, "pointwise_regularizer": )" + both_text + R"(, "pointwise_constraint": null})"},
      {layers::Embedding(
           30, 5, {.embeddings_initializer = "he_normal", .embeddings_regularizer = both, .input_shape = Shape{6}}),
       R"({"batch_input_shape": [null, 6], "input_dim": 30, "output_dim": 5, "embeddings_initializer": )" + he +
           R"(, "embeddings_regularizer": )" + both_text +
           R"(, "activity_regularizer": null, "embeddings_constraint": null, "mask_zero": false})"},
      {layers::BatchNormalization({.momentum = 0.5,
                                   .epsilon = 0.25,
                                   .center = false,
                                   .scale = false,
                                   .beta_initializer = "he_normal",
                                   .gamma_initializer = "zeros",
                                   .moving_mean_initializer = "ones",
                                   .moving_variance_initializer = "he_normal",
                                   .beta_regularizer = l1,
                                   .gamma_regularizer = both}),
       R"({"axis": -1, "momentum": 0.5, "epsilon": 0.25, "center": false, "scale": false, "beta_initializer": )" + he +
           R"(, "gamma_initializer": {"class_name": "Zeros", "config": {}}, "moving_mean_initializer": )" + ones +
           R"(, "moving_variance_initializer": )" + he + R"(, "beta_regularizer": )" + l1_text +
           R"(, "gamma_regularizer": )" + both_text + R"(, "beta_constraint": null, "gamma_constraint": null})"},
      {layers::LayerNormalization({.epsilon = 0.25,
                                   .center = false,
                                   .scale = false,
                                   .beta_initializer = "ones",
                                   .gamma_initializer = "he_normal"}),
       R"({"axis": -1, "epsilon": 0.25, "center": false, "scale": false, "beta_initializer": )" + ones +
           R"(, "gamma_initializer": )" + he +
           R"(, "beta_regularizer": null, "gamma_regularizer": null, "beta_constraint": null, "gamma_constraint": null})"},
  };
}

std::vector<Case> other_layers() {
  const std::string last = R"("data_format": "channels_last"})";
  return {
      {layers::InputLayer({28, 3}, {.dtype = DType::uint8}),
       R"({"batch_input_shape": [null, 28, 3], "sparse": false, "ragged": false})"},
      {layers::MaxPooling2D({2, 3}, {.strides = Pair{1, 2}, .padding = "same"}),
       R"({"pool_size": [2, 3], "strides": [1, 2], "padding": "same", )" + last},
      {layers::AveragePooling2D(3), R"({"pool_size": [3, 3], "strides": [3, 3], "padding": "valid", )" + last},
      {layers::GlobalAveragePooling2D({.keepdims = true}), R"({"keepdims": true, )" + last},
      {layers::GlobalMaxPooling2D({.keepdims = true}), R"({"keepdims": true, )" + last},
      {layers::Flatten({.input_shape = Shape{2, 3}}), R"({"batch_input_shape": [null, 2, 3], )" + last},
      {layers::Reshape({4, -1}, {.input_shape = Shape{8}}),
       R"({"batch_input_shape": [null, 8], "target_shape": [4, -1]})"},
      {layers::Permute({2, 1}, {.input_shape = Shape{2, 3}}), R"({"batch_input_shape": [null, 2, 3], "dims": [2, 1]})"},
      {layers::Dropout(0.25), R"({"rate": 0.25, "noise_shape": null})"},
      {layers::Activation("gelu"), R"({"activation": "gelu"})"},
      {layers::ReLU({.max_value = 6.0, .negative_slope = 0.125}),
       R"({"max_value": 6.0, "negative_slope": 0.125, "threshold": 0.0})"},
      {layers::LeakyReLU({.alpha = 0.5}), R"({"alpha": 0.5})"},
      {layers::Softmax(), R"({"axis": -1})"},
      {layers::Add(), "{}"},
      {layers::Multiply(), "{}"},
      {layers::Concatenate({.axis = 2}), R"({"axis": 2})"},
      {layers::ZeroPadding2D({Pair(1, 2), Pair(3, 4)}), R"({"padding": [[1, 2], [3, 4]], )" + last},
      {layers::UpSampling2D({2, 3}, {.interpolation = "bilinear"}),
       R"({"size": [2, 3], "interpolation": "bilinear", )" + last},
      {layers::Rescaling(0.5, {.offset = -1.0, .input_shape = Shape{2}}),
       R"({"batch_input_shape": [null, 2], "scale": 0.5, "offset": -1.0})"},
      {layers::RandomFlip("vertical"), R"({"mode": "vertical"})"},
      {layers::RandomTranslation(0.25, 0.5, {.fill_mode = "constant", .fill_value = 2.0}),
       R"({"height_factor": 0.25, "width_factor": 0.5, "fill_mode": "constant", "fill_value": 2.0, )"
       R"("interpolation": "bilinear"})"},
      {layers::RandomRotation(0.125, {.fill_mode = "nearest", .fill_value = 3.0}),
       R"({"factor": 0.125, "fill_mode": "nearest", "fill_value": 3.0, "interpolation": "bilinear"})"},
  };
}

std::vector<Case> all_layers() {
  std::vector<Case> cases = weight_layers();
  for (const Case& other : other_layers()) cases.push_back(other);
  return cases;
}

TEST(LayerConfig, HasAllSettingsAsKerasNamesThem) {
  for (const Case& one : all_layers()) EXPECT_EQ(settings_of(one.layer), one.settings) << one.layer.kind();
}

TEST(LayerConfig, ReadsBackAsItWas) {
  for (const Case& one : all_layers()) {
    const std::string text = model_text(one.layer);
    EXPECT_EQ(model_from_json(text).to_json(), text) << one.layer.kind();
  }
}

TEST(LayerConfig, IsTestedForEveryLayer) {
  std::ifstream header(PANDO_LAYERS_HEADER);
  std::set<std::string> tested, declared;
  for (const Case& one : all_layers()) tested.insert(one.layer.kind());
  // struct PANDO_API NAME : Layer {
  for (std::string line; std::getline(header, line);) {
    std::istringstream words(line);
    std::string first, second, name, colon, base;
    if (words >> first >> second >> name >> colon >> base && first == "struct" && colon == ":" && base == "Layer")
      declared.insert(name);
  }
  EXPECT_EQ(tested, declared);
}

TEST(LayerConfig, KeepsNamesAndWhatIsFrozen) {
  const layers::Dense dense(3, {.name = "frozen"});
  dense.set_trainable(false);
  const Layer back = model_from_json(model_text(dense)).layers()[0];
  EXPECT_EQ(back.name(), "frozen");
  EXPECT_FALSE(back.trainable());
}

}  // namespace
