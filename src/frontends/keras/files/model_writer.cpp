// SPDX-License-Identifier: Apache-2.0
#include <pando/frontends/keras/saving.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "frontends/keras/files/config_fields.h"
#include "frontends/keras/files/model_json.h"
#include "frontends/keras/run/training.h"

namespace pando::keras {

namespace {

// The form that is written is that of this version.
constexpr const char* keras_version = "2.15.0";

using Call = std::shared_ptr<const Recording>;

const ModelBody* model_body(const Layer& layer) { return dynamic_cast<const ModelBody*>(&layer.body()); }

// With null for the batch.
Json batch_shape(const Shape& sample) {
  Json::List sizes = {Json()};
  for (const std::int64_t size : sample) sizes.emplace_back(size);
  return sizes;
}

Json input_entry(const std::string& name, const Shape& sample, DType dtype) {
  return Json::Object{{"class_name", "InputLayer"},
                      {"config", Json::Object{{"batch_input_shape", batch_shape(sample)},
                                              {"dtype", pando::name(dtype)},
                                              {"sparse", false},
                                              {"ragged", false},
                                              {"name", name}}}};
}

// In Keras a frozen model freezes what is inside; here a layer inside may have been made trainable again.
bool is_trainable(const Layer& layer) {
  const std::vector<Layer> inner = layer.body().layers();
  return layer.trainable() || std::any_of(inner.begin(), inner.end(), is_trainable);
}

class ModelWriter {
 public:
  enum class OwnFunctions { refused, left_out };
  explicit ModelWriter(OwnFunctions own_functions = OwnFunctions::refused) : own_functions_(own_functions) {}

  // {"class_name", "config"}; `built_for` is the shape of a sample that a stack was built for with this layer in front.
  Json entry(const Layer& layer, const std::optional<Shape>& built_for = {}) {
    if (!written_.insert(LayerAccess::identity(layer)).second)
      throw Error(fmt::format(
          "the layer '{}' is there twice, in a Sequential model or in two models, and a file would make two layers "
          "of it; use it in one functional model",
          layer.name()));
    if (const ModelBody* model = model_body(layer))
      return Json::Object{{"class_name", layer.kind()}, {"config", model_config(layer, *model)}};
    if (layer.kind() == "InputLayer")
      return input_entry(layer.name(), *layer.body().input_shape, *layer.body().input_dtype());
    Json config = Json::Object{{"name", layer.name()}, {"trainable", layer.trainable()}};
    const std::optional<Shape>& input = layer.body().input_shape ? layer.body().input_shape : built_for;
    if (input) config.set("batch_input_shape", batch_shape(*input));
    config.set("dtype", "float32");
    try {
      ConfigFields fields = own_functions_ == OwnFunctions::refused ? ConfigFields::writing(config)
                                                                    : ConfigFields::writing_what_files_hold(config);
      layer.body().describe(fields);
    } catch (const Error& error) {
      throw Error(fmt::format("the layer '{}' ({}) cannot be saved: {}", layer.name(), layer.kind(), error.what()));
    }
    return Json::Object{{"class_name", layer.kind()}, {"config", config}};
  }

 private:
  // Which output of which call of which layer a tensor is.
  struct Place {
    std::string layer;
    std::int64_t node = 0, tensor = 0;
  };
  using Places = std::map<std::pair<const Recording*, int>, Place>;

  Json model_config(const Layer& layer, const ModelBody& model) {
    Json config = Json::Object{{"name", layer.name()}, {"trainable", is_trainable(layer)}};
    if (model.is_sequential()) add_stack(config, model);
    else add_network(config, *model.network());
    return config;
  }

  void add_stack(Json& config, const ModelBody& model) {
    std::optional<Shape> built_for;
    if (model.network() != nullptr) {
      const Shape& input = model.network()->inputs[0].shape();
      built_for = input.part(1, input.rank());
    }
    Json::List entries;
    for (const Layer& layer : model.layers())
      entries.push_back(entry(layer, entries.empty() ? built_for : std::nullopt));
    config.set("layers", entries);
    // A model as the first layer says nothing about its input.
    if (built_for && model_body(model.layers().front()) != nullptr)
      config.set("build_input_shape", batch_shape(*built_for));
  }

