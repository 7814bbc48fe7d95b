// Layers, optimizers, losses and metrics against what make_reference.py computed by PyTorch: the same inputs and first
// weights give the same outputs, and the same weights after ten updates.
#include <gtest/gtest.h>
#include <pando/data/files.h>
#include <pando/pando.h>

#include <cmath>
#include <fstream>
#include <set>

using namespace pando;
using namespace pando::keras;
using namespace pando::keras::layers;

namespace {

constexpr double tolerance = 1e-5;
constexpr std::int64_t batch = 8, steps = 10;

Array reference(const std::string& name) {
  static const std::map<std::string, Array> arrays = data::read_npz(PANDO_KERAS_DATA "/reference.npz");
  const auto found = arrays.find(name);
  if (found == arrays.end()) throw Error("reference.npz has no array '" + name + "'; run make_reference.py again");
  return found->second;
}

// The numbers in [-1, 1) of make_reference.py.
Array hashed(std::uint32_t number, const Shape& shape, double scale = 1.0, double offset = 0.0) {
  Array array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    std::uint32_t h = static_cast<std::uint32_t>(i) * 2654435761u + number * 40503u * 65537u + 271u;
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    h *= 3266489917u;
    h ^= h >> 16;
    const double u = static_cast<double>(h >> 8) / 16777216.0;
    array.mutable_data<float>()[i] = static_cast<float>((2 * u - 1) * scale + offset);
  }
  return array;
}

Shape with_batch(const Shape& sample) {
  Shape shape = {batch};
  for (std::int64_t size : sample) shape.append(size);
  return shape;
}

std::vector<Parameter> weights_of(const std::vector<Layer>& layers) {
  std::vector<Parameter> list;
  for (const Layer& layer : layers)
    for (const Parameter& weight : layer.weights()) list.push_back(weight);
  return list;
}

void set_first_weights(const std::vector<Layer>& layers) {
  std::uint32_t number = 2;
  for (Parameter weight : weights_of(layers)) {
    const Shape& shape = weight.shape();
    double limit = 0.5;
    if (const int last = shape.rank() - 1; last > 0) {
      const std::int64_t fans = shape.part(0, last - 1).elements() * (shape[last - 1] + shape[last]);
      limit = std::sqrt(6.0 / static_cast<double>(fans));
    }
    const bool about_one = weight.name().ends_with("gamma") || weight.name().ends_with("variance");
    weight.set_value(hashed(number++, shape, limit, about_one ? 1.0 : 0.0));
  }
}

void expect_near(const Array& actual, const std::string& name) {
  const Array expected = reference(name);
  ASSERT_EQ(to_string(actual.shape()), to_string(expected.shape())) << name;
  double difference = 0, norm = 0, largest = 0;
  for (std::int64_t i = 0; i < actual.elements(); ++i) {
    const double a = actual.data<float>()[i], b = expected.data<float>()[i];
    difference += (a - b) * (a - b);
    norm += b * b;
    // Written so that NaN fails.
    if (!(std::abs(a - b) <= largest)) largest = std::abs(a - b);
  }
  EXPECT_LE(std::sqrt(difference / norm), tolerance) << name;
  EXPECT_LE(largest, tolerance) << name;
}

void expect_value(double actual, const std::string& name) {
  const double expected = reference(name + ".value").item<double>();
  EXPECT_NEAR(actual, expected, tolerance * std::max(1.0, std::abs(expected))) << name;
}

// All samples are one batch.
void take_steps(Model& model, const Array& x, const Array& y) {
  model.fit(x, y, {.batch_size = batch, .epochs = steps, .shuffle = false, .verbose = 0});
}

void expect_weights(const std::vector<Layer>& layers, const std::string& name) {
  const std::vector<Parameter> weights = weights_of(layers);
  for (std::size_t i = 0; i < weights.size(); ++i)
    expect_near(weights[i].value(), name + ".weight" + std::to_string(i));
}

struct LayerCase {
  const char* name;
  Shape sample;
  std::function<Layer()> make;
  // How many Dense layers are before it; none: it takes whole numbers.
  int fronts = 1;
};

const Shape image = {7, 6, 2}, wide = {7, 6, 4};

LayerCase activation(const char* name) {
  static std::set<std::string> names;
  const std::string& kept = *names.insert(std::string("activation_") + name).first;
  return {kept.c_str(), {3, 6}, [name] { return layers::Activation(name); }};
}

