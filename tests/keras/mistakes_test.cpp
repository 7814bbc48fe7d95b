// SPDX-License-Identifier: Apache-2.0
// Mistakes that cost nothing: what is wrong is refused before the first step, in words that say how to put it right.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <cmath>
#include <limits>

#include "tests/message.h"
#include "model/batch_text.h"

using namespace pando;
using namespace pando::keras;

namespace {

Sequential classifier(const std::string& loss = "sparse_categorical_crossentropy", std::int64_t classes = 3) {
  Sequential model({Input({4}), layers::Dense(classes, {.activation = "softmax"})});
  model.compile({.optimizer = "sgd", .loss = loss});
  return model;
}

TEST(Mistakes, ShapesHaveNoneForTheBatch) {
  const Tensor four = Input({4}), five = Input({5});
  const layers::Add sum({.name = "sum"});
  EXPECT_EQ(
      message([&] {
        sum(std::vector{four, five});
      }),
      "layer 'sum' (Add) cannot take (None, 4) and (None, 5): add 'sum': the shapes (None, 4) and (None, 5) do not "
      "broadcast: sizes 4 and 5 differ and neither is 1; reshape or broadcast one of them");
  const layers::Conv2D wide(3, 5, {.name = "wide"});
  EXPECT_EQ(message([&] {
              wide(Input({4, 4, 1}));
            }),
            "layer 'wide' (Conv2D) cannot take (None, 4, 4, 1): conv2d 'wide': a window of 5x5 with dilations 1x1 does "
            "not fit the input (None, 4, 4, 1) with padding [0, 0, 0, 0]; use a smaller window, a larger input or more "
            "padding");
  EXPECT_EQ(
      message([&] { four + five; }),
      "add: the shapes (None, 4) and (None, 5) do not broadcast: sizes 4 and 5 differ and neither is 1; reshape or "
      "broadcast one of them");
}

TEST(Mistakes, TwoTrialsTellTheBatchFromOtherNumbers) {
  EXPECT_EQ(without_batch_sizes("[3, 3] and [3]", 3, "[5, 3] and [5]", 5), "(None, 3) and (None,)");
  EXPECT_EQ(without_batch_sizes("12 elements of 3", 3, "20 elements of 3", 5), "None * 4 elements of 3");
  EXPECT_EQ(without_batch_sizes("[4, 3]", 3, "[4, 5]", 5), "[4, None]");
  EXPECT_EQ(without_batch_sizes("7 of 3", 3, "8 of 5", 5), "7 of 3");
  EXPECT_EQ(without_batch_sizes("3 axes", 3, "", 5), "3 axes");
}

TEST(Mistakes, AModelWithoutLayersHasOneName) {
  Sequential model({}, {.name = "empty"});
  EXPECT_EQ(message([&] { model.predict(zeros({2, 4})); }), "layer 'empty' (Sequential): it has no layers; add() some");
}

TEST(Mistakes, LearningRatesAreNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(message([&] { optimizers::SGD({.learning_rate = nan}); }),
            "sgd: the learning rate is nan but must be a finite number, 0 or more");
  EXPECT_EQ(message([&] { optimizers::Adam({.learning_rate = INFINITY}); }),
            "adam: the learning rate is inf but must be a finite number, 0 or more");
  EXPECT_EQ(message([&] { optimizers::SGD({.learning_rate = -1.0}); }),
            "sgd: the learning rate is -1 but must not be negative");
  EXPECT_EQ(message([&] { classifier().optimizer().set_learning_rate(nan); }),
            "sgd: the learning rate is nan but must be a finite number, 0 or more");
}

TEST(Mistakes, CountTheArraysOfInputsAndOutputs) {
  Sequential model = classifier();
  const Array x = zeros({6, 4}), y = zeros({6});
  EXPECT_EQ(message([&] { model.fit(x, {}); }),
            "fit: the model has 1 output but y has no arrays; give one array of targets for each output");
  EXPECT_EQ(message([&] {
              model.fit({x, x}, y);
            }),
            "fit: the model has 1 input but x has 2 arrays; give one array of samples for each input");
  EXPECT_EQ(message([&] { model.predict(Arrays()); }),
            "predict: the model has 1 input but x has no arrays; give one array of samples for each input");
}

TEST(Mistakes, ALayerIsNamedByItsBeginning) {
  Sequential model(
      {Input({4}, {.name = "input"}), layers::Dense(3, {.name = "dense_83"}), layers::Dense(3, {.name = "last"})});
  EXPECT_EQ(message([&] { model.get_layer("dens"); }), "unknown layer 'dens'; did you mean 'dense_83'?");
  EXPECT_EQ(message([&] { model.get_layer("lats"); }), "unknown layer 'lats'; did you mean 'last'?");
  EXPECT_EQ(message([&] { model.get_layer("conv"); }), "unknown layer 'conv'; known are: input, dense_83, last");
}

TEST(Mistakes, AClassThatIsNotThereHasNoWeight) {
  const Array x = zeros({6, 4}), y = zeros({6});
  const auto fit = [&](Sequential model, const Array& targets, const std::map<std::int64_t, double>& weights) {
    return message([&] { model.fit(x, targets, {.verbose = 0, .class_weight = weights}); });
  };
  EXPECT_EQ(fit(classifier(), y, {{0, 1.0}, {3, 2.0}}),
            "fit: class_weight has a weight for class 3 but the model's output has 3 classes, 0 to 2");
  EXPECT_EQ(fit(classifier("categorical_crossentropy"), zeros({6, 3}), {{7, 2.0}}),
            "fit: class_weight has a weight for class 7 but the model's output has 3 classes, 0 to 2");
  EXPECT_EQ(fit(classifier("binary_crossentropy", 1), y, {{2, 2.0}}),
            "fit: class_weight has a weight for class 2 but the model's output has 2 classes, 0 to 1");
  EXPECT_EQ(fit(classifier("mse", 1), y, {{-1, 2.0}}),
            "fit: class_weight has a weight for class -1 but classes are numbered from 0");
  EXPECT_EQ(fit(classifier(), y, {{2, 2.0}}), "(nothing was thrown)");
  const Tensor input = Input({4});
  Model two(std::vector{input}, {layers::Dense(3)(input), layers::Dense(3)(input)});
  two.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
  EXPECT_EQ(message([&] {
              two.fit(x, {y, y}, {.class_weight = {{0, 2.0}}});
            }),
            "fit: class_weight is for models of one output but this one has 2; use sample_weight for its samples");
}

TEST(Mistakes, LabelsAreWholeNumbers) {
  Sequential model = classifier();
  const Array x = zeros({2, 4}), y = Array::of<float>({1, 1.5}, {2});
  const std::string refusal =
      "a label is 1.5 but labels are the numbers of classes, whole numbers from 0 to 2; use a loss such as mse for "
      "targets that are not";
  EXPECT_EQ(message([&] { model.fit(x, y, {.verbose = 0}); }), "fit: " + refusal);
  EXPECT_EQ(message([&] { model.evaluate(x, y, {.verbose = 0}); }), "evaluate: " + refusal);
  EXPECT_EQ(message([&] {
              model.fit(data::Dataset::from_tensor_slices({x, y}).batch(2), {.verbose = 0});
            }),
            "fit: " + refusal);
  EXPECT_EQ(message([&] { model.fit(x, Array::of<float>({1, 2}, {2}), {.verbose = 0}); }), "(nothing was thrown)");
}

TEST(Mistakes, AModelThatIsNotBuiltHasNoWeightsToSave) {
  Sequential model({layers::Dense(3)}, {.name = "later"});
  const std::string refusal =
      ": the model 'later' is not built and has no weights yet; begin it with an Input, give its first layer an "
      "input_shape, or fit it first";
  const std::string path = testing::TempDir() + "not_built";
  EXPECT_EQ(message([&] { model.get_weights(); }), "get_weights" + refusal);
  EXPECT_EQ(message([&] { model.save_weights(path + ".npz"); }), "save_weights" + refusal);
  EXPECT_EQ(message([&] { model.load_weights(path + ".npz"); }), "load_weights" + refusal);
  EXPECT_EQ(message([&] { model.save(path); }), "save" + refusal);
  EXPECT_EQ(message([&] { model.summary_text(); }), "summary" + refusal);
  EXPECT_EQ(message([&] { model.output_shapes(layers::Dense(3)); }), "output_shapes" + refusal);
  model.predict(zeros({2, 4}));
  EXPECT_EQ(model.get_weights().size(), 2u);
}

TEST(Sequential, BeginsWithAnInput) {
  const Tensor input = Input({4}, {.name = "features"});
  const Sequential model({input, layers::Dense(3), layers::Dense(2)});
  EXPECT_TRUE(model.built());
  EXPECT_EQ(model.layers()[0].name(), "features");
  EXPECT_EQ(model.get_weights()[0].shape(), Shape({4, 3}));
  const Sequential same({layers::InputLayer({4}), layers::Dense(3)}), alone({Input({4})});
  EXPECT_TRUE(same.built());
  Sequential added;
  added.add(Input({4}, {.dtype = DType::int32}));
  added.add(layers::Embedding(10, 2));
  EXPECT_EQ(added.predict(zeros({3, 4}, DType::int32)).shape(), Shape({3, 4, 2}));
  const Model read = model_from_json(model.to_json());
  EXPECT_EQ(read.to_json(), model.to_json());
  EXPECT_EQ(message([&] {
              Sequential({layers::Dense(3, {.name = "first"})(input), layers::Dense(2)});
            }),
            "Sequential: an output of 'first' is not an Input; give the layer that makes it");
}

}  // namespace
