// SPDX-License-Identifier: Apache-2.0
#include <pando/frontends/keras/saving.h>

#include <pando/data/files.h>

#include <fmt/format.h>

#include <map>

#include "base/machine/usable_memory.h"
#include "base/paths.h"
#include "io/byte_store.h"
#include "io/file_writer.h"
#include "io/folder_writer.h"
#include "io/probe.h"
#include "data/formats/safetensors.h"
#include "frontends/keras/files/memory_limit.h"
#include "frontends/keras/files/model_json.h"
#include "frontends/keras/files/saving.h"
#include "frontends/keras/run/training.h"

namespace pando::keras {

namespace {

constexpr const char* model_file = "model.json";
constexpr const char* weights_file = "weights.safetensors";

bool is_safetensors(const std::string& path) { return path.ends_with(".safetensors"); }

// By name: "dense/kernel".
std::map<std::string, Parameter> named_weights(const Model& model) {
  std::map<std::string, Parameter> weights;
  for (const Parameter& weight : model.weights())
    if (!weights.emplace(weight.name(), weight).second)
      throw Error(fmt::format("two weights of the model '{}' are named '{}'; give their layers different names",
                              model.name(), weight.name()));
  return weights;
}

std::map<std::string, Array> read_arrays(const std::string& path) {
  if (!is_safetensors(path)) return data::read_npz(path);
  std::map<std::string, Array> arrays;
  for (const auto& [name, array] : data::read_safetensors(path).tensors) arrays.emplace(name, array);
  return arrays;
}

std::string read_text(const std::string& path) {
  const ByteStore store(path);
  std::string text(static_cast<std::size_t>(store.size()), ' ');
  text.resize(store.read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

Model model_of(const Json& json, const std::string& what) {
  // Training also needs gradients and the optimizer's states.
  const MemoryLimit limit(memory_for_a_file());
  const Model model = read_model(json, what);
  reserve_layer_names(model);
  return model;
}

}  // namespace

std::string Model::to_json() const { return model_json(*this).text(); }

Model model_from_json(const std::string& text) {
  return model_of(Json::parse(text, "model_from_json: the text"), "model_from_json");
}

void check_weights_path(const std::string& who, const std::string& path) {
  for (const char* ending : {".keras", ".h5", ".hdf5"})
    if (path.ends_with(ending))
      throw Error(fmt::format("{}: '{}' would not be a file that Keras reads; end its name in .safetensors or .npz",
                              who, path));
}

void Model::save_weights(const std::string& path) const {
  check_built("save_weights", *this);
  check_weights_path("save_weights", path);
  std::map<std::string, Array> arrays;
  for (const auto& [name, weight] : named_weights(*this)) arrays.emplace(name, weight.value());
  if (!is_safetensors(path)) return data::write_npz(path, arrays);
  data::Safetensors contents;
  for (const auto& [name, array] : arrays) contents.tensors.push_back({name, array});
  data::write_safetensors(path, contents);
}

void Model::load_weights(const std::string& path) {
  check_built("load_weights", *this);
  const std::map<std::string, Array> arrays = read_arrays(path);
  std::map<std::string, Parameter> parameters = named_weights(*this);
  for (const auto& [weight, parameter] : parameters) {
    const auto found = arrays.find(weight);
    if (found == arrays.end())
      throw Error(fmt::format("load_weights: {} has no '{}', which the model '{}' needs", path, weight, name()));
    if (found->second.shape() != parameter.shape())
      throw Error(fmt::format("load_weights: '{}' has shape {} in {} but {} in the model '{}'", weight,
                              to_string(found->second.shape()), path, to_string(parameter.shape()), name()));
  }
  for (auto& [weight, parameter] : parameters) parameter.set_value(arrays.at(weight));
}

namespace {

// A folder of such a name would not be what the name says.
void check_folder_name(const std::string& who, const std::string& path) {
  for (const char* ending :
       {".h5", ".hdf5", ".keras", ".onnx", ".tflite", ".pb", ".pt", ".pth", ".npz", ".safetensors"})
    if (path.ends_with(ending))
      throw Error(
          fmt::format("{}: '{}' would be a folder and not a {} file: Pando saves models as folders, with the "
                      "layers in model.json and the weights in weights.safetensors; give a name without '{}', "
                      "or save the weights alone with save_weights(), as .safetensors or .npz",
                      who, path, ending, ending));
}

}  // namespace

void Model::save(const std::string& directory) const {
  check_built("save", *this);
  check_folder_name("save", directory);
  // A model that cannot be saved is refused before anything is written.
  const std::string text = model_json(*this).text(2) + "\n";
  FolderWriter folder(directory, {model_file, weights_file});
  save_weights(folder.file(weights_file));
  write_file(folder.file(model_file), text);
  folder.commit();
}

void probe_save(const std::string& directory) {
  check_folder_name("save", directory);
  probe_folder(directory, {model_file, weights_file});
}

Model load_model(const std::string& directory) {
  if (is_file(directory))
    throw Error(
        fmt::format("load_model: '{}' is a file, but Pando reads models from folders that save() has written; "
                    "load_weights() reads .safetensors and .npz files",
                    directory));
  const std::string path = fmt::format("{}/{}", directory, model_file);
  Model model = model_of(Json::parse(read_text(path), path), path);
  model.load_weights(fmt::format("{}/{}", directory, weights_file));
  return model;
}

}  // namespace pando::keras