const std::vector<LayerCase> layer_cases = {
    {"dense", {5}, [] { return Dense(4); }},
    {"dense_no_bias", {5}, [] { return Dense(4, {.use_bias = false}); }},
    {"dense_rank3", {3, 5}, [] { return Dense(4); }},
    {"dense_relu", {5}, [] { return Dense(4, {.activation = "relu"}); }},
    {"conv2d", image,
     [] {
       return Conv2D(3, {3, 2});
     }},
    {"conv2d_no_bias_relu", image, [] { return Conv2D(3, 3, {.activation = "relu", .use_bias = false}); }},
    {"conv2d_same", image, [] { return Conv2D(3, 3, {.padding = "same"}); }},
    {"conv2d_same_even", image,
     [] {
       return Conv2D(3, {2, 4}, {.padding = "same"});
     }},
    {"conv2d_strides", image,
     [] {
       return Conv2D(3, 3, {.strides = {2, 1}});
     }},
    {"conv2d_same_strides", image, [] { return Conv2D(3, 3, {.padding = "same", .strides = 2}); }},
    {"conv2d_same_even_strides", image,
     [] {
       return Conv2D(3, {4, 2}, {.padding = "same", .strides = {2, 3}});
     }},
    {"conv2d_dilation", image,
     [] {
       return Conv2D(3, {3, 2}, {.dilation_rate = {2, 3}});
     }},
    {"conv2d_same_dilation", image,
     [] {
       return Conv2D(3, {3, 2}, {.padding = "same", .dilation_rate = {2, 3}});
     }},
    {"conv2d_groups", wide, [] { return Conv2D(6, 3, {.padding = "same", .groups = 2}); }},
    {"conv2d_transpose", image,
     [] {
       return Conv2DTranspose(3, {3, 2});
     }},
    {"conv2d_transpose_strides", image,
     [] {
       return Conv2DTranspose(3, {3, 2}, {.strides = 2});
     }},
    {"conv2d_transpose_gaps", image,
     [] {
       return Conv2DTranspose(3, {2, 1}, {.strides = {3, 2}});
     }},
    {"conv2d_transpose_dilation", image,
     [] {
       return Conv2DTranspose(3, {3, 2}, {.dilation_rate = 2});
     }},
    {"conv2d_transpose_same", image,
     [] {
       return Conv2DTranspose(3, {3, 4}, {.padding = "same"});
     }},
    {"conv2d_transpose_same_strides", image,
     [] {
       return Conv2DTranspose(3, {3, 4}, {.padding = "same", .strides = 2});
     }},
    {"conv2d_transpose_same_gaps", image,
     [] {
       return Conv2DTranspose(3, {2, 1}, {.padding = "same", .strides = {3, 2}});
     }},
    {"depthwise_conv2d", image,
     [] {
       return DepthwiseConv2D({3, 2});
     }},
    {"depthwise_conv2d_multiplier", image,
     [] {
       return DepthwiseConv2D({3, 2}, {.padding = "same", .strides = 2, .depth_multiplier = 2});
     }},
    {"depthwise_conv2d_dilation", image,
     [] {
       return DepthwiseConv2D({3, 2}, {.dilation_rate = 2, .depth_multiplier = 2});
     }},
    {"separable_conv2d", image, [] { return SeparableConv2D(3, 3); }},
    {"separable_conv2d_multiplier", image,
     [] {
       return SeparableConv2D(3, {2, 3}, {.padding = "same", .strides = 2, .depth_multiplier = 2});
     }},
    {"max_pooling2d", image, [] { return MaxPooling2D(); }},
    {"max_pooling2d_same", image,
     [] {
       return MaxPooling2D({2, 3}, {.padding = "same"});
     }},
    {"max_pooling2d_overlapping", image, [] { return MaxPooling2D(3, {.strides = Pair(2, 1)}); }},
    {"max_pooling2d_same_overlapping", image,
     [] {
       return MaxPooling2D({3, 2}, {.strides = 1, .padding = "same"});
     }},
    {"average_pooling2d", image, [] { return AveragePooling2D(); }},
    {"average_pooling2d_same", image,
     [] {
       return AveragePooling2D({2, 3}, {.padding = "same"});
     }},
    {"average_pooling2d_overlapping", image, [] { return AveragePooling2D(3, {.strides = Pair(2, 1)}); }},
    {"average_pooling2d_same_overlapping", image,
     [] {
       return AveragePooling2D({3, 2}, {.strides = 1, .padding = "same"});
     }},
    {"global_average_pooling2d", image, [] { return GlobalAveragePooling2D(); }},
    {"global_average_pooling2d_keepdims", image, [] { return GlobalAveragePooling2D({.keepdims = true}); }},
    {"global_max_pooling2d", image, [] { return GlobalMaxPooling2D(); }},
    {"global_max_pooling2d_keepdims", image, [] { return GlobalMaxPooling2D({.keepdims = true}); }},
    {"flatten", image, [] { return Flatten(); }},
    {"reshape", image,
     [] {
       return Reshape({12, -1});
     }},
    {"permute", image,
     [] {
       return Permute({3, 1, 2});
     }},
    {"re_lu", {3, 6}, [] { return ReLU(); }},
    {"re_lu_max_value", {3, 6}, [] { return ReLU({.max_value = 0.4}); }},
    {"re_lu_negative_slope", {3, 6}, [] { return ReLU({.max_value = 0.4, .negative_slope = 0.1}); }},
    {"leaky_re_lu", {3, 6}, [] { return LeakyReLU(); }},
    {"softmax", {3, 6}, [] { return Softmax(); }},
    {"batch_normalization", {5}, [] { return BatchNormalization(); }},
    {"batch_normalization_images", image, [] { return BatchNormalization({.momentum = 0.7, .epsilon = 0.1}); }},
    {"batch_normalization_no_scale", {5}, [] { return BatchNormalization({.momentum = 0.9, .scale = false}); }},
    {"batch_normalization_no_center", {5}, [] { return BatchNormalization({.momentum = 0.9, .center = false}); }},
    {"layer_normalization", {5}, [] { return LayerNormalization(); }},
    {"layer_normalization_images", {3, 3, 6}, [] { return LayerNormalization({.epsilon = 0.1}); }},
    {"layer_normalization_plain", {3, 6}, [] { return LayerNormalization({.center = false, .scale = false}); }},
    {"embedding", {4}, [] { return Embedding(6, 3); }, 0},
    {"add", {3, 4}, [] { return Add(); }, 3},
    {"multiply", {3, 4}, [] { return Multiply(); }, 3},
    {"concatenate", {3, 4}, [] { return Concatenate(); }, 3},
    {"concatenate_axis", {3, 4}, [] { return Concatenate({.axis = 1}); }, 3},
    {"zero_padding2d", image, [] { return ZeroPadding2D(); }},
    {"zero_padding2d_sides", image,
     [] {
       return ZeroPadding2D({Pair(1, 0), Pair(0, 2)});
     }},
    {"up_sampling2d",
     {3, 4, 2},
     [] {
       return UpSampling2D({2, 3});
     }},
    {"up_sampling2d_bilinear",
     {3, 4, 2},
     [] {
       return UpSampling2D({2, 3}, {.interpolation = "bilinear"});
     }},
    {"rescaling", {3, 4}, [] { return Rescaling(0.5, {.offset = -0.25}); }},
    activation("linear"),
    activation("relu"),
    activation("sigmoid"),
    activation("tanh"),
    activation("softmax"),
    activation("log_softmax"),
    activation("softplus"),
    activation("softsign"),
    activation("elu"),
    activation("selu"),
    activation("leaky_relu"),
    activation("gelu"),
    activation("swish"),
    activation("silu"),
    activation("exponential"),
    activation("hard_sigmoid"),
};

