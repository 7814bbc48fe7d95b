// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/files/layer_reader.h"

#include <fmt/format.h>

#include "base/text.h"
#include "frontends/keras/build/layers/layer_class.h"
#include "frontends/keras/files/memory_limit.h"

namespace pando::keras {

namespace {

const std::vector<LayerClass>& layer_classes() {
  static const std::vector<LayerClass> all = [] {
    std::vector<LayerClass> list;
    for (const auto& classes :
         {activation_classes(), augmentation_classes(), convolution_classes(), core_classes(), image_classes(),
          merge_classes(), normalization_classes(), pooling_classes(), shape_classes()})
      list.insert(list.end(), classes.begin(), classes.end());
    return list;
  }();
  return all;
}

const LayerClass& layer_class_named(const std::string& kind) {
  std::vector<std::string> known = {"Functional", "InputLayer", "Sequential"};
  for (const LayerClass& layer_class : layer_classes()) {
    if (layer_class.kind == kind) return layer_class;
    known.push_back(layer_class.kind);
  }
  if (kind == "Lambda" || kind == "TFOpLambda")
    throw Error(fmt::format("{} is code, which a file cannot hold; use a layer of Keras's in its place", kind));
  throw Error(unknown_name("layer class", kind, known));
}

// The first of these names that the config has.
std::optional<Shape> input_shape_of(const Json& config) {
  for (const char* key : {"batch_input_shape", "batch_shape"})
    if (const Json* shape = config.find(key); shape != nullptr && !shape->is_null()) return sample_shape(*shape, key);
  return std::nullopt;
}

// Newer files have an object for it.
std::string dtype_of_config(const Json& config) {
  const Json* dtype = config.find("dtype");
  if (dtype == nullptr || dtype->is_null()) return "float32";
  if (!dtype->is_object()) return dtype->string("dtype");
  return member(member(*dtype, "config", "dtype"), "name", "dtype").string("dtype");
}

void ignore_inputs(ConfigFields& fields) {
  for (const char* key : {"batch_input_shape", "batch_shape", "dtype", "batch_size"}) fields.ignored(key);
}

}  // namespace

const Json& member(const Json& json, const char* key, std::string_view what) {
  const Json* found = json.find(key);
  if (found == nullptr) throw Error(fmt::format("{} has no '{}'", what, key));
  return *found;
}

Shape sample_shape(const Json& json, const std::string& what) {
  const Json::List& sizes = json.list(what);
  if (sizes.empty()) throw Error(fmt::format("{} is empty but begins with the batch, null", what));
  Shape shape;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    std::int64_t size = 0;
    if (sizes[i].is_null())
      throw Error(fmt::format("{} is {}, and only the batch may be null; give the other sizes", what, json.text()));
    read_config_value(sizes[i], what, size);
    if (size < 1) throw Error(fmt::format("{} is {} but every size must be at least 1", what, json.text()));
    shape.append(size);
  }
  charge_memory(shape);
  return shape;
}

LayerEntry read_entry(const Json& json) {
  const std::string& kind = member(json, "class_name", "a layer").string("class_name");
  const Json& config = member(json, "config", fmt::format("a layer ({})", kind));
  const Json* name = json.find("name");
  if (name == nullptr) name = config.find("name");
  return {kind, name == nullptr || name->is_null() ? "" : name->string("the name of a layer"), config};
}

InputSettings read_input(const LayerEntry& entry) {
  entry.config.object("config");
  ConfigFields fields = ConfigFields::reading(entry.config, "InputLayer");
  InputSettings settings;
  settings.options.name = entry.name;
  ignore_inputs(fields);
  fields.ignored("name");
  fields.ignored("trainable");
  fields.fixed("sparse", false);
  fields.fixed("ragged", false);
  const std::optional<Shape> shape = input_shape_of(entry.config);
  if (!shape) throw Error("InputLayer: the key 'batch_input_shape' is missing");
  fields.finish();
  settings.shape = *shape;
  settings.options.dtype = parse_dtype(dtype_of_config(entry.config));
  return settings;
}

Layer read_plain_layer(const LayerEntry& entry) {
  const LayerClass& layer_class = layer_class_named(entry.kind);
  entry.config.object("config");
  ConfigFields fields = ConfigFields::reading(entry.config, entry.kind);
  bool trainable = true;
  fields("trainable", trainable);
  fields.ignored("name");
  fields.fixed("activity_regularizer", {});
  ignore_inputs(fields);
  if (const std::string dtype = dtype_of_config(entry.config); dtype != "float32")
    throw Error(fmt::format("{}: dtype is \"{}\", and only \"float32\" is supported", entry.kind, dtype));
  const Layer layer = layer_class.make(fields, entry.name);
  fields.finish();
  layer.body().input_shape = input_shape_of(entry.config);
  layer.set_trainable(trainable);
  return layer;
}

}  // namespace pando::keras
