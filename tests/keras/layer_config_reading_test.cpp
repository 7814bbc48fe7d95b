// SPDX-License-Identifier: Apache-2.0
// What is read of a layer's config: the defaults, the other ways to say the same, and what is refused, word for word.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include "tests/keras/layer_config.h"
#include "tests/message.h"

using namespace pando;
using namespace pando::keras;

namespace {

// The settings of a Dense layer of one unit with these keys in place of its own.
Layer dense_with(const std::string& members) {
  return model_from_json(R"({"class_name": "Sequential", "config": {"layers": [{"class_name": "Dense", "config": )"
                         R"({"name": "d", "units": 1)" +
                         members + "}}]}}")
      .layers()[0];
}

TEST(LayerConfig, TakesKerasDefaultsForKeysThatAreMissingOrNull) {
  EXPECT_EQ(settings_of(dense_with("")), settings_of(layers::Dense(1)));
  EXPECT_EQ(settings_of(dense_with(R"(, "activation": null, "kernel_initializer": null, "use_bias": null)")),
            settings_of(layers::Dense(1)));
}

TEST(LayerConfig, WritesEveryInitializerWithItsSettings) {
  const auto written = [](const Initializer& initializer) {
    const Json config = config_of(model_text(layers::Dense(1, {.kernel_initializer = initializer})));
    const std::string text = config.find("kernel_initializer")->text();
    EXPECT_EQ(
        config_of(model_text(dense_with(R"(, "kernel_initializer": )" + text))).find("kernel_initializer")->text(),
        text);
    return text;
  };
  using namespace initializers;
  EXPECT_EQ(written(Constant(0.5)), R"({"class_name": "Constant", "config": {"value": 0.5}})");
  EXPECT_EQ(written(Constant(1)), R"({"class_name": "Ones", "config": {}})");
  EXPECT_EQ(written(Identity(2)), R"({"class_name": "Identity", "config": {"gain": 2.0}})");
  EXPECT_EQ(written(Orthogonal(3)), R"({"class_name": "Orthogonal", "config": {"gain": 3.0}})");
  EXPECT_EQ(written(RandomNormal({.mean = 1, .stddev = 2})),
            R"({"class_name": "RandomNormal", "config": {"mean": 1.0, "stddev": 2.0}})");
  EXPECT_EQ(written(TruncatedNormal({.mean = 1, .stddev = 2})),
            R"({"class_name": "TruncatedNormal", "config": {"mean": 1.0, "stddev": 2.0}})");
  EXPECT_EQ(written(RandomUniform({.minval = -1, .maxval = 2})),
            R"({"class_name": "RandomUniform", "config": {"minval": -1.0, "maxval": 2.0}})");
  EXPECT_EQ(
      written(VarianceScaling({.scale = 3, .mode = "fan_out", .distribution = "uniform"})),
      R"({"class_name": "VarianceScaling", "config": {"scale": 3.0, "mode": "fan_out", "distribution": "uniform"}})");
  for (const char* name :
       {"Zeros", "Ones", "GlorotUniform", "GlorotNormal", "HeUniform", "HeNormal", "LecunUniform", "LecunNormal"})
    EXPECT_EQ(written(name), R"({"class_name": ")" + std::string(name) + R"(", "config": {}})");
}

TEST(LayerConfig, DrawsTheSameNumbersFromAnInitializerThatWasRead) {
  const Json config = config_of(model_text(dense_with(
      R"(, "kernel_initializer": {"class_name": "RandomUniform", "config": {"minval": 2, "maxval": 3, "seed": 7}})")));
  EXPECT_EQ(config.find("kernel_initializer")->text(),
            R"({"class_name": "RandomUniform", "config": {"minval": 2.0, "maxval": 3.0}})");
  const Layer layer =
      dense_with(R"(, "kernel_initializer": {"class_name": "RandomUniform", "config": {"minval": 2, "maxval": 3}})");
  layer.build({Shape{-1, 50}});
  const Array kernel = layer.get_weight("kernel");
  for (std::int64_t i = 0; i < kernel.elements(); ++i) {
    EXPECT_GE(kernel.data<float>()[i], 2.0f);
    EXPECT_LE(kernel.data<float>()[i], 3.0f);
  }
}

TEST(LayerConfig, ReadsRegularizersByNameAndByClass) {
  const auto read = [](const std::string& text) {
    const Json config = config_of(model_text(dense_with(R"(, "kernel_regularizer": )" + text)));
    return config.find("kernel_regularizer")->find("config")->text();
  };
  EXPECT_EQ(read(R"("l2")"), R"({"l1": 0.0, "l2": 0.01})");
  EXPECT_EQ(read(R"("l1_l2")"), R"({"l1": 0.01, "l2": 0.01})");
  EXPECT_EQ(read(R"({"class_name": "L1", "config": {"l1": 0.5}})"), R"({"l1": 0.5, "l2": 0.0})");
  EXPECT_EQ(read(R"({"class_name": "L2", "config": {}})"), R"({"l1": 0.0, "l2": 0.01})");
  EXPECT_EQ(read(R"({"class_name": "L1L2", "config": {"l2": 0.5}})"), R"({"l1": 0.0, "l2": 0.5})");
}

TEST(LayerConfig, RefusesWhatWouldComputeSomethingElse) {
  const auto refusal = [](const std::string& members) { return message([&] { dense_with(members); }); };
  EXPECT_EQ(
      refusal(R"(, "kernel_constraint": {"class_name": "MaxNorm"})"),
      R"(model_from_json: layer 'd': Dense: kernel_constraint is {"class_name": "MaxNorm"}, which is not supported)");
  EXPECT_EQ(refusal(R"(, "dtype": "float16")"),
            R"(model_from_json: layer 'd': Dense: dtype is "float16", and only "float32" is supported)");
  EXPECT_EQ(refusal(R"(, "dtype": {"class_name": "Policy", "config": {"name": "mixed_float16"}})"),
            R"(model_from_json: layer 'd': Dense: dtype is "mixed_float16", and only "float32" is supported)");
  EXPECT_EQ(refusal(R"(, "activatoin": "relu")"),
            "model_from_json: layer 'd': Dense: unknown key 'activatoin'; did you mean 'activation'?");
  EXPECT_EQ(refusal(R"(, "activation": "rleu")"),
            "model_from_json: layer 'd': unknown activation 'rleu'; did you mean 'relu'?");
  EXPECT_EQ(refusal(R"(, "activation": 3)"),
            "model_from_json: layer 'd': Dense: activation is an integer but should be a string");
  EXPECT_EQ(refusal(R"(, "kernel_initializer": {"config": {}})"),
            "model_from_json: layer 'd': Dense: kernel_initializer has no 'class_name'");
  EXPECT_EQ(refusal(R"(, "kernel_initializer": {"class_name": "Constant", "config": {"valeu": 1}})"),
            "model_from_json: layer 'd': Dense: kernel_initializer: Constant: unknown key 'valeu'; "
            "did you mean 'value'?");
  EXPECT_EQ(refusal(R"(, "units": 3)"),
            "model_from_json: the text is not JSON: line 1, column 119: the member 'units' appears twice");
  EXPECT_EQ(refusal(R"(, "kernel_regularizer": {"class_name": "Orthogonal"})"),
            "model_from_json: layer 'd': unknown regularizer 'Orthogonal'; known are: l1, l1_l2, l2");
}

TEST(LayerConfig, PassesOverKeysThatChangeNothing) {
  EXPECT_EQ(settings_of(dense_with(R"(, "lora_rank": null, "dynamic": false, "activity_regularizer": null)")),
            settings_of(layers::Dense(1)));
}

// A Sequential model of one layer.
std::string only_layer(const std::string& kind, const std::string& config) {
  return R"({"class_name": "Sequential", "config": {"name": "m", "layers": [{"class_name": ")" + kind +
         R"(", "config": )" + config + "}]}}";
}