// Whole numbers in [0, 6) where the layer takes them.
Array layer_input(const LayerCase& example) {
  const Shape shape = with_batch(example.sample);
  if (example.fronts > 0) return hashed(0, shape);
  const Array parts = hashed(0, shape, 3.0, 3.0);
  Array words(DType::int32, shape);
  for (std::int64_t i = 0; i < words.elements(); ++i)
    words.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(parts.data<float>()[i]);
  return words;
}

class LayerParity : public testing::TestWithParam<LayerCase> {};

TEST_P(LayerParity, OutputsAndWeightsAfterTenStepsAreThoseOfKeras) {
  const LayerCase& example = GetParam();
  const std::string name = example.name;
  const Layer layer = example.make();
  const Tensor input = Input(example.sample, {.dtype = example.fronts > 0 ? DType::float32 : DType::int32});
  std::vector<Layer> layers;
  std::vector<Tensor> tensors;
  for (int i = 0; i < example.fronts; ++i) {
    layers.push_back(Dense(example.sample[example.sample.rank() - 1]));
    tensors.push_back(layers.back()(input));
  }
  if (tensors.empty()) tensors.push_back(input);
  Model model(input, layer(tensors));
  layers.push_back(layer);
  set_first_weights(layers);

  const Array x = layer_input(example);
  const Array y = model.predict(x);
  expect_near(y, name + ".forward");
  if (layer.kind() == "BatchNormalization") {
    expect_near(Model(input, layer(tensors, {.training = true})).predict(x), name + ".training");
    set_first_weights(layers);
  }
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  take_steps(model, x, hashed(1, y.shape()));
  expect_weights(layers, name);
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerParity, testing::ValuesIn(layer_cases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LayerParity, EveryLayerIsTested) {
  // What is drawn at random has no reference values; augmentation_test.cpp tests it.
  std::set<std::string> tested = {"InputLayer", "Dropout", "RandomFlip", "RandomTranslation", "RandomRotation"};
  for (const LayerCase& example : layer_cases) tested.insert(example.make().kind());
  std::ifstream header(PANDO_LAYERS_HEADER);
  const std::string begin = "struct PANDO_API ";
  std::set<std::string> declared;
  for (std::string line; std::getline(header, line);)
    if (const std::size_t end = line.find(" : Layer "); line.rfind(begin, 0) == 0 && end != std::string::npos)
      declared.insert(line.substr(begin.size(), end - begin.size()));
  EXPECT_EQ(tested, declared);
}

struct OptimizerCase {
  const char* name;
  Optimizer optimizer;
};

std::vector<OptimizerCase> optimizer_cases() {
  using namespace optimizers;
  using namespace optimizers::schedules;
  return {
      {"sgd", SGD({.learning_rate = 0.1})},
      {"sgd_momentum", SGD({.learning_rate = 0.1, .momentum = 0.9})},
      {"sgd_nesterov", SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true})},
      {"sgd_clipnorm", SGD({.learning_rate = 0.5, .clipnorm = 0.1})},
      {"sgd_global_clipnorm", SGD({.learning_rate = 0.5, .global_clipnorm = 0.2})},
      {"sgd_clipvalue", SGD({.learning_rate = 0.5, .clipvalue = 0.05})},
      {"adam", Adam({.learning_rate = 0.01})},
      {"adam_epsilon", Adam({.learning_rate = 0.05, .beta_1 = 0.8, .beta_2 = 0.9, .epsilon = 0.01})},
      {"adam_clipnorm", Adam({.learning_rate = 0.05, .epsilon = 0.1, .clipnorm = 0.1})},
      {"adamw", AdamW({.learning_rate = 0.01, .weight_decay = 0.1})},
      {"adamw_epsilon",
       AdamW({.learning_rate = 0.05, .weight_decay = 0.1, .beta_1 = 0.8, .beta_2 = 0.9, .epsilon = 0.01})},
      {"nadam", Nadam({.learning_rate = 0.01})},
      {"nadam_epsilon", Nadam({.learning_rate = 0.05, .beta_1 = 0.8, .beta_2 = 0.9, .epsilon = 0.01})},
      {"rmsprop", RMSprop({.learning_rate = 0.01})},
      {"rmsprop_epsilon", RMSprop({.learning_rate = 0.01, .rho = 0.8, .epsilon = 0.01})},
      {"rmsprop_momentum", RMSprop({.learning_rate = 0.01, .momentum = 0.5, .epsilon = 1e-4})},
      {"rmsprop_centered", RMSprop({.learning_rate = 0.01, .epsilon = 1e-4, .centered = true})},
      {"rmsprop_centered_momentum",
       RMSprop({.learning_rate = 0.01, .momentum = 0.5, .epsilon = 1e-4, .centered = true})},
      {"adagrad", Adagrad({.learning_rate = 0.1})},
      {"adagrad_epsilon", Adagrad({.learning_rate = 0.1, .initial_accumulator_value = 0.01, .epsilon = 0.05})},
      {"exponential_decay",
       SGD({.learning_rate = ExponentialDecay({.initial_learning_rate = 0.2, .decay_steps = 3, .decay_rate = 0.5})})},
      {"exponential_decay_staircase",
       SGD({.learning_rate = ExponentialDecay(
                {.initial_learning_rate = 0.2, .decay_steps = 3, .decay_rate = 0.5, .staircase = true})})},
      {"cosine_decay",
       SGD({.learning_rate = CosineDecay({.initial_learning_rate = 0.2, .decay_steps = 8, .alpha = 0.1})})},
      {"polynomial_decay",
       SGD({.learning_rate = PolynomialDecay(
                {.initial_learning_rate = 0.2, .decay_steps = 8, .end_learning_rate = 0.01, .power = 2})})},
      {"piecewise_constant_decay", SGD({.learning_rate = PiecewiseConstantDecay({3, 6}, {0.2, 0.1, 0.05})})},
      {"warm_up", SGD({.learning_rate = WarmUp(
                           4, ExponentialDecay({.initial_learning_rate = 0.2, .decay_steps = 3, .decay_rate = 0.5}))})},
      {"schedule_in_velocity",
       SGD({.learning_rate = ExponentialDecay({.initial_learning_rate = 0.2, .decay_steps = 3, .decay_rate = 0.5}),
            .momentum = 0.9})},
  };
}

