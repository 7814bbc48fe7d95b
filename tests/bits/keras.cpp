// SPDX-License-Identifier: Apache-2.0
// Keras models on the host: optimizers, layers, and ways to fit.
#include "keras.h"

namespace bits {

namespace {

// A perceptron with something between its layers.
keras::Sequential perceptron_with(const keras::Layer& layer) {
  return {layers::Dense(12, {.activation = "relu", .input_shape = Shape{10}}), layer,
          layers::Dense(classes, {.activation = "softmax"})};
}

// A network of images with something else between input and head.
keras::Sequential images_with(const std::vector<keras::Layer>& middle) {
  keras::Sequential model({keras::Input({8, 8, 1})});
  for (const keras::Layer& layer : middle) model.add(layer);
  model.add(layers::GlobalAveragePooling2D());
  model.add(layers::Dense(classes, {.activation = "softmax"}));
  return model;
}

keras::Sequential regularized() {
  return {layers::Dense(12, {.activation = "relu",
                             .kernel_regularizer = keras::regularizers::L2(0.02),
                             .bias_regularizer = keras::regularizers::L1(0.01),
                             .input_shape = Shape{10}}),
          layers::Dense(classes, {.activation = "softmax", .kernel_regularizer = "l1_l2"})};
}

// A block with a skip connection and two ways that are concatenated.
keras::Model residual() {
  const Tensor input = keras::Input({10});
  const Tensor first = layers::Dense(8, {.activation = "relu"})(input);
  const Tensor second = layers::Dense(8, {.activation = "relu"})(first);
  const Tensor sum = layers::Add()({first, second});
  const Tensor both = layers::Concatenate()({sum, layers::Multiply()({first, second})});
  return {input, layers::Dense(classes, {.activation = "softmax"})(both)};
}

Hash fit_with(const keras::Optimizer& optimizer) { return fit(perceptron(), vectors(), {.optimizer = optimizer}); }

// A layer that is frozen, and thawed when it is compiled again with the same optimizer.
Hash fit_frozen() {
  keras::Sequential model = perceptron();
  const keras::Optimizer adam = optimizers::Adam({.learning_rate = 0.01});
  const Data data = vectors();
  model.layers()[1].set_trainable(false);
  model.compile(completed(keras::CompileOptions{.optimizer = adam}));
  const keras::History frozen = model.fit(data.x, data.y, {.epochs = 2, .verbose = 0});
  model.layers()[1].set_trainable(true);
  model.compile(completed(keras::CompileOptions{.optimizer = adam}));
  const keras::History thawed = model.fit(data.x, data.y, {.epochs = 2, .verbose = 0});
  return model_bits(model, thawed, data.x, data.y).add(frozen);
}

Runs keras_optimizer_runs() {
  namespace schedules = optimizers::schedules;
  return {
      {"keras_sgd", [] { return fit_with(optimizers::SGD({.learning_rate = 0.1})); }},
      {"keras_momentum", [] { return fit_with(optimizers::SGD({.learning_rate = 0.05, .momentum = 0.9})); }},
      {"keras_nesterov",
       [] { return fit_with(optimizers::SGD({.learning_rate = 0.05, .momentum = 0.9, .nesterov = true})); }},
      {"keras_adam", [] { return fit_with(optimizers::Adam({.learning_rate = 0.01})); }},
      {"keras_nadam", [] { return fit_with(optimizers::Nadam({.learning_rate = 0.01})); }},
      {"keras_adamw", [] { return fit_with(optimizers::AdamW({.learning_rate = 0.01, .weight_decay = 0.1})); }},
      {"keras_rmsprop", [] { return fit_with("rmsprop"); }},
      {"keras_rmsprop_centered",
       [] { return fit_with(optimizers::RMSprop({.learning_rate = 0.01, .momentum = 0.5, .centered = true})); }},
      {"keras_adagrad", [] { return fit_with(optimizers::Adagrad({.learning_rate = 0.1})); }},
      {"keras_exponential_decay",
       [] {
         return fit_with(optimizers::SGD({.learning_rate = schedules::ExponentialDecay(
                                              {.initial_learning_rate = 0.2, .decay_steps = 3, .decay_rate = 0.7}),
                                          .momentum = 0.5}));
       }},
      {"keras_warm_up_cosine",
       [] {
         const auto cosine = schedules::CosineDecay({.initial_learning_rate = 0.05, .decay_steps = 6, .alpha = 0.1});
         return fit_with(optimizers::Adam({.learning_rate = schedules::WarmUp(3, cosine)}));
       }},
      {"keras_polynomial_decay",
       [] {
         return fit_with(optimizers::Adagrad({.learning_rate = schedules::PolynomialDecay(
                                                  {.initial_learning_rate = 0.2, .decay_steps = 6, .power = 2.0})}));
       }},
      {"keras_piecewise",
       [] {
         return fit_with(
             optimizers::RMSprop({.learning_rate = schedules::PiecewiseConstantDecay({2, 5}, {0.02, 0.01, 0.005})}));
       }},
      {"keras_clipvalue", [] { return fit_with(optimizers::SGD({.learning_rate = 0.3, .clipvalue = 0.01})); }},
      {"keras_clipnorm", [] { return fit_with(optimizers::Adam({.learning_rate = 0.01, .clipnorm = 0.02})); }},
      {"keras_global_clipnorm",
       [] { return fit_with(optimizers::SGD({.learning_rate = 0.3, .momentum = 0.9, .global_clipnorm = 0.1})); }},
  };
}

Runs keras_layer_runs() {
  return {
      {"keras_dropout", [] { return fit(perceptron_with(layers::Dropout(0.3)), vectors()); }},
      {"keras_batch_norm",
       [] { return fit(perceptron_with(layers::BatchNormalization({.momentum = 0.8})), vectors()); }},
      {"keras_layer_norm", [] { return fit(perceptron_with(layers::LayerNormalization()), vectors()); }},
      {"keras_cnn", [] { return fit(convolutional(), images()); }},
      {"keras_cnn_batch_norm",
       [] {
         return fit(images_with({layers::Conv2D(4, 3, {.padding = "same", .use_bias = false}),
                                 layers::BatchNormalization({.momentum = 0.5}), layers::ReLU(),
                                 layers::AveragePooling2D(), layers::Conv2D(6, 3, {.activation = "relu"})}),
                    images(), {.optimizer = optimizers::SGD({.learning_rate = 0.1, .momentum = 0.9})});
       }},
      {"keras_convolutions",
       [] {
         return fit(images_with({layers::DepthwiseConv2D(3, {.activation = "relu", .depth_multiplier = 4}),
                                 layers::SeparableConv2D(6, 3, {.activation = "elu"}),
                                 layers::Conv2D(6, 3, {.padding = "same", .groups = 2}), layers::LeakyReLU(),
                                 layers::Conv2DTranspose(4, 3, {.strides = 2})}),
                    images());
       }},
      {"keras_shapes",
       [] {
         return fit(images_with({layers::ZeroPadding2D(1), layers::Conv2D(4, 3, {.activation = "gelu", .strides = 2}),
                                 layers::UpSampling2D(2), layers::Permute({2, 1, 3}), layers::MaxPooling2D()}),
                    images());
       }},
      {"keras_augmentation",
       [] {
         return fit(images_with({layers::Rescaling(0.5, {.offset = 0.1}), layers::RandomFlip(),
                                 layers::RandomTranslation(0.2, 0.2), layers::RandomRotation(0.1),
                                 layers::Conv2D(4, 3, {.activation = "relu"})}),
                    images());
       }},
      {"keras_embedding",
       [] {
         Data data = vectors();
         data.x = Array(DType::int32, {100, 6});
         for (std::int64_t i = 0; i < 600; ++i)
           data.x.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>((noise(i) + 1.0F) * 3.5F);
         return fit(keras::Sequential({layers::Embedding(8, 4, {.input_shape = Shape{6}}), layers::Flatten(),
                                       layers::Dense(classes, {.activation = "softmax"})}),
                    data);
       }},
      {"keras_functional", [] { return fit(residual(), vectors()); }},
      {"keras_regularized", [] { return fit(regularized(), vectors()); }},
  };
}

Runs keras_fit_runs() {
  return {
      {"keras_sample_weight",
       [] {
         // Some weigh nothing.
         const Array weight = maximum(noise_array({100}, 900) + 0.5, 0.0);
         return fit(perceptron(), vectors(), {.optimizer = "adam"}, {.batch_size = 16, .sample_weight = weight});
       }},
      {"keras_class_weight",
       [] {
         return fit(perceptron(), vectors(), {.optimizer = "adam"},
                    {.batch_size = 16, .class_weight = {{0, 2.0}, {2, 0.3}}});
       }},
      {"keras_whole_batches", [] { return fit(perceptron(), vectors(96)); }},
      {"keras_partial_batch",
       [] { return fit(perceptron_with(layers::BatchNormalization()), vectors(101), {.optimizer = "adam"}); }},
      {"keras_steps_per_execution_1",
       [] { return fit(convolutional(), images(150), {.optimizer = "adam"}, {.batch_size = 8}); }},
      {"keras_steps_per_execution_8",
       [] {
         return fit(convolutional(), images(150), {.optimizer = "adam", .steps_per_execution = 8}, {.batch_size = 8});
       }},
      {"keras_no_shuffle",
       [] { return fit(perceptron(), vectors(), {.optimizer = "adam"}, {.epochs = 3, .shuffle = false}); }},
      {"keras_two_outputs", [] { return fit_two_outputs(two_outputs()); }},
      {"keras_two_outputs_sample_weight",
       [] { return fit_two_outputs(two_outputs(), {.sample_weight = abs(noise_array({100}, 300))}); }},
      {"keras_train_on_batch", [] { return train_on_batches(perceptron_with(layers::Dropout(0.2))); }},
      {"keras_bfloat16", [] { return fit(wide(), images(), {.optimizer = "adam", .precision = "mixed_bfloat16"}); }},
      {"keras_wide", [] { return fit(wide(), images()); }},
      {"keras_validation_data",
       [] {
         const Data seen = vectors(40);
         return fit(perceptron_with(layers::Dropout(0.2)), vectors(), {.optimizer = "adam"},
                    {.validation_data = {seen.x, seen.y, abs(noise_array({40}, 80))}});
       }},
      {"keras_validation_split",
       [] { return fit(perceptron(), vectors(), {.optimizer = "adam"}, {.validation_split = 0.25}); }},
      {"keras_dataset", [] { return fit_dataset(false); }},
      {"keras_dataset_goes_on", [] { return fit_dataset(true); }},
      {"keras_frozen", fit_frozen},
      {"keras_callbacks",
       [] {
         return fit(perceptron(), vectors(), {.optimizer = optimizers::SGD({.learning_rate = 0.5})},
                    {.epochs = 6,
                     .validation_split = 0.2,
                     .callbacks = {keras::callbacks::ReduceLROnPlateau({.factor = 0.5, .patience = 1}),
                                   keras::callbacks::EarlyStopping({.patience = 2, .restore_best_weights = true})}});
       }},
      {"keras_mse",
       [] {
         Data data = vectors();
         data.y = noise_array({100, classes}, 4000);
         return fit(perceptron(), data, {.optimizer = "sgd", .loss = keras::losses::Huber(0.5), .metrics = {"mae"}});
       }},
  };
}

}  // namespace

Runs keras_runs() { return joined({keras_optimizer_runs(), keras_layer_runs(), keras_fit_runs()}); }

}  // namespace bits
