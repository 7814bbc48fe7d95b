// SPDX-License-Identifier: Apache-2.0
// Small models and data for tests that divide a training over IPUs, and the training itself.
#pragma once
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <cmath>

namespace pando::keras {

using ipu::GradientReduction;
using ipu::pipelining_ops::PipelineSchedule;

struct Data {
  Array x, y;
};

// Small images of three kinds.
inline Data images(std::int64_t count) {
  Data data{Array(DType::float32, {count, 6, 6, 1}), Array(DType::int32, {count})};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto kind = static_cast<std::int32_t>(i * 7 % 3);
    data.y.mutable_data<std::int32_t>()[i] = kind;
    for (std::int64_t j = 0; j < 36; ++j)
      data.x.mutable_data<float>()[i * 36 + j] =
          static_cast<float>(std::sin(static_cast<double>(i * 36 + j) * 1.3)) + (j % 3 == kind ? 1.0f : 0.0f);
  }
  return data;
}

struct Setup {
  std::string name;
  int ipus = 1;
  int stages = 1;
  std::int64_t batch_size = 32;
  std::int64_t accumulation = 1;
  PipelineSchedule schedule = PipelineSchedule::Grouped;
  bool recomputation = false;
  int tiles = 1;
  GradientReduction reduction = GradientReduction::Mean;

  std::int64_t micro_batches() const { return ipus / stages * accumulation; }
};

inline void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.name; }

inline void configure(int ipus, int tiles) {
  ipu::reset_ipu_configuration();
  ipu::IPUConfig config;
  config.auto_select_ipus = ipus;
  config.tiles_per_ipu = tiles;
  config.configure_ipu_system();
}

// Layers in four groups, so that there can be 1, 2 or 4 stages.
inline Model make_model(const std::string& kind, int stages, double penalty = 0.0) {
  set_random_seed(9);
  const auto stage_of = [&](int group) { return group * stages / 4; };
  const auto in_stage = [&](int group, const std::function<Tensor()>& call) {
    if (stages == 1) return call();
    const ipu::keras::PipelineStage stage(stage_of(group));
    return call();
  };
  const Tensor input = Input({6, 6, 1});
  Tensor x;
  if (kind == "cnn") {
    x = in_stage(0, [&] {
      return layers::Conv2D(4, 3, {.activation = "relu", .kernel_regularizer = regularizers::L2(penalty)})(input);
    });
    x = in_stage(1, [&] { return layers::MaxPooling2D()(x); });
    x = in_stage(2, [&] { return layers::Dropout(0.3)(layers::Flatten()(x)); });
  } else {
    x = in_stage(0, [&] {
      return layers::Dense(
          12, {.activation = "relu", .kernel_regularizer = regularizers::L2(penalty)})(layers::Flatten()(input));
    });
    x = in_stage(1, [&] { return layers::Dropout(0.3)(x); });
    x = in_stage(2, [&] { return layers::Dense(8, {.activation = "tanh"})(x); });
  }
  x = in_stage(3, [&] { return layers::Dense(3, {.activation = "softmax"})(x); });
  return Model(input, x);
}

struct Outcome {
  std::vector<Array> weights;
  History history;
  Logs test;
  Array predictions;
};

inline Outcome train(const std::string& kind, const Setup& setup, const Data& data, std::int64_t epochs,
                     const Optimizer& optimizer, double penalty = 0.0) {
  configure(setup.ipus, setup.tiles);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  Model model = make_model(kind, setup.stages, penalty);
  if (setup.stages > 1)
    model.set_pipelining_options({.gradient_accumulation_steps_per_replica = setup.accumulation,
                                  .pipeline_schedule = setup.schedule,
                                  .recomputation = setup.recomputation});
  else if (setup.accumulation > 1)
    model.set_gradient_accumulation_options({.gradient_accumulation_steps_per_replica = setup.accumulation});
  model.compile({.optimizer = optimizer,
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .steps_per_execution = 40,
                 .reduction = setup.reduction});
  const History history =
      model.fit(data.x, data.y, {.batch_size = setup.batch_size, .epochs = epochs, .shuffle = false, .verbose = 0});
  return {model.get_weights(), history, model.evaluate(data.x, data.y, {.batch_size = setup.batch_size, .verbose = 0}),
          model.predict(data.x, {.batch_size = setup.batch_size})};
}

inline double relative_distance(const std::vector<Array>& a, const std::vector<Array>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += sum(square(a[i] - b[i])).item<double>();
    size += sum(square(a[i])).item<double>();
  }
  return std::sqrt(difference / size);
}

}  // namespace pando::keras
