// SPDX-License-Identifier: Apache-2.0
// Models as JSON: what Pando writes it reads back, and what TensorFlow.js wrote computes what it computes there.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <cmath>
#include <fstream>

#include "io/json.h"

using namespace pando;
using namespace pando::keras;

namespace {

std::string text_of_file(const std::string& name) {
  std::ifstream file(PANDO_KERAS_FILES "/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// As make_tfjs_models.js makes them.
Array numbers(const Shape& shape, double phase, double offset = 0) {
  Array array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.mutable_data<float>()[i] = static_cast<float>(0.2 * std::sin(static_cast<double>(i) + phase) + offset);
  return array;
}

void expect_same_numbers(const Array& a, const Array& b) {
  ASSERT_EQ(a.shape(), b.shape());
  for (std::int64_t i = 0; i < a.elements(); ++i) EXPECT_EQ(a.data<float>()[i], b.data<float>()[i]) << i;
}

// Two inputs, two outputs, a layer and a model that are called twice, a layer that is told how to be called.
Model branches() {
  const Tensor image = Input({6, 6, 2}, {.name = "image"}),
               number = Input({3}, {.dtype = DType::int32, .name = "number"});
  const layers::Conv2D conv(4, 3, {.padding = "same", .name = "conv"});
  const Sequential inner(
      {layers::Dense(4, {.activation = "tanh", .name = "dense"}), layers::BatchNormalization({.name = "norm"})},
      {.name = "inner"});
  const Tensor a = conv(image);
  const Tensor b = conv(layers::RandomFlip("horizontal", {.name = "flip"})(image));
  const Tensor both = layers::Concatenate({.name = "both"})({a, b});
  const Tensor pooled =
      layers::GlobalAveragePooling2D({.name = "pooled"})(layers::Multiply({.name = "product"})({a, b}));
  const Tensor first = inner(pooled);
  const Tensor second = inner(first, {.training = false});
  const Tensor looked_up = layers::Flatten({.name = "flat"})(layers::Embedding(10, 2, {.name = "table"})(number));
  const Tensor sum = layers::Add({.name = "sum"})({first, second});
  const Tensor joined = layers::Concatenate({.name = "joined"})({sum, looked_up});
  return Model({image, number}, {layers::Dense(3, {.name = "scores"})(joined), both}, {.name = "branches"});
}

TEST(ModelJson, IsThatOfKerasForASequentialModel) {
  const Sequential model({layers::Flatten({.input_shape = Shape{2, 2}, .name = "flatten"}),
                          layers::Dense(3, {.activation = "softmax", .name = "dense"})},
                         {.name = "small"});
  EXPECT_EQ(
      model.to_json(),
      R"({"class_name": "Sequential", "config": {"name": "small", "trainable": true, "layers": [)"
      R"({"class_name": "Flatten", "config": {"name": "flatten", "trainable": true, "batch_input_shape": [null, 2, 2], )"
      R"("dtype": "float32", "data_format": "channels_last"}}, )"
      R"({"class_name": "Dense", "config": {"name": "dense", "trainable": true, "dtype": "float32", "units": 3, )"
      R"("activation": "softmax", "use_bias": true, )"
      R"("kernel_initializer": {"class_name": "GlorotUniform", "config": {}}, )"
      R"("bias_initializer": {"class_name": "Zeros", "config": {}}, "kernel_regularizer": null, )"
      R"("bias_regularizer": null, "activity_regularizer": null, "kernel_constraint": null, )"
      R"("bias_constraint": null}}]}, "keras_version": "2.15.0", "backend": "tensorflow"})");
}

TEST(ModelJson, ConnectsTheLayersOfAFunctionalModelAsKerasDoes) {
  const Json json = Json::parse(branches().to_json(), "it");
  const Json& config = *json.find("config");
  EXPECT_EQ(json.find("class_name")->text(), R"("Functional")");
  EXPECT_EQ(config.find("input_layers")->text(), R"([["image", 0, 0], ["number", 0, 0]])");
  EXPECT_EQ(config.find("output_layers")->text(), R"([["scores", 0, 0], ["both", 0, 0]])");
  std::map<std::string, std::string> nodes;
  for (const Json& layer : config.find("layers")->list("it"))
    nodes[layer.find("name")->string("it")] = layer.find("inbound_nodes")->text();
  EXPECT_EQ(nodes["image"], "[]");
  EXPECT_EQ(nodes["conv"], R"([[["image", 0, 0, {}]], [["flip", 0, 0, {}]]])");
  EXPECT_EQ(nodes["both"], R"([[["conv", 0, 0, {}], ["conv", 1, 0, {}]]])");
  // The calls of a model are counted from 1.
  EXPECT_EQ(nodes["inner"], R"([[["pooled", 0, 0, {}]], [["inner", 1, 0, {"training": false}]]])");
  EXPECT_EQ(nodes["sum"], R"([[["inner", 1, 0, {}], ["inner", 2, 0, {}]]])");
}

TEST(ModelJson, ComputesTheSameWhenItIsReadBack) {
  Model model = branches();
  const std::string text = model.to_json();
  Model back = model_from_json(text);
  EXPECT_EQ(back.to_json(), text);
  EXPECT_EQ(back.name(), "branches");
  back.set_weights(model.get_weights());
  const Arrays x = {numbers({5, 6, 6, 2}, 0),
                    Array::of<std::int32_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5}, {5, 3})};
  const std::vector<Array> expected = model.predict_outputs(x), got = back.predict_outputs(x);
  ASSERT_EQ(got.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) expect_same_numbers(got[i], expected[i]);
}

TEST(ModelJson, KeepsHowALayerIsToBeCalled) {
  const Tensor x = Input({4}, {.name = "x"});
  const Model model(x, layers::Dropout(0.5, {.name = "always"})(x, {.training = true}));
  Model back = model_from_json(model.to_json());
  const Array y = back.predict(numbers({64, 4}, 1, 5));
  std::int64_t dropped = 0;
  for (std::int64_t i = 0; i < y.elements(); ++i) dropped += y.data<float>()[i] == 0.0f ? 1 : 0;
  EXPECT_GT(dropped, 64);
}

TEST(ModelJson, KeepsTheShapeThatAModelWasBuiltFor) {
  Sequential model({layers::Dense(3, {.name = "dense"})}, {.name = "late"});
  EXPECT_FALSE(model_from_json(model.to_json()).built());
  model.build({Shape{-1, 5}});
  const Model back = model_from_json(model.to_json());
  EXPECT_TRUE(back.built());
  EXPECT_EQ(back.count_params(), 18);
  EXPECT_EQ(back.to_json(), model.to_json());
  // A model as the first layer has no shape of its own.
  Sequential outer({model, layers::Dense(2, {.name = "last"})}, {.name = "outer"});
  outer.build({Shape{-1, 5}});
  EXPECT_EQ(model_from_json(outer.to_json()).count_params(), 18 + 8);
  EXPECT_EQ(model_from_json(outer.to_json()).to_json(), outer.to_json());
}

TEST(ModelJson, TakesAnInnerTensorAsAnInput) {
  const Tensor x = Input({4}, {.name = "x"});
  const Tensor hidden = layers::Dense(3, {.name = "first"})(x);
  const Tensor y = layers::Dense(2, {.name = "second"})(hidden);
  Model half(hidden, y, {.name = "half"});
  Model back = model_from_json(half.to_json());
  back.set_weights(half.get_weights());
  expect_same_numbers(back.predict(numbers({2, 3}, 0)), half.predict(numbers({2, 3}, 0)));
}

TEST(ModelJson, KeepsWhatIsFrozenInsideAModel) {
  const Sequential inner({layers::Dense(2, {.name = "a"}), layers::Dense(2, {.name = "b"})}, {.name = "inner"});
  const Tensor x = Input({2}, {.name = "x"});
  const Model model(x, inner(x));
  inner.set_trainable(false);
  EXPECT_EQ(model_from_json(model.to_json()).trainable_weights().size(), 0u);
  inner.layers()[1].set_trainable(true);
  EXPECT_EQ(model_from_json(model.to_json()).trainable_weights().size(), model.trainable_weights().size());
}

TEST(ModelJson, LeavesTheNamesOfItsLayersToThem) {
  const Model model = model_from_json(
      R"({"class_name": "Sequential", "config": {"name": "m", "layers": [{"class_name": "LeakyReLU", "config": {"name": "leaky_re_lu_7"}}]}})");
  for (int i = 0; i < 12; ++i) EXPECT_NE(layers::LeakyReLU().name(), "leaky_re_lu_7");
  EXPECT_EQ(model.layers()[0].name(), "leaky_re_lu_7");
}

TEST(ModelJson, OfTensorFlowJsComputesWhatItComputesThere) {
  const std::string text = text_of_file("tfjs_functional.json");
  const Json json = Json::parse(text, "it");
  Model model = model_from_json(text);
  EXPECT_EQ(model.count_params(), json.find("params")->integer("it"));
  for (const Json& weight : json.find("weights")->list("it")) {
    const std::string& name = weight.string("it");
    model.set_weight(name, numbers(model.get_weight(name).shape(), static_cast<double>(name.size()),
                                   name.ends_with("variance") ? 1 : 0));
  }
  EXPECT_EQ(json.find("weights")->list("it").size(), model.weights().size());
  const std::vector<Array> got = model.predict_outputs({numbers({2, 16, 16, 3}, 0), numbers({2, 4}, 1)});
  const Json::List& expected = json.find("expected")->list("it");
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Json::List& values = expected[i].list("it");
    ASSERT_EQ(got[i].elements(), static_cast<std::int64_t>(values.size()));
    for (std::size_t j = 0; j < values.size(); ++j)
      EXPECT_NEAR(got[i].data<float>()[j], values[j].number("it"), 1e-5) << i << " " << j;
  }
}

