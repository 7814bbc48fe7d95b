// Many short trainings in all styles; prints a line `name hash` for each of them. The hash covers the bits of weights,
// losses, metrics and predictions: two builds of the library that print the same lines compute the same.
//
//   bits [PART OF A NAME]...     only the runs whose names have one of the parts in them
//
// scripts/same_bits.sh compares the lines of two revisions. Nothing depends on the number of cores or on the order of
// the runs. A run that throws prints `name ERROR message`. Of two kinds of runs the last bits may change with a new
// version: those that end in _regularized and in _torch_dropout.
#include <pando/pando.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

using namespace pando;
namespace layers = pando::keras::layers;
namespace optimizers = pando::keras::optimizers;
namespace nn = pando::torch::nn;
namespace tf = pando::tf1;
using data::Dataset;
using ipu::GradientReduction;
using ipu::pipelining_ops::PipelineSchedule;
using poptorch::OutputMode;

namespace {

// FNV-1a of 64 bits.
class Hash {
 public:
  Hash& add(const void* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      value_ = (value_ ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3U;
    return *this;
  }
  Hash& add(double number) { return add(&number, sizeof number); }
  Hash& add(const std::string& text) { return add(text.data(), text.size()).add(0.0); }
  Hash& add(const Array& array) {
    add(std::string(name(array.dtype())) + to_string(array.shape()));
    return add(array.raw(), array.bytes());
  }
  Hash& add(const std::vector<Array>& arrays) {
    for (const Array& array : arrays) add(array);
    return *this;
  }
  Hash& add(const keras::Logs& logs) {
    for (const auto& [name, value] : logs) add(name).add(value);
    return *this;
  }
  Hash& add(const keras::History& history) {
    for (const std::int64_t epoch : history.epochs()) add(static_cast<double>(epoch));
    for (const auto& [name, values] : history) {
      add(name);
      for (const double value : values) add(value);
    }
    return *this;
  }
  Hash& add(const nn::StateDict& values) {
    for (const auto& [name, value] : values) add(name).add(value);
    return *this;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

// Each case gets its own seed, no IPUs and an empty graph of TensorFlow 1.
struct Run {
  std::string name;
  std::function<Hash()> train;
};
using Runs = std::vector<Run>;

// ---- Data

constexpr int classes = 3;

// From -1 to 1, exact in a float.
float noise(std::int64_t index) {
  auto bits = static_cast<std::uint32_t>(index + 1) * 2654435761U;
  bits = (bits ^ (bits >> 15)) * 2246822519U;
  return static_cast<float>((bits >> 8) & 0xffffU) / 32768.0F - 1.0F;
}

Array noise_array(const Shape& shape, std::int64_t first = 0, float scale = 1.0F) {
  Array array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i) array.mutable_data<float>()[i] = noise(first + i) * scale;
  return array;
}

struct Data {
  Array x, y;
  Data part(std::int64_t first, std::int64_t last) const { return {x.slice(first, last), y.slice(first, last)}; }
};

// Samples of this shape and of three kinds, which can be learnt.
Data samples(std::int64_t count, const Shape& shape) {
  Shape all{count};
  for (const std::int64_t size : shape) all.append(size);
  Data data{noise_array(all), Array(DType::int32, {count})};
  const std::int64_t size = shape.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto kind = static_cast<std::int32_t>(i * 7 % classes);
    data.y.mutable_data<std::int32_t>()[i] = kind;
    for (std::int64_t j = kind; j < size; j += classes) data.x.mutable_data<float>()[i * size + j] += 0.5F;
  }
  return data;
}

Data vectors(std::int64_t count = 100) { return samples(count, {10}); }
Data images(std::int64_t count = 100) { return samples(count, {8, 8, 1}); }

// ---- Keras

keras::Sequential perceptron() {
  return {layers::Dense(12, {.activation = "relu", .input_shape = Shape{10}}), layers::Dense(8, {.activation = "tanh"}),
          layers::Dense(classes, {.activation = "softmax"})};
}

// A perceptron with something between its layers.
keras::Sequential perceptron_with(const keras::Layer& layer) {
  return {layers::Dense(12, {.activation = "relu", .input_shape = Shape{10}}), layer,
          layers::Dense(classes, {.activation = "softmax"})};
}

keras::Sequential convolutional() {
  return {keras::Input({8, 8, 1}), layers::Conv2D(6, 3, {.activation = "relu"}), layers::MaxPooling2D(),
          layers::Flatten(), layers::Dense(classes, {.activation = "softmax"})};
}

// A network of images with something else between input and head.
keras::Sequential images_with(const std::vector<keras::Layer>& middle) {
  keras::Sequential model({keras::Input({8, 8, 1})});
  for (const keras::Layer& layer : middle) model.add(layer);
  model.add(layers::GlobalAveragePooling2D());
  model.add(layers::Dense(classes, {.activation = "softmax"}));
  return model;
}

// Wide enough for products of bfloat16, where there are such.
keras::Sequential wide() {
  return {keras::Input({8, 8, 1}),
          layers::Conv2D(32, 3, {.activation = "relu"}),
          layers::Conv2D(32, 3, {.activation = "relu"}),
          layers::MaxPooling2D(),
          layers::Flatten(),
          layers::Dense(64, {.activation = "relu"}),
          layers::Dense(classes, {.activation = "softmax"})};
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

keras::Model two_outputs() {
  const Tensor input = keras::Input({10});
  const Tensor hidden = layers::Dense(8, {.activation = "relu"})(input);
  return {{input},
          {layers::Dense(classes, {.activation = "softmax", .name = "kind"})(hidden),
           layers::Dense(2, {.name = "place"})(hidden)}};
}

// Everything that a trained model shows.
Hash model_bits(keras::Model& model, const keras::History& history, const Arrays& x, const Arrays& y,
                std::int64_t batch_size = 32) {
  Hash hash;
  hash.add(model.get_weights()).add(static_cast<double>(model.optimizer().iterations())).add(history);
  hash.add(model.evaluate(x, y, {.batch_size = batch_size, .verbose = 0}));
  return hash.add(model.predict_outputs(x, {.batch_size = batch_size}));
}

// The options, silent, with a loss and a metric unless they have some.
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

Hash fit(keras::Model model, const Data& data, const keras::CompileOptions& compile = {.optimizer = "adam"},
         const keras::FitOptions& options = {}) {
  model.compile(completed(compile));
  const keras::History history = model.fit(data.x, data.y, completed(options));
  return model_bits(model, history, data.x, data.y, options.batch_size);
}

Hash fit_with(const keras::Optimizer& optimizer) { return fit(perceptron(), vectors(), {.optimizer = optimizer}); }

Hash fit_dataset(bool resumes_in_the_next_epoch, keras::Model model = perceptron(), std::int64_t steps = 1) {
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

using OutputMetrics = std::map<std::string, std::vector<keras::Metric>>;

Hash fit_two_outputs(keras::Model model, const keras::FitOptions& options = {}) {
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
      hash.add(model.train_on_batch(batch.x, batch.y, weight));
    }
  return hash.add(model.get_weights());
}

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

// ---- Keras on IPUs

struct Division {
  int ipus = 2;
  int stages = 1;
  std::int64_t accumulation = 1;
  std::int64_t batch_size = 8;
  std::int64_t samples = 128;
  std::int64_t steps_per_execution = 8;
  GradientReduction reduction = GradientReduction::Mean;
  PipelineSchedule schedule = PipelineSchedule::Grouped;
  std::vector<int> device_mapping = {};
  bool recomputation = false;
  int tiles = 1;
  std::string precision = "float32";
  std::function<keras::Optimizer()> optimizer = [] { return optimizers::Adam({.learning_rate = 0.01}); };
  keras::FitOptions fit = {};
};

void configure(int ipus, int tiles) {
  ipu::reset_ipu_configuration();
  ipu::IPUConfig config;
  config.auto_select_ipus = ipus;
  config.tiles_per_ipu = tiles;
  config.configure_ipu_system();
}

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
keras::Model staged_dropout(int stages) { return staged_images(stages, {layers::Dropout(0.3)}); }
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

// ---- Keras with checkpoints

// A folder that goes with it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const std::filesystem::path parent = std::filesystem::temp_directory_path();
    int number = 0;
    do path_ = parent / ("pando_bits_" + std::to_string(number++));
    while (!std::filesystem::create_directory(path_));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// Stops training after that many batches; never if 0.
class StopAfter : public keras::Callback {
 public:
  explicit StopAfter(std::int64_t batches) : left_(batches) {}
  void on_train_batch_end(keras::Model& model, std::int64_t, const keras::Logs&) override {
    if (--left_ == 0) model.stop_training();
  }
  bool sees_batches() const override { return true; }

 private:
  std::int64_t left_;
};

keras::Model model_to_break_off(const Division& division) {
  set_random_seed(9);
  keras::Model model = staged_dropout(division.stages);
  divide(model, division);
  model.compile(compile_options(division));
  return model;
}

// Three epochs, broken off once within the second of them or not at all.
Hash fit_in_parts(const Division& division, bool is_broken_off) {
  configure(division.ipus, division.tiles);
  const ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  const Data data = images(division.samples);
  const TemporaryFolder folder;
  keras::FitOptions options{.batch_size = division.batch_size, .epochs = 3, .verbose = 0, .validation_split = 0.2};
  if (is_broken_off) {
    options.checkpoint = {.directory = folder.path() + "/run", .every_executions = 1, .every_seconds = 0};
    keras::Model model = model_to_break_off(division);
    options.callbacks = {std::make_shared<StopAfter>(20)};
    model.fit(data.x, data.y, options);
    options.checkpoint.resume = true;
  }
  options.callbacks = {std::make_shared<StopAfter>(0)};
  keras::Model model = model_to_break_off(division);
  const keras::History history = model.fit(data.x, data.y, options);
  return model_bits(model, history, data.x, data.y, division.batch_size);
}

Runs checkpoint_runs() {
  Runs runs;
  const std::vector<std::pair<std::string, Division>> divisions = {
      {"one", {.ipus = 1, .samples = 150, .steps_per_execution = 1}},
      {"replicas", {.ipus = 2, .samples = 150, .steps_per_execution = 4}},
      {"pipeline", {.stages = 2, .accumulation = 4, .samples = 150, .steps_per_execution = 4}}};
  for (const auto& [name, division] : divisions)
    for (const bool is_broken_off : {false, true})
      runs.push_back({"checkpoint_" + name + (is_broken_off ? "_resumed" : "_unbroken"),
                      [division = division, is_broken_off] { return fit_in_parts(division, is_broken_off); }});
  return runs;
}

// ---- PopTorch

struct NetworkOptions {
  // Of IPUs: 1, 2 or 3.
  int blocks = 1;
  bool normalises = false;
  bool drops = false;
};

struct Network : nn::Module {
  explicit Network(const NetworkOptions& options) : options(options) {
    register_modules({{"conv", conv},
                      {"norm", norm},
                      {"pool", pool},
                      {"flatten", flatten},
                      {"hidden", hidden},
                      {"drop", drop},
                      {"output", output}});
  }
  Tensor forward(Tensor x) {
    x = conv(x);
    if (options.normalises) x = norm(x);
    x = relu(pool(x));
    if (options.blocks > 1) poptorch::BeginBlock(1);
    x = tanh(hidden(flatten(x)));
    if (options.drops) x = drop(x);
    if (options.blocks > 2) poptorch::BeginBlock(2);
    return output(x);
  }

  NetworkOptions options;
  nn::Conv2d conv{1, 4, {.kernel_size = 3}};
  nn::BatchNorm2d norm{4};
  nn::MaxPool2d pool{{.kernel_size = 2}};
  nn::Flatten flatten;
  nn::Linear hidden{36, 8};
  nn::Dropout drop{0.3};
  nn::Linear output{8, classes};
  nn::ReLU relu;
  nn::Tanh tanh;
};

struct WithLoss : nn::Module {
  explicit WithLoss(Network& network) : network(network) { register_modules({{"network", network}, {"loss", loss}}); }
  std::tuple<Tensor, Tensor> forward(Tensor x, Tensor y) {
    const Tensor logits = network.forward(x);
    return {logits, loss(logits, y)};
  }
  Network& network;
  nn::CrossEntropyLoss loss;
};

using MakeOptimizer = std::function<torch::optim::Optimizer(const nn::Module& module)>;

torch::optim::Optimizer torch_sgd(const nn::Module& module) {
  return torch::optim::SGD(module.parameters(), {.lr = 0.1, .momentum = 0.9});
}

struct TorchRun {
  NetworkOptions network = {};
  int replicas = 1;
  std::int64_t accumulation = 1;
  std::int64_t iterations = 1;
  std::int64_t micro_batch = 8;
  std::int64_t samples = 128;
  OutputMode mode = OutputMode::Default;
  std::int64_t period = 1;
  PipelineOrder order = PipelineOrder::grouped;
  bool sharded = false;
  poptorch::ReductionType reduction = poptorch::ReductionType::Mean;
  MakeOptimizer optimizer = torch_sgd;
};

poptorch::Options torch_options(const TorchRun& run) {
  poptorch::Options options;
  options.deviceIterations(run.iterations).replicationFactor(run.replicas).outputMode(run.mode, run.period);
  if (run.sharded) options.setExecutionStrategy(poptorch::ShardedExecution{});
  else options.setExecutionStrategy(poptorch::PipelinedExecution{run.order});
  options.Training.gradientAccumulation(run.accumulation).accumulationAndReplicationReductionType(run.reduction);
  return options;
}

Data torch_images(std::int64_t count) {
  const Data data = samples(count, {1, 8, 8});
  return {data.x, data.y.astype(DType::int64)};
}

// Two epochs; the last call of each has fewer samples if they do not divide.
Hash train_torch(const TorchRun& run) {
  Network network(run.network);
  WithLoss model(network);
  auto training = poptorch::trainingModel(model, torch_options(run), run.optimizer(network));
  const Data data = torch_images(run.samples);
  const std::int64_t call = run.micro_batch * run.accumulation * run.replicas * run.iterations;
  Hash hash;
  for (int epoch = 0; epoch < 2; ++epoch)
    for (std::int64_t first = 0; first < run.samples; first += call) {
      const Data batch = data.part(first, std::min(first + call, run.samples));
      const auto [logits, loss] = training(batch.x, batch.y);
      hash.add(logits).add(loss);
    }
  hash.add(network.state_dict());
  poptorch::Options options;
  options.deviceIterations(4);
  auto inference = poptorch::inferenceModel(network, options);
  // The second call has fewer samples.
  hash.add(inference(data.x.slice(0, 96)));
  return hash.add(inference(data.x.slice(96, 119)));
}

Run torch_run(const std::string& name, const TorchRun& run) {
  return {name, [run] { return train_torch(run); }};
}

// A rate that a scheduler changes, then another optimizer.
Hash train_torch_with_several_optimizers() {
  Network network({});
  WithLoss model(network);
  const torch::optim::SGD sgd(network.parameters(), {.lr = 0.2, .momentum = 0.9});
  torch::optim::lr_scheduler::StepLR scheduler(sgd, {.step_size = 2, .gamma = 0.5});
  auto training = poptorch::trainingModel(model, {}, sgd);
  const Data data = torch_images(16);
  Hash hash;
  for (int i = 0; i < 6; ++i) {
    hash.add(std::get<1>(training(data.x, data.y)));
    scheduler.step();
  }
  training.setOptimizer(torch::optim::Adam(network.parameters(), {.lr = 0.01}));
  for (int i = 0; i < 3; ++i) hash.add(std::get<1>(training(data.x, data.y)));
  return hash.add(network.state_dict());
}

Hash infer_torch(const TorchRun& run) {
  Network network(run.network);
  auto inference = poptorch::inferenceModel(network, torch_options(run));
  const Data data = torch_images(run.samples);
  return Hash().add(inference(data.x)).add(inference(data.x.slice(5, run.samples - 6)));
}

Runs torch_runs() {
  namespace optim = torch::optim;
  const auto with = [](const std::string& name, const MakeOptimizer& optimizer) {
    return torch_run(name, {.optimizer = optimizer});
  };
  return {
      torch_run("torch_sgd", {}),
      with("torch_nesterov_decay",
           [](const nn::Module& module) {
             return optim::SGD(module.parameters(),
                               {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true});
           }),
      with("torch_adam", [](const nn::Module& module) { return optim::Adam(module.parameters(), {.lr = 0.01}); }),
      with("torch_adamw", [](const nn::Module& module) { return optim::AdamW(module.parameters(), {.lr = 0.01}); }),
      with("torch_rmsprop",
           [](const nn::Module& module) {
             return optim::RMSprop(module.parameters(), {.momentum = 0.5, .centered = true});
           }),
      {"torch_several_optimizers", train_torch_with_several_optimizers},
      torch_run("torch_partial", {.samples = 125}),
      torch_run("torch_batch_norm", {.network = {.normalises = true}}),
      torch_run("torch_batch_norm_partial", {.network = {.normalises = true}, .iterations = 3, .samples = 125}),
      torch_run("torch_device_iterations", {.iterations = 4, .mode = OutputMode::Final}),
      torch_run("torch_output_all", {.iterations = 4, .samples = 123, .mode = OutputMode::All}),
      torch_run("torch_output_sum", {.iterations = 4, .mode = OutputMode::Sum}),
      torch_run("torch_output_every_2", {.iterations = 4, .mode = OutputMode::EveryN, .period = 2}),
      torch_run("torch_one_torch_dropout", {.network = {.drops = true}, .iterations = 2}),
      {"torch_inference_all", [] { return infer_torch({.iterations = 16}); }},
      {"torch_inference_sum", [] { return infer_torch({.iterations = 16, .mode = OutputMode::Sum}); }},
      {"torch_inference_replicas_of_blocks",
       [] { return infer_torch({.network = {.blocks = 3}, .replicas = 2, .iterations = 8}); }},
  };
}

Runs divided_torch_runs() {
  constexpr auto sum = poptorch::ReductionType::Sum;
  return {
      torch_run("torch_replicas_2", {.replicas = 2, .iterations = 2}),
      torch_run("torch_replicas_3_partial", {.replicas = 3, .iterations = 2, .mode = OutputMode::All}),
      torch_run("torch_replicas_batch_norm", {.network = {.normalises = true}, .replicas = 2, .iterations = 2}),
      torch_run("torch_replicas_sum", {.replicas = 2, .reduction = sum}),
      torch_run("torch_replicas_torch_dropout", {.network = {.drops = true}, .replicas = 2, .iterations = 2}),
      torch_run("torch_accumulation", {.accumulation = 4, .iterations = 2, .micro_batch = 4}),
      torch_run("torch_accumulation_sum", {.accumulation = 4, .micro_batch = 4, .reduction = sum}),
      torch_run("torch_accumulation_partial",
                {.accumulation = 4, .micro_batch = 4, .samples = 119, .mode = OutputMode::All}),
      torch_run("torch_accumulation_replicas",
                {.replicas = 2, .accumulation = 2, .iterations = 2, .micro_batch = 4, .mode = OutputMode::Sum}),
      torch_run("torch_blocks_2", {.network = {.blocks = 2}, .accumulation = 4, .micro_batch = 4}),
      torch_run("torch_blocks_3_interleaved",
                {.network = {.blocks = 3}, .accumulation = 8, .micro_batch = 4, .order = PipelineOrder::interleaved}),
      torch_run("torch_blocks_3_sequential",
                {.network = {.blocks = 3}, .accumulation = 4, .micro_batch = 4, .order = PipelineOrder::sequential}),
      torch_run("torch_blocks_sharded",
                {.network = {.blocks = 2}, .accumulation = 2, .micro_batch = 4, .sharded = true}),
      torch_run("torch_blocks_partial",
                {.network = {.blocks = 2, .normalises = true}, .accumulation = 4, .micro_batch = 4, .samples = 119}),
      torch_run("torch_blocks_replicas",
                {.network = {.blocks = 2, .normalises = true}, .replicas = 2, .accumulation = 2, .micro_batch = 4}),
      torch_run("torch_blocks_torch_dropout",
                {.network = {.blocks = 3, .drops = true}, .accumulation = 4, .iterations = 2, .micro_batch = 4}),
  };
}

// ---- TensorFlow 1

// A perceptron of three layers, with or without layers of Keras between them.
struct Perceptron {
  explicit Perceptron(bool has_layers = true) : has_layers(has_layers) {}
  Tensor first(const Tensor& x) {
    const Tensor y = tf::nn::tanh(tf::matmul(x, a));
    return has_layers ? dropout(normalise(y, {.training = true}), {.training = true}) : y;
  }
  Tensor second(const Tensor& x) { return tf::nn::relu(tf::matmul(x, b)); }
  Tensor third(const Tensor& x) { return tf::matmul(x, c); }
  Tensor logits(const Tensor& x) { return third(second(first(x))); }
  Arrays values() const {
    Arrays list = {a.parameter().value(), b.parameter().value(), c.parameter().value()};
    if (has_layers)
      for (const Array& value : normalise.get_weights()) list.push_back(value);
    return list;
  }
  std::vector<tf::TracedFunction> stages(int count);

  bool has_layers;
  tf::Variable a{noise_array({10, 8}, 10, 0.5F), {.name = "a"}}, b{noise_array({8, 6}, 200, 0.5F), {.name = "b"}},
      c{noise_array({6, classes}, 300, 0.5F), {.name = "c"}};
  keras::Layer dropout = layers::Dropout(0.2), normalise = layers::BatchNormalization({.momentum = 0.7});
};

tf::Outputs loss_and_logits(const Tensor& y, const Tensor& logits) {
  return {tf::losses::sparse_softmax_cross_entropy(y, logits), logits};
}

// The layers in that many stages; the last returns the loss and the logits.
std::vector<tf::TracedFunction> Perceptron::stages(int count) {
  const auto last = [this](Tensor x, Tensor y) { return loss_and_logits(y, third(x)); };
  if (count == 1) return {[this](Tensor x, Tensor y) { return loss_and_logits(y, logits(x)); }};
  if (count == 2) return {[this](Tensor x, Tensor y) -> tf::Outputs { return {second(first(x)), y}; }, last};
  return {[this](Tensor x, Tensor y) -> tf::Outputs {
            return {first(x), y};
          },
          [this](Tensor x, Tensor y) -> tf::Outputs {
            return {second(x), y};
          },
          last};
}

tf::Compiled compiled(const tf::TracedFunction& function, const std::vector<Tensor>& inputs = {}) {
  const ipu::scopes::ipu_scope scope("/device:IPU:0");
  return ipu::ipu_compiler::compile(function, inputs);
}

Dataset batches(std::int64_t size) {
  const Data data = vectors(96);
  return Dataset::from_tensor_slices({data.x, data.y}).repeat().batch(size, {.drop_remainder = true});
}

// A step for each run of the session.
Hash train_steps(const tf::train::Optimizer& optimizer) {
  configure(1, 1);
  Perceptron model;
  const auto [x, y] = tf::make_one_shot_iterator(batches(16)).get_next<2>();
  const auto step = compiled(
      [&](Tensor batch_x, Tensor batch_y) -> tf::Outputs {
        const tf::Outputs outputs = loss_and_logits(batch_y, model.logits(batch_x));
        return {outputs.tensor(0), outputs.tensor(1), optimizer.minimize(outputs.tensor(0))};
      },
      {x, y});
  tf::Session session;
  session.run(tf::global_variables_initializer());
  Hash hash;
  for (int i = 0; i < 12; ++i) hash.add(session.run(step));
  return hash.add(model.values());
}

// Steps in loops on the device.
Hash train_loops(const tf::train::Optimizer& optimizer, const ipu::OutfeedOptions& mode = {}) {
  configure(1, 1);
  Perceptron model;
  const ipu::IPUInfeedQueue infeed(batches(16));
  const ipu::IPUOutfeedQueue outfeed(mode);
  const auto loop = compiled([&] {
    return ipu::loops::repeat(
        6,
        [&](Tensor total, Tensor x, Tensor y) -> tf::Outputs {
          const tf::Outputs outputs = loss_and_logits(y, model.logits(x));
          return {total + outputs.tensor(0), optimizer.minimize(outputs.tensor(0)), outfeed.enqueue(outputs.tensors())};
        },
        {tf::constant(0.0F)}, infeed);
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  Hash hash;
  for (int i = 0; i < 2; ++i) {
    hash.add(session.run(loop));
    hash.add(session.run(outfeed.dequeue()));
  }
  return hash.add(model.values());
}

// The data are variables, and the gradients are clipped by hand.
Hash train_loop_without_infeed() {
  configure(1, 1);
  Perceptron model;
  const Data data = vectors(32);
  const tf::Variable x(data.x, {.name = "x", .trainable = false});
  const tf::train::AdamOptimizer adam({.learning_rate = 0.02});
  const auto loop = compiled([&] {
    return ipu::loops::repeat(10,
                              [&](Tensor) -> tf::Outputs {
                                const Tensor loss = loss_and_logits(tf::constant(data.y), model.logits(x)).tensor(0);
                                auto gradients = adam.compute_gradients(loss);
                                for (auto& entry : gradients)
                                  entry.gradient = tf::maximum(tf::minimum(entry.gradient, tf::constant(0.05F)),
                                                               tf::constant(-0.05F));
                                return {loss, adam.apply_gradients(gradients)};
                              },
                              {tf::constant(0.0F)});
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  Hash hash;
  for (int i = 0; i < 2; ++i) hash.add(session.run(loop));
  return hash.add(model.values());
}

Hash train_while_loop() {
  configure(1, 1);
  Perceptron model;
  const ipu::IPUInfeedQueue infeed(batches(16));
  const tf::train::MomentumOptimizer momentum({.learning_rate = 0.05});
  const auto loop = compiled([&] {
    return ipu::loops::while_loop([](Tensor count, Tensor) { return tf::less(count, tf::constant(7.0F)); },
                                  [&](Tensor count, Tensor, Tensor x, Tensor y) -> tf::Outputs {
                                    const Tensor loss = loss_and_logits(y, model.logits(x)).tensor(0);
                                    return {count + 1.0, loss, momentum.minimize(loss)};
                                  },
                                  {tf::constant(0.0F), tf::constant(0.0F)}, infeed);
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  Hash hash;
  for (int i = 0; i < 2; ++i) hash.add(session.run(loop));
  return hash.add(model.values());
}

struct PipelineRun {
  int ipus = 2;
  int stages = 2;
  ipu::pipelining_ops::PipelineOptions options = {.gradient_accumulation_count = 4, .repeat_count = 3};
  bool has_layers = true;
  bool trains = true;
};

Hash train_pipeline(const PipelineRun& run) {
  configure(run.ipus, 1);
  Perceptron model(run.has_layers);
  const ipu::IPUInfeedQueue infeed(batches(4));
  const ipu::IPUOutfeedQueue outfeed;
  ipu::pipelining_ops::PipelineOptions options = run.options;
  options.infeed_queue = infeed;
  options.outfeed_queue = outfeed;
  const tf::train::AdamOptimizer adam({.learning_rate = 0.02});
  if (run.trains)
    options.optimizer_function = [&](const tf::Outputs& outputs) {
      return ipu::pipelining_ops::OptimizerFunctionOutput{adam, outputs.tensor(0)};
    };
  const auto computation = compiled([&] { return ipu::pipelining_ops::pipeline(model.stages(run.stages), options); });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  Hash hash;
  for (int i = 0; i < 2; ++i) {
    session.run(computation);
    hash.add(session.run(outfeed.dequeue()));
  }
  return hash.add(model.values());
}

Run pipeline_run(const std::string& name, const PipelineRun& run) {
  return {name, [run] { return train_pipeline(run); }};
}

Runs session_runs() {
  namespace train = tf::train;
  return {
      {"tf1_steps_adam", [] { return train_steps(train::AdamOptimizer({.learning_rate = 0.02})); }},
      {"tf1_steps_sgd", [] { return train_steps(train::GradientDescentOptimizer({.learning_rate = 0.1})); }},
      {"tf1_loop_adam", [] { return train_loops(train::AdamOptimizer({.learning_rate = 0.02})); }},
      {"tf1_loop_nesterov",
       [] { return train_loops(train::MomentumOptimizer({.learning_rate = 0.05, .use_nesterov = true})); }},
      {"tf1_loop_rmsprop", [] { return train_loops(train::RMSPropOptimizer({.momentum = 0.5, .centered = true})); }},
      {"tf1_loop_outfeed_last",
       [] {
         return train_loops(train::AdamOptimizer({.learning_rate = 0.02}), {.outfeed_mode = ipu::IPUOutfeedMode::LAST});
       }},
      {"tf1_loop_without_infeed", train_loop_without_infeed},
      {"tf1_while_loop", train_while_loop},
  };
}

Runs session_pipeline_runs() {
  using Options = ipu::pipelining_ops::PipelineOptions;
  constexpr auto mean = GradientReduction::Mean;
  const Options four{.gradient_accumulation_count = 4, .repeat_count = 3};
  Options meaned = four, interleaved = four, sequential = four, recomputed = four, mapped = four, two = four;
  meaned.reduction_method = mean;
  interleaved.pipeline_schedule = PipelineSchedule::Interleaved;
  sequential.pipeline_schedule = PipelineSchedule::Sequential;
  recomputed.recomputation = true;
  recomputed.reduction_method = mean;
  mapped.device_mapping = {0, 1, 0};
  two.gradient_accumulation_count = 2;
  return {
      pipeline_run("tf1_accumulation", {.ipus = 1, .stages = 1, .options = four}),
      pipeline_run("tf1_accumulation_mean", {.ipus = 1, .stages = 1, .options = meaned}),
      pipeline_run("tf1_replicas", {.ipus = 2, .stages = 1, .options = two}),
      pipeline_run("tf1_pipeline_2", {.options = four}),
      pipeline_run("tf1_pipeline_2_mean", {.options = meaned}),
      pipeline_run("tf1_pipeline_3_interleaved", {.ipus = 3, .stages = 3, .options = interleaved}),
      pipeline_run("tf1_pipeline_3_sequential", {.ipus = 3, .stages = 3, .options = sequential}),
      pipeline_run("tf1_pipeline_recomputation", {.ipus = 3, .stages = 3, .options = recomputed}),
      pipeline_run("tf1_pipeline_mapped", {.ipus = 2, .stages = 3, .options = mapped}),
      pipeline_run("tf1_pipeline_replicas", {.ipus = 4, .stages = 2, .options = two}),
      pipeline_run("tf1_pipeline_inference", {.options = four, .has_layers = false, .trains = false}),
  };
}

// ---- All of them

Runs all_runs() {
  Runs all;
  for (const Runs& runs :
       {keras_optimizer_runs(), keras_layer_runs(), keras_fit_runs(), replica_runs(), other_ipu_runs(), pipeline_runs(),
        checkpoint_runs(), torch_runs(), divided_torch_runs(), session_runs(), session_pipeline_runs()})
    all.insert(all.end(), runs.begin(), runs.end());
  return all;
}

std::string result(const Run& run) {
  try {
    ipu::reset_ipu_configuration();
    tf::reset_default_graph();
    set_random_seed(9);
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(run.train().value()));
    return digits;
  } catch (const std::exception& error) {
    std::string message = error.what();
    std::replace(message.begin(), message.end(), '\n', ' ');
    return "ERROR " + message;
  }
}

bool is_wanted(const std::string& name, const std::vector<std::string>& parts) {
  return parts.empty() || std::any_of(parts.begin(), parts.end(),
                                      [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> parts(words + 1, words + count);
  for (const Run& run : all_runs())
    if (is_wanted(run.name, parts)) {
      std::printf("%s %s\n", run.name.c_str(), result(run).c_str());
      std::fflush(stdout);
    }
}
