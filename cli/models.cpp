#include "cli/models.h"

#include <pando/frontends/keras/saving.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "base/paths.h"
#include "base/text.h"

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

// A model from pixels, which are fed as bytes, to probabilities.
OpenedModel make_built_in(const BuiltInModel& built_in, const ImageKind& images) {
  const std::int64_t smaller = std::min(images.image[0], images.image[1]);
  if (smaller < built_in.smallest_image)
    throw Error(
        fmt::format("{} needs images of at least {} x {} pixels, but those of {} have {} x {}; use mlp, or larger "
                    "images",
                    built_in.name, built_in.smallest_image, built_in.smallest_image, images.dataset, images.image[1],
                    images.image[0]));
  const Tensor input = keras::Input(images.image);
  const Tensor features = built_in.layers(layers::Rescaling(1.0 / 255)(input));
  const Tensor output = layers::Dense(images.classes(), {.activation = "softmax"})(features);
  return {keras::Model(input, output, {.name = built_in.name}), images.image};
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
      {"mlp", "a layer of 128 units", 1, mlp},
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

OpenedModel open_model(const std::string& word, const ImageKind& images) {
  for (const BuiltInModel& built_in : built_in_models())
    if (built_in.name == word) return make_built_in(built_in, images);
  if (is_folder(word)) return open_saved_model(word);
  if (word.ends_with(".json") || path_exists(word)) {
    const std::string text = text_of_file(word);
    return opened(keras::model_from_json(text), text, word);
  }
  throw Error(fmt::format("{} (a .json file and the folder of a trained model are models too)",
                          unknown_name("model", word, built_in_names())));
}

OpenedModel open_saved_model(const std::string& directory) {
  const std::string folder = saved_model_folder(directory), path = folder + "/model.json";
  return opened(keras::load_model(folder), text_of_file(path), path);
}

Array as_input(const OpenedModel& opened, const Array& x) {
  const std::int64_t count = x.shape()[0];
  Shape shape = {count};
  for (std::int64_t size : opened.input) shape.append(size);
  const Shape image = x.shape().part(1, x.shape().rank());
  const bool open_size = std::find(opened.input.begin(), opened.input.end(), -1) != opened.input.end();
  if (open_size) return x;
  if (opened.input.elements() != image.elements())
    throw Error(fmt::format("the model '{}' takes inputs of shape {}, but the images are {}; use images of that size",
                            opened.model.name(), to_string(opened.input), to_string(image)));
  return x.reshape(shape);
}

}  // namespace pando::cli
