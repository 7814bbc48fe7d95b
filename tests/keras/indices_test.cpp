// SPDX-License-Identifier: Apache-2.0
// Indices that a table has no row for, and targets that are not classes: each call says so and leaves the model as it
// was.
#include "divided_training.h"
#include "tests/message.h"

namespace pando::keras {

namespace {

constexpr const char* seven_is_refused =
    "gather 'words': index 7 is out of range for a table of 5 rows; indices must be 0 to 4";

Array word_pairs(std::initializer_list<std::int32_t> values) {
  return Array::of<std::int32_t>(values, {static_cast<std::int64_t>(values.size()) / 2, 2});
}

struct Reader {
  Model model;
  Array good = word_pairs({0, 1, 2, 3, 4, 0, 1, 2}), bad = word_pairs({0, 1, 2, 3, 4, 0, 1, 7}), y = zeros({4, 1});

  // With `computed`, no index is fed as it is.
  explicit Reader(bool computed = false) : Reader(made(computed)) {}
  explicit Reader(const Model& model) : model(model) {
    this->model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  }
  static Model made(bool computed) {
    const Tensor input = Input({2}, {.dtype = DType::int32});
    const Tensor chosen = computed ? input * 2.0 - input : input;
    return {input, layers::Dense(1)(layers::Flatten()(layers::Embedding(5, 3, {.name = "words"})(chosen)))};
  }

  void expect_to_refuse(const std::string& what, const std::function<void()>& call) {
    const std::vector<Array> before = model.get_weights();
    EXPECT_EQ(message(call), seven_is_refused) << what;
    const std::vector<Array> after = model.get_weights();
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(array_equal(before[i], after[i])) << what;
  }
  void expect_to_work() {
    const std::vector<Array> before = model.get_weights();
    model.fit(good, y + 1.0, {.batch_size = 2, .verbose = 0});
    EXPECT_FALSE(array_equal(model.get_weights()[0], before[0]));
    const Array predicted = model.predict(good, {.batch_size = 2});
    for (std::int64_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isfinite(predicted.data<float>()[i]));
  }
};

// The bad one is in the last batch: those before it change nothing.
TEST(Indices, OutOfRangeAreRefusedByEveryCall) {
  Reader reader;
  Model& model = reader.model;
  reader.expect_to_refuse("fit", [&] { model.fit(reader.bad, reader.y, {.batch_size = 2, .verbose = 0}); });
  reader.expect_to_refuse("validation", [&] {
    model.fit(reader.good, reader.y, {.batch_size = 2, .verbose = 0, .validation_data = {reader.bad, reader.y}});
  });
  reader.expect_to_refuse("evaluate", [&] { model.evaluate(reader.bad, reader.y, {.batch_size = 2, .verbose = 0}); });
  reader.expect_to_refuse("predict", [&] { model.predict(reader.bad, {.batch_size = 2}); });
  reader.expect_to_refuse("train_on_batch", [&] { model.train_on_batch(reader.bad, reader.y); });
  reader.expect_to_work();
}

TEST(Indices, OfEveryTypeAreChecked) {
  Reader reader;
  for (const DType type : {DType::uint8, DType::int64, DType::float32, DType::float64})
    reader.expect_to_refuse(std::string(name(type)), [&] { reader.model.predict(reader.bad.astype(type)); });
  EXPECT_EQ(message([&] {
              reader.model.predict(word_pairs({0, -1}));
            }),
            "gather 'words': index -1 is out of range for a table of 5 rows; indices must be 0 to 4");
  // A model that holds fewer bits than it is given says so first.
  EXPECT_EQ(
      message([&] {
        reader.model.predict(Array::of<std::int64_t>({0, (std::int64_t{1} << 32) + 1}, {1, 2}));
      }),
      "predict: x contains 4294967297 but the model takes it as int32, which has -2147483648 to 2147483647; give the "
      "model an Input of a wider type, such as int64");
  reader.expect_to_work();
}

TEST(Indices, OfADataSetAreCheckedBatchByBatch) {
  Reader reader;
  const auto batches = data::Dataset::from_tensor_slices({reader.bad, reader.y}).batch(2);
  EXPECT_EQ(message([&] { reader.model.fit(batches, {.verbose = 0}); }), seven_is_refused);
  EXPECT_EQ(message([&] { reader.model.evaluate(batches, {.verbose = 0}); }), seven_is_refused);
  reader.expect_to_work();
}

TEST(Indices, AreCheckedForEveryReplica) {
  configure(2, 1);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  Reader reader;
  reader.expect_to_refuse("fit", [&] { reader.model.fit(reader.bad, reader.y, {.batch_size = 2, .verbose = 0}); });
  reader.expect_to_work();
}

// A batch that is not computed to its end changes nothing either; on one device, in a pipeline and with replicas.
TEST(Indices, ThatAStepComputesEndIt) {
  // A GPU knows of them only when the step is over.
  const bool keeps_weights = Device().backend() != "cuda";
  for (const int ipus : {1, 2}) {
    configure(ipus, 3);
    const ipu::IPUStrategy strategy;
    const auto scope = strategy.scope();
    Reader reader(true);
    const std::int64_t batch_size = 4 / ipus;
    const auto fit = [&] { reader.model.fit(reader.bad, reader.y, {.batch_size = batch_size, .verbose = 0}); };
    if (keeps_weights) reader.expect_to_refuse("fit", fit);
    else EXPECT_EQ(message(fit), seven_is_refused);
    reader.expect_to_refuse(
        "evaluate", [&] { reader.model.evaluate(reader.bad, reader.y, {.batch_size = batch_size, .verbose = 0}); });
    reader.expect_to_refuse("predict", [&] { reader.model.predict(reader.bad, {.batch_size = batch_size}); });
    reader.expect_to_work();
  }
}

// The other devices of a pipeline do not wait for the one that stops.
TEST(Indices, InAPipelineEndAllStages) {
  for (const bool computed : {false, true}) {
    configure(2, 1);
    const ipu::IPUStrategy strategy;
    const auto scope = strategy.scope();
    const Tensor input = Input({2}, {.dtype = DType::int32});
    Tensor x;
    {
      const ipu::keras::PipelineStage stage(0);
      x = layers::Embedding(5, 3, {.name = "words"})(computed ? input * 2.0 - input : input);
    }
    const ipu::keras::PipelineStage stage(1);
    Reader reader({input, layers::Dense(1)(layers::Flatten()(x))});
    reader.model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 2});
    const auto fit = [&] { reader.model.fit(reader.bad, reader.y, {.batch_size = 2, .verbose = 0}); };
    if (!computed || Device().backend() != "cuda") reader.expect_to_refuse("fit", fit);
    else EXPECT_EQ(message(fit), seven_is_refused);
    reader.expect_to_work();
  }
}