class OptimizerParity : public testing::TestWithParam<OptimizerCase> {};

TEST_P(OptimizerParity, WeightsAfterTenStepsAreThoseOfKeras) {
  const std::vector<Layer> layers = {Dense(6, {.activation = "tanh", .input_shape = Shape{5}}), Dense(3)};
  Sequential model(layers);
  set_first_weights(layers);
  model.compile({.optimizer = GetParam().optimizer, .loss = "mse"});
  take_steps(model, hashed(0, {batch, 5}), hashed(1, {batch, 3}));
  expect_weights(layers, GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OptimizerParity, testing::ValuesIn(optimizer_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

struct LossCase {
  const char* name;
  const char* target;
  Loss loss;
  std::vector<Layer> head = {};
};

std::vector<LossCase> loss_cases() {
  using namespace losses;
  const Layer softmax = Softmax(), sigmoid = layers::Activation("sigmoid"), softplus = layers::Activation("softplus");
  const std::vector<Layer> shares = {softmax, Rescaling(0.8, {.offset = 0.02})};
  const std::vector<Layer> chances = {sigmoid, Rescaling(0.9, {.offset = 0.05})};
  return {
      {"categorical_crossentropy_logits", "one_hot", CategoricalCrossentropy({.from_logits = true})},
      {"categorical_crossentropy_softmax", "one_hot", "categorical_crossentropy", {softmax}},
      {"categorical_crossentropy_probabilities", "one_hot", CategoricalCrossentropy(), shares},
      {"categorical_crossentropy_smoothing", "one_hot", CategoricalCrossentropy({.label_smoothing = 0.2}), {softmax}},
      {"categorical_crossentropy_distribution", "distribution", CategoricalCrossentropy({.from_logits = true})},
      {"categorical_crossentropy_smoothing_logits", "one_hot",
       CategoricalCrossentropy({.from_logits = true, .label_smoothing = 0.2})},
      {"sparse_categorical_crossentropy_logits", "labels", SparseCategoricalCrossentropy({.from_logits = true})},
      {"sparse_categorical_crossentropy_softmax", "labels", "sparse_categorical_crossentropy", {softmax}},
      {"sparse_categorical_crossentropy_probabilities", "labels", SparseCategoricalCrossentropy(), shares},
      {"sparse_categorical_crossentropy_rank3", "labels_rank3", SparseCategoricalCrossentropy(), {softmax}},
      {"binary_crossentropy_logits", "binary", BinaryCrossentropy({.from_logits = true})},
      {"binary_crossentropy_sigmoid", "binary", "binary_crossentropy", {sigmoid}},
      {"binary_crossentropy_probabilities", "binary", BinaryCrossentropy(), chances},
      {"binary_crossentropy_smoothing", "binary", BinaryCrossentropy({.label_smoothing = 0.2}), {sigmoid}},
      {"binary_crossentropy_smoothing_logits", "binary",
       BinaryCrossentropy({.from_logits = true, .label_smoothing = 0.2})},
      {"mean_squared_error", "real", MeanSquaredError()},
      {"mean_squared_error_rank3", "real_rank3", MeanSquaredError()},
      {"mean_absolute_error", "real", MeanAbsoluteError()},
      {"huber", "real", Huber()},
      {"huber_delta", "real", Huber(0.3)},
      {"log_cosh", "real", LogCosh()},
      {"hinge_signs", "signs", Hinge()},
      {"hinge_binary", "binary", Hinge()},
      {"hinge_real", "real", Hinge()},
      {"poisson", "counts", Poisson(), {softplus}},
      {"kl_divergence", "distribution", KLDivergence(), {softmax}},
  };
}

class LossParity : public testing::TestWithParam<LossCase> {};

TEST_P(LossParity, ValueAndWeightsAfterTenStepsAreThoseOfKeras) {
  const std::string name = GetParam().name;
  const Shape sample = name.ends_with("rank3") ? Shape{3, 5} : Shape{5};
  const Tensor input = Input(sample);
  const Dense dense(4);
  Tensor output = dense(input);
  for (const Layer& layer : GetParam().head) output = layer(output);
  Model model(input, output);
  set_first_weights({dense});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = GetParam().loss});
  const Array x = hashed(0, with_batch(sample)), y = reference(std::string("targets.") + GetParam().target);
  expect_value(model.evaluate(x, y, {.verbose = 0})["loss"], name);
  take_steps(model, x, y);
  expect_weights({dense}, name);
}

INSTANTIATE_TEST_SUITE_P(Losses, LossParity, testing::ValuesIn(loss_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LossParity, PenaltiesAreThoseOfKeras) {
  const Dense dense(4, {.kernel_regularizer = regularizers::L1L2(0.02, 0.03),
                        .bias_regularizer = regularizers::L2(0.05),
                        .input_shape = Shape{5}});
  Sequential model({dense});
  set_first_weights({dense});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  const Array x = hashed(0, {batch, 5}), y = hashed(1, {batch, 4});
  expect_value(model.evaluate(x, y, {.verbose = 0})["loss"], "regularized");
  take_steps(model, x, y);
  expect_weights({dense}, "regularized");
}

// A model without weights, whose predictions are its inputs.
Logs evaluate(const char* predictions, const char* target, const CompileOptions& options) {
  const Array x = reference(std::string("predictions.") + predictions);
  Sequential model({layers::Activation("linear")});
  model.compile(options);
  return model.evaluate(x, reference(std::string("targets.") + target), {.verbose = 0});
}

TEST(LossParity, PredictionsOfZeroAndOneCostWhatTheyCostInKeras) {
  using namespace losses;
  const LossCase cases[] = {{"categorical_crossentropy_extremes", "one_hot", CategoricalCrossentropy()},
                            {"sparse_categorical_crossentropy_extremes", "labels", SparseCategoricalCrossentropy()},
                            {"binary_crossentropy_extremes", "binary", BinaryCrossentropy()},
                            {"poisson_extremes", "counts", Poisson()},
                            {"kl_divergence_extremes", "distribution", KLDivergence()}};
  for (const LossCase& example : cases)
    expect_value(evaluate("extreme", example.target, {.loss = example.loss})["loss"], example.name);
}

struct MetricCase {
  const char* name;
  const char* predictions;
  const char* target;
  Metric metric;
  Loss loss = "mse";
};

TEST(MetricParity, ValuesAreThoseOfKeras) {
  using namespace metrics;
  const Loss sparse = losses::SparseCategoricalCrossentropy({.from_logits = true});
  const MetricCase cases[] = {
      {"accuracy_binary", "logits", "class_binary", "accuracy"},
      {"accuracy_categorical", "scores", "class_one_hot", Accuracy()},
      {"accuracy_sparse", "scores", "class", "acc", sparse},
      {"categorical_accuracy", "scores", "class_one_hot", CategoricalAccuracy()},
      {"sparse_categorical_accuracy", "scores", "class", SparseCategoricalAccuracy(), sparse},
      {"binary_accuracy", "logits", "class_binary", BinaryAccuracy()},
      {"binary_accuracy_high", "logits", "class_binary", BinaryAccuracy(1.5)},
      {"binary_accuracy_low", "logits", "class_binary", BinaryAccuracy(-1.5)},
      {"top_k_categorical_accuracy", "scores", "class_one_hot", "top_k_categorical_accuracy"},
      {"top_k_categorical_accuracy_2", "scores", "class_one_hot", TopKCategoricalAccuracy(2)},
      {"sparse_top_k_categorical_accuracy", "scores", "class", SparseTopKCategoricalAccuracy(), sparse},
      {"sparse_top_k_categorical_accuracy_2", "scores", "class", SparseTopKCategoricalAccuracy(2), sparse},
      {"metric_mean_squared_error", "scores", "class_one_hot", MeanSquaredError()},
      {"metric_mean_absolute_error", "scores", "class_one_hot", MeanAbsoluteError()},
      {"metric_of_loss", "scores", "class_one_hot", losses::CategoricalCrossentropy({.from_logits = true})},
  };
  for (const MetricCase& example : cases) {
    const CompileOptions options = {.loss = example.loss, .metrics = {example.metric}};
    expect_value(evaluate(example.predictions, example.target, options)[example.metric.name()], example.name);
  }
}

}  // namespace