TEST(LayerConfig, RefusesUnsupportedSettingsOfEveryKind) {
  const auto refusal = [](const std::string& kind, const std::string& config) {
    return message([&] { model_from_json(only_layer(kind, config)); });
  };
  EXPECT_EQ(refusal("Conv2D", R"({"name": "c", "filters": 1, "kernel_size": 3, "data_format": "channels_first"})"),
            "model_from_json: layer 'c': Conv2D: data_format is \"channels_first\", and only \"channels_last\" is "
            "supported");
  EXPECT_EQ(refusal("Conv2D", R"({"name": "c", "kernel_size": 3})"),
            "model_from_json: layer 'c': Conv2D: the key 'filters' is missing");
  EXPECT_EQ(refusal("Conv2D", R"({"name": "c", "filters": 1, "kernel_size": [3, 3, 3]})"),
            "model_from_json: layer 'c': Conv2D: kernel_size has 3 numbers but should have 2");
  EXPECT_EQ(refusal("Conv2D", R"({"name": "c", "filters": 1000000000000, "kernel_size": 3})"),
            "model_from_json: layer 'c': Conv2D: filters is 1000000000000 but must be within 1000000000 of 0");
  EXPECT_EQ(refusal("DepthwiseConv2D", R"({"name": "c", "kernel_size": 3, "groups": 2})"),
            "model_from_json: layer 'c': DepthwiseConv2D: groups is 2, and only 1 is supported");
  EXPECT_EQ(refusal("ReLU", R"({"name": "r", "threshold": 1.0})"),
            "model_from_json: layer 'r': ReLU: threshold is 1.0, and only 0.0 is supported");
  EXPECT_EQ(refusal("Embedding", R"({"name": "e", "input_dim": 3, "output_dim": 2, "mask_zero": true})"),
            "model_from_json: layer 'e': Embedding: mask_zero is true, and only false is supported");
  EXPECT_EQ(refusal("RandomRotation", R"({"name": "r", "factor": [0.0, 0.5]})"),
            "model_from_json: layer 'r': RandomRotation: factor is [0.0, 0.5], and only a range around 0 is supported: "
            "[-f, f]");
  EXPECT_EQ(
      refusal("InputLayer", R"({"name": "i", "batch_input_shape": [null, null, 3]})"),
      "model_from_json: layer 'i': batch_input_shape is [null, null, 3], and only the batch may be null; give the "
      "other sizes");
  EXPECT_EQ(refusal("BatchNormalization", R"({"name": "b", "axis": [1], "batch_input_shape": [null, 4, 4, 3]})"),
            "model_from_json: layer 'm' (Sequential): layer 'b' (BatchNormalization): axis is 1 but the channels must "
            "be last: -1");
  EXPECT_EQ(refusal("Dropout", R"({"name": "d", "rate": 1.5})"),
            "model_from_json: layer 'd': Dropout: the rate is 1.5 but must be in [0, 1)");
}

