// SPDX-License-Identifier: Apache-2.0
#include "cli/models.h"

#include <pando/frontends/keras/saving.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/paths.h"
#include "base/text.h"
#include "io/json.h"

namespace pando::cli {

namespace {

namespace layers = keras::layers;

Tensor mlp(Tensor x) { return layers::Dense(128, {.activation = "relu"})(layers::Flatten()(x)); }

Tensor keras_cnn(Tensor x) {
  for (int filters : {32, 64}) x = layers::MaxPooling2D()(layers::Conv2D(filters, 3, {.activation = "relu"})(x));
  return layers::Dropout(0.5)(layers::Flatten()(x));
}

Tensor fashion_cnn(Tensor x) {
  for (int i = 0; i < 2; ++i) x = layers::Conv2D(8, 3, {.activation = "relu", .padding = "same"})(x);
  return layers::Flatten()(x);
}

Tensor poptorch_cnn(Tensor x) {
  for (int filters : {32, 64}) x = layers::ReLU()(layers::MaxPooling2D()(layers::Conv2D(filters, 3)(x)));
  return layers::Dropout(0.5)(layers::Dense(128, {.activation = "relu"})(layers::Flatten()(x)));
}

Tensor lenet(Tensor x) {
  x = layers::MaxPooling2D()(layers::Conv2D(6, 5, {.activation = "relu", .padding = "same"})(x));
  x = layers::MaxPooling2D()(layers::Conv2D(16, 5, {.activation = "relu"})(x));
  x = layers::Flatten()(x);
  for (int units : {120, 84}) x = layers::Dense(units, {.activation = "relu"})(x);
  return x;
}

Tensor vgg_small(Tensor x) {
  for (int filters : {32, 64, 128}) {
    for (int i = 0; i < 2; ++i) x = layers::Conv2D(filters, 3, {.activation = "relu", .padding = "same"})(x);
    x = layers::MaxPooling2D()(x);
  }
  return layers::Dense(128, {.activation = "relu"})(layers::Flatten()(x));
}

constexpr const char* columns_layer = "columns";

// Pixels are bytes; the columns of a table have any size.
Tensor scaled(const Tensor& input, const SampleKind& kind) {
  if (!kind.is_table()) return layers::Rescaling(1.0 / 255)(input);
  // Small, because a column of small numbers must become as large as the others.
  const layers::BatchNormalization columns({.epsilon = 1e-12, .center = false, .scale = false, .name = columns_layer});
  // It keeps what learn_columns() gives it.
  columns.set_trainable(false);
  return columns(input);
}

void check_kind(const BuiltInModel& built_in, const SampleKind& kind) {
  if (kind.is_table()) {
    if (built_in.smallest_image > 0)
      throw Error(fmt::format("{} takes images, but {} has rows of {} numbers; use mlp, or your own model",
                              built_in.name, kind.dataset, kind.shape[0]));
    return;
  }
  if (std::min(kind.shape[0], kind.shape[1]) < built_in.smallest_image)
    throw Error(fmt::format(
        "{} needs images of at least {} x {} pixels, but those of {} have {} x {}; use mlp, or larger "
        "images",
        built_in.name, built_in.smallest_image, built_in.smallest_image, kind.dataset, kind.shape[1], kind.shape[0]));
}

// A model from samples as they are fed to probabilities.
OpenedModel make_built_in(const BuiltInModel& built_in, const SampleKind& kind) {
  check_kind(built_in, kind);
  const Tensor input = keras::Input(kind.shape);
  const Tensor features = built_in.layers(scaled(input, kind));
  const Tensor output = layers::Dense(kind.classes(), {.activation = "softmax"})(features);
  return {.model = keras::Model(input, output, {.name = built_in.name}),
          .input = kind.shape,
          .learns_columns = kind.is_table()};
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw Error(fmt::format("{}: cannot be read; check its name and permissions", path));
  return text.str();
}

const Json& member(const Json& json, const char* name, const std::string& path) {
  const Json* found = json.find(name);
  if (found == nullptr) throw Error(fmt::format("{} has no '{}'; give what Keras's to_json() makes", path, name));
  return *found;
}

// The shape of a sample, from the first layer that says one.
Shape input_of(const Json::List& list, const std::string& path) {
  for (const Json& layer : list)
    for (const char* name : {"batch_input_shape", "batch_shape"})
      if (const Json* shape = member(layer, "config", path).find(name)) {
        Shape sizes;
        const Json::List& all = shape->list(name);
        for (std::size_t i = 1; i < all.size(); ++i) sizes.append(all[i].is_null() ? -1 : all[i].integer(name));
        return sizes;
      }
  throw Error(fmt::format("{} does not say the shape of its input; give the first layer a batch_input_shape", path));
}

// Whether the last layer leaves its numbers as they are.
bool ends_in_logits(const Json& layer, const std::string& path) {
  if (const Json* kind = layer.find("class_name"); kind != nullptr && kind->string("class_name") == "Softmax")
    return false;
  const Json* activation = member(layer, "config", path).find("activation");
  return activation == nullptr || !activation->is_string() || activation->string("activation") == "linear";
}

OpenedModel opened(keras::Model model, const std::string& text, const std::string& path) {
  const Json json = Json::parse(text, path);
  const Json::List& list = member(member(json, "config", path), "layers", path).list("layers");
  if (list.empty()) throw Error(fmt::format("{} has no layers", path));
  return {std::move(model), input_of(list, path), ends_in_logits(list.back(), path)};
}

std::string saved_model_folder(const std::string& directory) {
  for (const std::string& folder : {directory + "/model", directory})
    if (is_file(folder + "/model.json")) return folder;
  throw Error(fmt::format("{}: holds no trained model; name the folder that 'pando train --save' or --checkpoint had",
                          directory));
}

}  // namespace

const std::vector<BuiltInModel>& built_in_models() {
  static const std::vector<BuiltInModel> list = {
      {"mlp", "a layer of 128 units; also for rows of numbers", 0, mlp},
      {"keras-cnn", "two convolutions with pooling, from the Keras tutorial", 10, keras_cnn},
      {"fashion-cnn", "two small convolutions, from the session tutorial", 1, fashion_cnn},
      {"poptorch-cnn", "two convolutions, 128 units, from the PopTorch tutorial", 10, poptorch_cnn},
      {"lenet", "LeNet-5 with ReLU and maximum pooling", 12, lenet},
      {"vgg-small", "six convolutions of 32 to 128 filters", 8, vgg_small}};
  return list;
}

std::vector<std::string> built_in_names() {
  std::vector<std::string> names;
  for (const BuiltInModel& model : built_in_models()) names.push_back(model.name);
  return names;
}

OpenedModel open_model(const std::string& word, const SampleKind& kind) {
  for (const BuiltInModel& built_in : built_in_models())
    if (built_in.name == word) return make_built_in(built_in, kind);
  if (is_folder(word)) return open_saved_model(word);
  if (word.ends_with(".json") || path_exists(word)) {
    const std::string text = text_of_file(word);
    return opened(keras::model_from_json(text), text, word);
  }
  throw UsageError("", fmt::format("{} (a .json file and the folder of a trained model are models too)",
                                   unknown_name("model", word, built_in_names())));
}

void learn_columns(OpenedModel& opened, const Array& rows) {
  if (!opened.learns_columns) return;
  const std::int64_t count = rows.shape()[0], columns = rows.shape()[1];
  Array mean(DType::float32, {columns}), variance(DType::float32, {columns});
  for (std::int64_t j = 0; j < columns; ++j) {
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(rows.data<float>()[i * columns + j]);
    const double middle = sum / static_cast<double>(count);
    for (std::int64_t i = 0; i < count; ++i) {
      const double apart = static_cast<double>(rows.data<float>()[i * columns + j]) - middle;
      squares += apart * apart;
    }
    mean.mutable_data<float>()[j] = static_cast<float>(middle);
    // A column of one number tells nothing, and must not become infinite.
    variance.mutable_data<float>()[j] = squares > 0 ? static_cast<float>(squares / static_cast<double>(count)) : 1.0f;
  }
  opened.model.get_layer(columns_layer).set_weights({mean, variance});
}

OpenedModel open_saved_model(const std::string& directory) {
  const std::string folder = saved_model_folder(directory), path = folder + "/model.json";
  return opened(keras::load_model(folder), text_of_file(path), path);
}

Array as_input(const OpenedModel& opened, const Array& x) {
  const std::int64_t count = x.shape()[0];
  Shape shape = {count};
  for (std::int64_t size : opened.input) shape.append(size);
  const Shape sample = x.shape().part(1, x.shape().rank());
  const bool open_size = std::find(opened.input.begin(), opened.input.end(), -1) != opened.input.end();
  if (open_size) return x;
  if (opened.input.elements() != sample.elements())
    throw Error(fmt::format("the model '{}' takes inputs of shape {}, but the samples are {}; use samples of that size",
                            opened.model.name(), to_string(opened.input), to_string(sample)));
  return x.reshape(shape);
}

}  // namespace pando::cli
