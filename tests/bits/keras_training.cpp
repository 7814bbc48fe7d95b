// SPDX-License-Identifier: Apache-2.0
// Models that several runs train, and ways to train one and see its bits.
#include <algorithm>
#include <map>
#include <optional>

#include "keras.h"

namespace bits {

keras::Sequential perceptron() {
  return {layers::Dense(12, {.activation = "relu", .input_shape = Shape{10}}), layers::Dense(8, {.activation = "tanh"}),
          layers::Dense(classes, {.activation = "softmax"})};
}

keras::Sequential convolutional() {
  return {keras::Input({8, 8, 1}), layers::Conv2D(6, 3, {.activation = "relu"}), layers::MaxPooling2D(),
          layers::Flatten(), layers::Dense(classes, {.activation = "softmax"})};
}

keras::Sequential wide() {
  return {keras::Input({8, 8, 1}),
          layers::Conv2D(32, 3, {.activation = "relu"}),
          layers::Conv2D(32, 3, {.activation = "relu"}),
          layers::MaxPooling2D(),
          layers::Flatten(),
          layers::Dense(64, {.activation = "relu"}),
          layers::Dense(classes, {.activation = "softmax"})};
}

keras::Model two_outputs() {
  const Tensor input = keras::Input({10});
  const Tensor hidden = layers::Dense(8, {.activation = "relu"})(input);
  return {{input},
          {layers::Dense(classes, {.activation = "softmax", .name = "kind"})(hidden),
           layers::Dense(2, {.name = "place"})(hidden)}};
}

Hash model_bits(keras::Model& model, const keras::History& history, const Arrays& x, const Arrays& y,
                std::int64_t batch_size) {
  Hash hash;
  hash.add(model.get_weights()).add(static_cast<double>(model.optimizer().iterations())).add(history);
  hash.add(model.evaluate(x, y, {.batch_size = batch_size, .verbose = 0}));
  return hash.add(model.predict_outputs(x, {.batch_size = batch_size}));
}

keras::CompileOptions completed(keras::CompileOptions options) {
  if (options.loss.list().empty() && options.loss.by_name().empty()) options.loss = "sparse_categorical_crossentropy";
  if (options.metrics.list().empty() && options.metrics.by_name().empty()) options.metrics = {"accuracy"};
  return options;
}

keras::FitOptions completed(keras::FitOptions options) {
  if (options.epochs == 1) options.epochs = 2;
  options.verbose = 0;
  return options;
}

Hash fit(keras::Model model, const Data& data, const keras::CompileOptions& compile, const keras::FitOptions& options) {
  model.compile(completed(compile));
  const keras::History history = model.fit(data.x, data.y, completed(options));
  return model_bits(model, history, data.x, data.y, options.batch_size);
}

Hash fit_dataset(bool resumes_in_the_next_epoch, keras::Model model, std::int64_t steps) {
  model.compile(completed(keras::CompileOptions{.optimizer = "adam", .steps_per_execution = steps}));
  const Data data = vectors();
  Dataset dataset = Dataset::from_tensor_slices({data.x, data.y}).shuffle(50).batch(16).prefetch(2);
  if (resumes_in_the_next_epoch) dataset = dataset.repeat();
  const Dataset validation = Dataset::from_tensor_slices({data.x, data.y}).skip(30).batch(9);
  const keras::History history = model.fit(
      dataset,
      {.epochs = 3, .steps_per_epoch = resumes_in_the_next_epoch ? 5 : 0, .verbose = 0, .validation_data = validation});
  return model_bits(model, history, data.x, data.y);
}

Hash fit_two_outputs(keras::Model model, const keras::FitOptions& options) {
  using OutputMetrics = std::map<std::string, std::vector<keras::Metric>>;
  const Data data = vectors();
  const Arrays targets = {data.y, noise_array({100, 2}, 5000)};
  model.compile({.optimizer = "adam",
                 .loss = {keras::Loss("sparse_categorical_crossentropy"), keras::Loss("mse")},
                 .metrics = OutputMetrics{{"kind", {"accuracy"}}, {"place", {"mae"}}},
                 .loss_weights = {1.0, 0.25},
                 .reduction = GradientReduction::Mean});
  const keras::History history = model.fit(data.x, targets, completed(options));
  return model_bits(model, history, data.x, targets);
}

Hash train_on_batches(keras::Model model) {
  model.compile(completed(keras::CompileOptions{.optimizer = "adam"}));
  const Data data = vectors();
  Hash hash;
  for (int round = 0; round < 2; ++round)
    for (const std::int64_t first : {0, 32, 64}) {
      const Data batch = data.part(first, std::min<std::int64_t>(first + 32, 90));
      std::optional<Array> weight;
      if (round == 1) weight = abs(noise_array({batch.x.shape()[0]}, 700));
      hash.add(model.train_on_batch(batch.x, batch.y, {.sample_weight = weight}));
    }
  return hash.add(model.get_weights());
}

}  // namespace bits