TEST(LayerConfig, TakesTheOtherWaysToSayTheSame) {
  const auto read = [](const std::string& kind, const std::string& config) {
    return settings_of(model_from_json(only_layer(kind, config)).layers()[0]);
  };
  EXPECT_EQ(read("ZeroPadding2D", R"({"padding": 2})"), settings_of(layers::ZeroPadding2D(2)));
  EXPECT_EQ(read("ZeroPadding2D", R"({"padding": [1, 2]})"), settings_of(layers::ZeroPadding2D({1, 2})));
  EXPECT_EQ(read("RandomRotation", R"({"factor": [-0.25, 0.25], "seed": 3})"),
            settings_of(layers::RandomRotation(0.25)));
  EXPECT_EQ(read("MaxPooling2D", R"({"pool_size": 3, "strides": 2})"),
            settings_of(layers::MaxPooling2D(3, {.strides = Pair(2)})));
  EXPECT_EQ(read("BatchNormalization", R"({"axis": [3], "batch_input_shape": [null, 4, 4, 3]})"),
            R"({"batch_input_shape": [null, 4, 4, 3], "axis": 3, )" +
                settings_of(layers::BatchNormalization()).substr(std::string(R"({"axis": -1, )").size()));
  EXPECT_EQ(read("Dense", R"({"units": 1, "batch_shape": [32, 4]})"),
            settings_of(layers::Dense(1, {.input_shape = Shape{4}})));
}

TEST(LayerConfig, CannotHoldFunctionsOfOnesOwn) {
  const auto refusal = [](const Layer& layer) { return message([&] { model_text(layer); }); };
  EXPECT_EQ(
      refusal(layers::Dense(1, {.activation = keras::Activation("relu", [](Value x) { return x; }), .name = "d"})),
      "the layer 'd' (Dense) cannot be saved: the activation 'relu' is your own function, which a file cannot hold; "
      "use one of Keras's");
  EXPECT_EQ(refusal(layers::Dense(
                1, {.kernel_initializer = Initializer(
                        "mine", [](const Shape& shape, std::uint64_t) { return Array(DType::float32, shape); }),
                    .name = "d"})),
            "the layer 'd' (Dense) cannot be saved: the initializer 'mine' is your own function, which a file cannot "
            "hold; use one of Keras's");
}

}  // namespace