// Losses of Keras say it of labels in their own words; this is for those of the program.
TEST(Targets, OfALossOfYourOwnThatAreNotClassesAreRefusedByEveryCall) {
  const auto cross_entropy = [](Value prediction, Value target) {
    return ops::sparse_softmax_cross_entropy(prediction,
                                             ops::cast(ops::reshape(target, {prediction.shape()[0]}), DType::int32));
  };
  const Tensor input = Input({2});
  Model model(input, layers::Dense(3)(input));
  model.compile({.optimizer = "sgd", .loss = losses::Loss("own", cross_entropy, losses::Targets::any)});
  const Array x = ones({4, 2}), good = Array::of<std::int32_t>({0, 1, 2, 0}, {4});
  const auto refusal = [](const std::string& target) {
    return "sparse_softmax_cross_entropy 'loss': target " + target + " is not one of 3 classes; targets must be 0 to 2";
  };
  model.fit(x, good, {.verbose = 0});
  const std::vector<Array> before = model.get_weights();
  const Array bad = Array::of<std::int32_t>({0, 1, 2, 3}, {4});
  for (const DType type : {DType::uint8, DType::int32, DType::int64, DType::float32, DType::float64}) {
    const Array typed = bad.astype(type);
    EXPECT_EQ(message([&] { model.fit(x, typed, {.batch_size = 2, .verbose = 0}); }), refusal("3")) << name(type);
    EXPECT_EQ(message([&] { model.evaluate(x, typed, {.batch_size = 2, .verbose = 0}); }), refusal("3"));
    EXPECT_EQ(message([&] { model.train_on_batch(x, typed); }), refusal("3"));
  }
  const Array negative = Array::of<std::int32_t>({0, -1, 2, 0}, {4});
  const auto batches = data::Dataset::from_tensor_slices({x, negative}).batch(4);
  EXPECT_EQ(message([&] { model.fit(batches, {.verbose = 0}); }), refusal("-1"));
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(array_equal(before[i], model.get_weights()[i]));
  model.fit(x, good, {.verbose = 0});
  EXPECT_FALSE(array_equal(before[0], model.get_weights()[0]));
}

}  // namespace

}  // namespace pando::keras