TEST(ModelJson, OfTensorFlowJsTrains) {
  const std::string text = text_of_file("tfjs_sequential.json");
  Model model = model_from_json(text);
  EXPECT_EQ(model.count_params(), Json::parse(text, "it").find("params")->integer("it"));
  // As the file model.json of TensorFlow.js has it.
  EXPECT_EQ(model_from_json(R"({"format": "layers-model", "modelTopology": {"model_config": )" + text + "}}").to_json(),
            model.to_json());
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.05}), .loss = "sparse_categorical_crossentropy"});
  const Array x = numbers({32, 28, 28, 1}, 0, 0.5);
  Array y(DType::int32, {32});
  for (std::int32_t i = 0; i < 32; ++i) y.mutable_data<std::int32_t>()[i] = i % 10;
  const double before = model.train_on_batch(x, y)["loss"];
  double after = before;
  for (int i = 0; i < 20; ++i) after = model.train_on_batch(x, y)["loss"];
  EXPECT_LT(after, before);
}

TEST(ModelJson, MayBeKeras3s) {
  const std::string policy =
      R"("dtype": {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": null})";
  const auto tensor = [](const std::string& name) {
    return R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 4], "dtype": "float32", "keras_history": [")" +
           name + R"(", 0, 0]}})";
  };
  const Model model = model_from_json(
      R"({"module": "keras.src.models.functional", "class_name": "Functional", "config": {"name": "m", "trainable": true, )"
      R"("layers": [{"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [null, 4], )"
      R"("dtype": "float32", "sparse": false, "ragged": false, "name": "x"}, "registered_name": null, "name": "x", )"
      R"("inbound_nodes": []}, {"module": "keras.layers", "class_name": "Dense", "config": {"name": "d", )"
      R"("trainable": true, "units": 4, "activation": "relu", "kernel_initializer": {"module": "keras.initializers", )"
      R"("class_name": "GlorotUniform", "config": {"seed": null}, "registered_name": null}, "quantization_config": null, )" +
      policy +
      R"(}, "registered_name": null, "build_config": {"input_shape": [null, 4]}, "name": "d", )"
      R"("inbound_nodes": [{"args": [)" +
      tensor("x") +
      R"(], "kwargs": {"training": false}}]}, )"
      R"({"module": "keras.layers", "class_name": "Add", "config": {"name": "a", "trainable": true, )" +
      policy + R"(}, "name": "a", "inbound_nodes": [{"args": [[)" + tensor("x") + ", " + tensor("d") +
      R"(]], "kwargs": {}}]}], "input_layers": [["x", 0, 0]], "output_layers": ["a", 0, 0]}})");
  EXPECT_EQ(model.count_params(), 20);
  EXPECT_EQ(model.layers().size(), 2u);
}

}  // namespace
