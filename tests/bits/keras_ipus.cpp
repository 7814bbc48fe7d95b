// SPDX-License-Identifier: Apache-2.0
// Keras models on virtual IPUs: replicas, accumulated gradients and pipelines.
#include "keras.h"

namespace bits {

namespace {

// Which model to make for that many stages.
using MakeModel = std::function<keras::Model(int stages)>;

// Calls the function in the stage of the group, of three groups.
Tensor in_stage(int group, int stages, const std::function<Tensor()>& call) {
  if (stages == 1) return call();
  const ipu::keras::PipelineStage stage(group * stages / 3);
  return call();
}

// Three groups of layers: a convolution, a hidden layer with something in front of it, and the output.
keras::Model staged_images(int stages, const std::vector<keras::Layer>& middle,
                           const keras::Regularizer& regularizer = {}) {
  const Tensor input = keras::Input({8, 8, 1});
  Tensor x = in_stage(0, stages, [&] {
    return layers::MaxPooling2D()(
        layers::Conv2D(4, 3, {.activation = "relu", .kernel_regularizer = regularizer, .name = "image"})(input));
  });
  x = in_stage(1, stages, [&] {
    for (const keras::Layer& layer : middle) x = layer(x);
    return layers::Dense(
        8, {.activation = "tanh", .kernel_regularizer = regularizer, .name = "hidden"})(layers::Flatten()(x));
  });
  x = in_stage(2, stages, [&] { return layers::Dense(classes, {.activation = "softmax", .name = "kind"})(x); });
  return {input, x};
}

keras::Model staged_plain(int stages) { return staged_images(stages, {}); }

}  // namespace

keras::Model staged_dropout(int stages) { return staged_images(stages, {layers::Dropout(0.3)}); }

void divide(keras::Model& model, const Division& division) {
  if (division.stages > 1)
    model.set_pipelining_options({.gradient_accumulation_steps_per_replica = division.accumulation,
                                  .pipeline_schedule = division.schedule,
                                  .device_mapping = division.device_mapping,
                                  .recomputation = division.recomputation});
  else if (division.accumulation > 1)
    model.set_gradient_accumulation_options({.gradient_accumulation_steps_per_replica = division.accumulation});
}

keras::CompileOptions compile_options(const Division& division) {
  return completed(keras::CompileOptions{.optimizer = division.optimizer(),
                                         .steps_per_execution = division.steps_per_execution,
                                         .precision = division.precision,
                                         .reduction = division.reduction});
}

namespace {

keras::Model staged_batch_norm(int stages) {
  return staged_images(stages, {layers::BatchNormalization({.momentum = 0.7})});
}
keras::Model staged_regularized(int stages) { return staged_images(stages, {}, keras::regularizers::L2(0.02)); }

// The layers of a Sequential model, assigned to two stages at most.
keras::Model staged_wide(int stages) {
  keras::Sequential model = wide();
  if (stages > 1) model.set_pipeline_stage_assignment({0, 0, 1, 1, 1, 1});
  return model;
}

// The first layer is called twice, and each of the last two groups gives an output.
keras::Model staged_shared(int stages) {
  const Tensor input = keras::Input({10});
  const layers::Dense shared(10, {.activation = "tanh"});
  Tensor x = in_stage(0, stages, [&] { return shared(shared(input)); });
  const Tensor place = in_stage(1, stages, [&] { return layers::Dense(2, {.name = "place"})(x); });
  x = in_stage(1, stages, [&] { return layers::Dense(10, {.activation = "relu"})(x); });
  const Tensor kind =
      in_stage(2, stages, [&] { return layers::Dense(classes, {.activation = "softmax", .name = "kind"})(x); });
  return {{input}, {kind, place}};
}

// The output of the first group is used by the last one, too.
keras::Model staged_skip(int stages) {
  const Tensor input = keras::Input({8, 8, 1});
  const Tensor first = in_stage(0, stages, [&] {
    return layers::Dropout(0.2)(layers::Dense(8, {.activation = "relu"})(layers::Flatten()(input)));
  });
  const Tensor second = in_stage(1, stages, [&] { return layers::Dense(8, {.activation = "relu"})(first); });
  const Tensor last = in_stage(2, stages, [&] {
    return layers::Dense(classes, {.activation = "softmax"})(layers::Add()({first, second}));
  });
  return {input, last};
}

// Calls the function in the scope of that many IPUs.
Hash on_ipus(int ipus, const std::function<Hash()>& call) {
  configure(ipus, 1);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  return call();
}

Hash fit_divided(const MakeModel& make, const Division& division) {
  configure(division.ipus, division.tiles);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  keras::Model model = make(division.stages);
  divide(model, division);
  keras::FitOptions options = division.fit;
  options.batch_size = division.batch_size;
  return fit(model, images(division.samples), compile_options(division), options);
}

Run divided(const std::string& name, const MakeModel& make, const Division& division) {
  return {name, [make, division] { return fit_divided(make, division); }};
}

keras::Optimizer momentum() { return optimizers::SGD({.learning_rate = 0.02, .momentum = 0.9}); }

Runs replica_runs() {
  return {
      divided("ipu_one", staged_dropout, {.ipus = 1}),
      divided("ipu_one_two_tiles", staged_dropout, {.ipus = 1, .tiles = 2}),
      divided("ipu_one_all_tiles", staged_dropout, {.ipus = 1, .tiles = 0}),
      divided("ipu_replicas_2_mean", staged_plain, {.ipus = 2}),
      divided("ipu_replicas_2_sum", staged_plain,
              {.ipus = 2, .reduction = GradientReduction::Sum, .optimizer = momentum}),
      divided("ipu_replicas_3_mean", staged_plain, {.ipus = 3, .samples = 120, .steps_per_execution = 5}),
      divided("ipu_replicas_3_sum_partial", staged_dropout,
              {.ipus = 3, .samples = 131, .reduction = GradientReduction::Sum, .optimizer = momentum}),
      divided("ipu_replicas_2_partial", staged_plain, {.ipus = 2, .samples = 133}),
      divided("ipu_replicas_2_one_step", staged_plain, {.ipus = 2, .samples = 133, .steps_per_execution = 2}),
      divided("ipu_replicas_2_tiles", staged_plain, {.ipus = 2, .tiles = 2}),
      divided("ipu_replicas_dropout", staged_dropout, {.ipus = 2}),
      divided("ipu_replicas_batch_norm", staged_batch_norm, {.ipus = 2}),
      divided("ipu_replicas_batch_norm_sum_partial", staged_batch_norm,
              {.ipus = 3, .samples = 101, .reduction = GradientReduction::Sum}),
      divided("ipu_replicas_regularized", staged_regularized, {.ipus = 2}),
      divided("ipu_replicas_sum_regularized", staged_regularized, {.ipus = 2, .reduction = GradientReduction::Sum}),
      divided("ipu_replicas_sample_weight", staged_plain,
              {.ipus = 2, .fit = {.sample_weight = maximum(noise_array({128}, 900) + 0.5, 0.0)}}),
      divided("ipu_replicas_validation", staged_dropout, {.ipus = 2, .fit = {.validation_split = 0.2}}),
      divided("ipu_replicas_global_clipnorm", staged_plain,
              {.ipus = 2, .optimizer = [] { return optimizers::SGD({.learning_rate = 0.2, .global_clipnorm = 0.1}); }}),
      divided("ipu_replicas_bfloat16", staged_wide, {.ipus = 2, .batch_size = 32, .precision = "mixed_bfloat16"}),
      divided("ipu_replicas_wide", staged_wide, {.ipus = 2, .batch_size = 32}),
      divided("ipu_accumulation_mean", staged_dropout, {.ipus = 1, .accumulation = 4}),
      divided("ipu_accumulation_sum", staged_plain,
              {.ipus = 1, .accumulation = 4, .reduction = GradientReduction::Sum, .optimizer = momentum}),
      divided("ipu_accumulation_partial", staged_batch_norm, {.ipus = 1, .accumulation = 4, .samples = 107}),
      divided("ipu_accumulation_replicas", staged_dropout, {.ipus = 2, .accumulation = 4, .samples = 150}),
      divided("ipu_accumulation_regularized", staged_regularized, {.ipus = 1, .accumulation = 4}),
  };
}

Runs other_ipu_runs() {
  constexpr ipu::keras::PipeliningOptions four{.gradient_accumulation_steps_per_replica = 4};
  const auto on = [](const std::string& name, int ipus, const std::function<Hash()>& call) {
    return Run{name, [=] { return on_ipus(ipus, call); }};
  };
  return {
      on("ipu_one_train_on_batch", 1, [] { return train_on_batches(perceptron()); }),
      on("ipu_replicas_train_on_batch", 2, [] { return train_on_batches(perceptron()); }),
      on("ipu_replicas_two_outputs", 2, [] { return fit_two_outputs(two_outputs(), {.batch_size = 10}); }),
      on("ipu_replicas_dataset", 2, [] { return fit_dataset(false); }),
      on("ipu_replicas_dataset_goes_on", 3, [] { return fit_dataset(true); }),
      on("ipu_replicas_class_weight", 2,
         [] {
           return fit(perceptron(), vectors(), {}, {.batch_size = 16, .class_weight = {{0, 2.0}, {2, 0.3}}});
         }),
      on("pipeline_two_outputs_shared_layer", 3,
         [=] {
           keras::Model model = staged_shared(3);
           model.set_pipelining_options(four);
           return fit_two_outputs(model, {.batch_size = 5});
         }),
      on("pipeline_split_into_stages", 3,
         [=] {
           keras::Model model = convolutional();
           model.compile(completed(keras::CompileOptions{}));
           model.split_into_stages(3, 8);
           model.set_pipelining_options(four);
           return fit(model, images(), {.optimizer = "adam", .steps_per_execution = 4}, {.batch_size = 8});
         }),
      on("pipeline_dataset", 2,
         [=] {
           keras::Sequential model = perceptron();
           model.set_pipeline_stage_assignment({0, 1, 1});
           model.set_pipelining_options(four);
           return fit_dataset(false, model, 4);
         }),
  };
}

Runs pipeline_runs() {
  constexpr auto interleaved = PipelineSchedule::Interleaved, sequential = PipelineSchedule::Sequential;
  return {
      divided("pipeline_2_grouped", staged_plain, {.stages = 2, .accumulation = 4}),
      divided("pipeline_2_interleaved", staged_plain, {.stages = 2, .accumulation = 4, .schedule = interleaved}),
      divided("pipeline_2_sequential", staged_plain, {.stages = 2, .accumulation = 4, .schedule = sequential}),
      divided("pipeline_3_grouped", staged_dropout, {.ipus = 3, .stages = 3, .accumulation = 4}),
      divided("pipeline_3_interleaved", staged_dropout,
              {.ipus = 3, .stages = 3, .accumulation = 8, .schedule = interleaved}),
      divided("pipeline_3_sequential", staged_dropout,
              {.ipus = 3, .stages = 3, .accumulation = 4, .schedule = sequential}),
      divided("pipeline_sum", staged_plain,
              {.stages = 2, .accumulation = 4, .reduction = GradientReduction::Sum, .optimizer = momentum}),
      divided("pipeline_partial", staged_dropout, {.stages = 2, .accumulation = 4, .samples = 109}),
      divided("pipeline_recomputation", staged_dropout,
              {.ipus = 3, .stages = 3, .accumulation = 4, .recomputation = true}),
      divided("pipeline_recomputation_interleaved", staged_batch_norm,
              {.stages = 2, .accumulation = 4, .schedule = interleaved, .recomputation = true}),
      divided("pipeline_batch_norm", staged_batch_norm, {.ipus = 3, .stages = 3, .accumulation = 4}),
      divided("pipeline_skip", staged_skip, {.ipus = 3, .stages = 3, .accumulation = 4}),
      divided("pipeline_skip_recomputation", staged_skip,
              {.ipus = 3, .stages = 3, .accumulation = 4, .schedule = interleaved, .recomputation = true}),
      divided("pipeline_mapped", staged_dropout,
              {.ipus = 2, .stages = 3, .accumulation = 4, .device_mapping = {0, 1, 0}}),
      divided("pipeline_all_on_one", staged_skip,
              {.ipus = 1, .stages = 3, .accumulation = 4, .schedule = interleaved, .device_mapping = {0, 0, 0}}),
      divided("pipeline_replicas", staged_dropout, {.ipus = 4, .stages = 2, .accumulation = 2, .samples = 150}),
      divided("pipeline_replicas_sum", staged_batch_norm,
              {.ipus = 4,
               .stages = 2,
               .accumulation = 2,
               .reduction = GradientReduction::Sum,
               .schedule = interleaved,
               .optimizer = momentum}),
      divided("pipeline_replicas_skip", staged_skip, {.ipus = 6, .stages = 3, .accumulation = 2, .samples = 150}),
      divided("pipeline_tiles", staged_plain, {.stages = 2, .accumulation = 4, .tiles = 2}),
      divided("pipeline_clipvalue", staged_plain,
              {.stages = 2,
               .accumulation = 4,
               .optimizer = [] { return optimizers::Adam({.learning_rate = 0.01, .clipvalue = 0.01}); }}),
      divided("pipeline_clipnorm", staged_plain,
              {.stages = 2,
               .accumulation = 4,
               .optimizer = [] { return optimizers::SGD({.learning_rate = 0.2, .clipnorm = 0.1}); }}),
      divided(
          "pipeline_warm_up", staged_plain,
          {.stages = 2,
           .accumulation = 4,
           .optimizer = [] { return optimizers::Adam({.learning_rate = optimizers::schedules::WarmUp(3, 0.02)}); }}),
      divided("pipeline_sample_weight", staged_plain,
              {.stages = 2, .accumulation = 4, .fit = {.sample_weight = maximum(noise_array({128}, 900) + 0.5, 0.0)}}),
      divided("pipeline_bfloat16", staged_wide,
              {.stages = 2, .accumulation = 4, .batch_size = 32, .precision = "mixed_bfloat16"}),
      divided("pipeline_wide", staged_wide, {.stages = 2, .accumulation = 4, .batch_size = 32}),
      divided("pipeline_regularized", staged_regularized, {.stages = 2, .accumulation = 4}),
      divided("pipeline_sum_regularized", staged_regularized,
              {.ipus = 3, .stages = 3, .accumulation = 4, .reduction = GradientReduction::Sum}),
  };
}

}  // namespace

Runs keras_ipu_runs() { return joined({replica_runs(), other_ipu_runs(), pipeline_runs()}); }

}  // namespace bits