  void add_network(Json& config, const Network& network) {
    std::set<std::string> names;
    for (const Layer& layer : network.layers) names.insert(layer.name());
    Places places;
    Json::List entries, inputs, outputs;
    for (const Tensor& input : network.inputs) {
      Place& place = places[{input.state().recording.get(), input.state().output}];
      if (place.layer.empty()) {
        place.layer = input_name(*input.state().recording, names);
        Json added = input_entry(place.layer, input.shape().part(1, input.shape().rank()), input.dtype());
        added.set("name", place.layer);
        added.set("inbound_nodes", Json::List());
        entries.push_back(added);
      }
      inputs.push_back(Json::List{place.layer, 0, 0});
    }
    const std::map<const void*, std::vector<Call>> calls = calls_of_layers(network, places);
    for (const Layer& layer : network.layers) {
      const auto found = calls.find(LayerAccess::identity(layer).get());
      if (found != calls.end()) entries.push_back(called_entry(layer, found->second, places));
    }
    for (const Tensor& output : network.outputs) {
      const Place& place = place_of(output, places);
      outputs.push_back(Json::List{place.layer, place.node, place.tensor});
    }
    config.set("layers", entries);
    config.set("input_layers", inputs);
    config.set("output_layers", outputs);
  }

  // Its own, or one after the layer whose output the model takes as its input.
  static std::string input_name(const Recording& call, std::set<std::string>& names) {
    std::string name = call.function ? call.name + "_input" : call.name;
    if (call.function)
      while (names.contains(name)) name += "_";
    if (!names.insert(name).second)
      throw Error(fmt::format("an input and a layer, or two inputs, are named '{}'; give them different names", name));
    return name;
  }

  // In the order in which they were made, which numbers them; and where their outputs are.
  static std::map<const void*, std::vector<Call>> calls_of_layers(const Network& network, Places& places) {
    std::map<const void*, std::vector<Call>> calls;
    for (const Call& call : network.calls) {
      const bool is_input = std::any_of(network.inputs.begin(), network.inputs.end(),
                                        [&](const Tensor& input) { return input.state().recording == call; });
      if (is_input) continue;
      if (call->layer == nullptr)
        throw Error(fmt::format(
            "the call of '{}' does not belong to a layer, and a file cannot hold it; use a layer such as Add",
            call->name));
      calls[call->layer.get()].push_back(call);
    }
    for (auto& [layer, list] : calls) {
      std::sort(list.begin(), list.end(), [](const Call& a, const Call& b) { return a->call < b->call; });
      // In Keras a model has been called once, on its own inputs, before any other call.
      const Layer called = LayerAccess::layer_of(list.front()->layer);
      std::int64_t node = model_body(called) != nullptr ? 1 : 0;
      for (const Call& call : list) {
        for (int i = 0; i < static_cast<int>(call->outputs.size()); ++i)
          places[{call.get(), i}] = {called.name(), node, i};
        ++node;
      }
    }
    return calls;
  }

  static const Place& place_of(const Tensor& tensor, const Places& places) {
    const auto found = places.find({tensor.state().recording.get(), tensor.state().output});
    if (found == places.end())
      throw Error(fmt::format("an output of '{}' is used that is not among the model's inputs; add it",
                              tensor.state().recording->name));
    return found->second;
  }

  Json called_entry(const Layer& layer, const std::vector<Call>& calls, const Places& places) {
    Json called = entry(layer);
    called.set("name", layer.name());
    Json::List nodes;
    for (const Call& call : calls) {
      Json options = Json::Object();
      if (call->training) options.set("training", *call->training);
      Json::List tensors;
      for (const Tensor& input : call->inputs) {
        const Place& place = place_of(input, places);
        tensors.push_back(Json::List{place.layer, place.node, place.tensor, options});
      }
      nodes.emplace_back(std::move(tensors));
    }
    called.set("inbound_nodes", nodes);
    return called;
  }

  OwnFunctions own_functions_;
  std::set<std::shared_ptr<void>> written_;
};

}  // namespace

Json model_json(const Model& model) {
  Json json = ModelWriter().entry(model);
  json.set("keras_version", keras_version);
  json.set("backend", "tensorflow");
  return json;
}

std::string layer_config(const Layer& layer, const LayerConfigOptions& options) {
  using enum ModelWriter::OwnFunctions;
  return ModelWriter(options.leave_out_functions ? left_out : refused).entry(layer).find("config")->text();
}

}  // namespace pando::keras
