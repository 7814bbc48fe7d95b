// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "frontends/keras/files/config_fields.h"
#include "frontends/keras/files/layer_reader.h"
#include "frontends/keras/files/model_json.h"
#include "frontends/keras/build/names.h"
#include "frontends/keras/run/training.h"

namespace pando::keras {

namespace {

bool is_model(const std::string& kind) { return kind == "Sequential" || kind == "Functional" || kind == "Model"; }

Model read_model_entry(const LayerEntry& entry);

// Adds the name of the layer to every Error.
template <class Read>
auto reading_layer(const std::string& name, Read read) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(fmt::format("layer '{}': {}", name, error.what()));
  }
}

Layer read_layer(const LayerEntry& entry) {
  return reading_layer(entry.name, [&]() -> Layer {
    if (is_model(entry.kind)) return read_model_entry(entry);
    if (entry.kind != "InputLayer") return read_plain_layer(entry);
    const InputSettings input = read_input(entry);
    return layers::InputLayer(input.shape, input.options);
  });
}

// An output of a call of a layer: ["dense", 0, 0].
struct Place {
  std::string layer;
  std::int64_t node = 0, tensor = 0;
};

struct InboundNode {
  std::vector<Place> inputs;
  CallOptions options;
};

Place read_place(const Json& json) {
  const Json::List& parts = json.list("an output of a layer");
  if (parts.size() < 3)
    throw Error(
        fmt::format("{} is not an output of a layer: [name, number of the call, number of the output]", json.text()));
  return {parts[0].string("the name of a layer"), parts[1].integer("the number of a call"),
          parts[2].integer("the number of an output")};
}

// The arguments of a call that are not tensors.
void read_call_options(const Json& json, CallOptions& options) {
  ConfigFields fields = ConfigFields::reading(json, "a call");
  fields("training", options.training);
  fields.finish();
}

// Keras 3's tensors among the arguments of a call, in lists or not.
void add_keras_tensors(const Json& json, std::vector<Place>& places) {
  if (json.is_list()) {
    for (const Json& element : json.list("args")) add_keras_tensors(element, places);
  } else if (const Json* config = json.find("config")) {
    places.push_back(read_place(member(*config, "keras_history", "an argument")));
  } else {
    throw Error(fmt::format("the argument {} is not a tensor", json.text()));
  }
}

// [["dense", 0, 0, {}], ...], or one of those alone; or Keras 3's {"args": [...], "kwargs": {...}}.
InboundNode read_node(const Json& json) {
  InboundNode node;
  if (json.is_object()) {
    add_keras_tensors(member(json, "args", "an inbound node"), node.inputs);
    if (const Json* options = json.find("kwargs")) read_call_options(*options, node.options);
    return node;
  }
  const Json::List& list = json.list("an inbound node");
  const bool alone = !list.empty() && list[0].is_string();
  for (const Json& input : alone ? Json::List{json} : list) {
    node.inputs.push_back(read_place(input));
    if (const Json::List& parts = input.list(""); parts.size() > 3) read_call_options(parts[3], node.options);
  }
  return node;
}

// [["dense", 0, 0], ...], or one of those alone.
std::vector<Place> read_places(const Json& json, const std::string& what) {
  const Json::List& list = json.list(what);
  if (!list.empty() && list[0].is_string()) return {read_place(json)};
  std::vector<Place> places;
  for (const Json& place : list) places.push_back(read_place(place));
  return places;
}

// Calls the layers of a functional model as its file says.
class NetworkReader {
 public:
  explicit NetworkReader(const Json& config)
      : inputs_(read_places(member(config, "input_layers", "the model"), "input_layers")),
        outputs_(read_places(member(config, "output_layers", "the model"), "output_layers")) {
    for (const Json& json : member(config, "layers", "the model").list("layers")) add(json);
    number_first_calls();
  }

  Model model(const std::string& name) {
    call_all();
    std::vector<Tensor> inputs, outputs;
    for (const Place& place : inputs_) inputs.push_back(tensor_at(place));
    for (const Place& place : outputs_) outputs.push_back(tensor_at(place));
    return Model(inputs, outputs, {.name = name});
  }

 private:
  struct Called {
    std::string name;
    std::optional<Layer> layer;
    std::vector<InboundNode> nodes = {};
    // The outputs of each call that was made.
    std::vector<std::vector<Tensor>> outputs = {};
    // The number of the first call.
    std::int64_t first = 0;
  };

  void add(const Json& json) {
    const LayerEntry entry = read_entry(json);
    if (entry.name.empty()) throw Error(fmt::format("a layer ({}) has no 'name'", entry.kind));
    if (!by_name_.emplace(entry.name, layers_.size()).second)
      throw Error(fmt::format("two layers are named '{}'; the names of a model's layers must differ", entry.name));
    Called& called = layers_.emplace_back(Called{.name = entry.name, .layer = {}});
    if (entry.kind == "InputLayer") {
      const InputSettings input = reading_layer(entry.name, [&] { return read_input(entry); });
      called.outputs.push_back({Input(input.shape, input.options)});
      return;
    }
    called.layer = read_layer(entry);
    reading_layer(entry.name, [&] {
      for (const Json& node : member(json, "inbound_nodes", "it").list("inbound_nodes"))
        called.nodes.push_back(read_node(node));
    });
  }

  // In Keras a model has been called once, on its own inputs, before any other call: the numbers of its calls begin at
  // 1. If the file uses its call 0, they begin at 0.
  void number_first_calls() {
    std::set<std::string> begin_at_zero;
    const auto note = [&](const Place& place) {
      if (place.node == 0) begin_at_zero.insert(place.layer);
    };
    std::for_each(outputs_.begin(), outputs_.end(), note);
    for (const Called& called : layers_)
      for (const InboundNode& node : called.nodes) std::for_each(node.inputs.begin(), node.inputs.end(), note);
    for (Called& called : layers_)
      if (called.layer && is_model(called.layer->kind()) && !begin_at_zero.contains(called.name)) called.first = 1;
  }

  // A layer may come before those that it uses.
  void call_all() {
    for (bool any = true; any;) {
      any = false;
      for (Called& called : layers_)
        while (called.layer && called.outputs.size() < called.nodes.size() && call_next(called)) any = true;
    }
  }

  // False if an input does not exist yet.
  bool call_next(Called& called) {
    const InboundNode& node = called.nodes[called.outputs.size()];
    std::vector<Tensor> tensors;
    for (const Place& place : node.inputs) {
      const Tensor* tensor = find(place);
      if (tensor == nullptr) return false;
      tensors.push_back(*tensor);
    }
    called.outputs.push_back(called.layer->call(tensors, node.options));
    return true;
  }

  const Tensor* find(const Place& place) const {
    const auto found = by_name_.find(place.layer);
    if (found == by_name_.end()) return nullptr;
    const Called& called = layers_[found->second];
    const auto made = static_cast<std::int64_t>(called.outputs.size());
    if (place.node < called.first || place.node - called.first >= made) return nullptr;
    const std::vector<Tensor>& outputs = called.outputs[static_cast<std::size_t>(place.node - called.first)];
    const bool there = place.tensor >= 0 && place.tensor < static_cast<std::int64_t>(outputs.size());
    return there ? &outputs[static_cast<std::size_t>(place.tensor)] : nullptr;
  }

  const Tensor& tensor_at(const Place& place) const {
    if (const Tensor* tensor = find(place)) return *tensor;
    throw Error(fmt::format(
        "there is no output {} of call {} of a layer '{}': its layer is not in the file, or needs what is not there",
        place.tensor, place.node, place.layer));
  }

  std::vector<Place> inputs_, outputs_;
  std::vector<Called> layers_;
  std::map<std::string, std::size_t> by_name_;
};

Model read_sequential(const Json& config, const std::string& name) {
  // Older files have only the list.
  const Json& list = config.is_list() ? config : member(config, "layers", "the model");
  std::vector<Layer> stack;
  for (const Json& json : list.list("layers")) stack.push_back(read_layer(read_entry(json)));
  Sequential model(stack, {.name = name});
  const Json* shape = config.find("build_input_shape");
  if (!model.built() && !stack.empty() && shape != nullptr && shape->is_list())
    model.build({joined({-1}, sample_shape(*shape, "build_input_shape"))});
  return model;
}

Model read_model_entry(const LayerEntry& entry) {
  const Model model = entry.kind == "Sequential" ? read_sequential(entry.config, entry.name)
                                                 : NetworkReader(entry.config).model(entry.name);
  bool trainable = true;
  if (const Json* given = entry.config.find("trainable"); given != nullptr && !given->is_null())
    trainable = given->boolean("trainable");
  if (!trainable) model.set_trainable(false);
  return model;
}

}  // namespace

Model read_model(const Json& json, const std::string& what) {
  const Json* model = &json;
  for (const char* wrapping : {"modelTopology", "model_config"})
    if (const Json* inner = model->find(wrapping)) model = inner;
  try {
    model->object("the text");
    const LayerEntry entry = read_entry(*model);
    if (!is_model(entry.kind))
      throw Error(fmt::format("it is a layer ({}) but should be a model: Sequential or Functional", entry.kind));
    return read_model_entry(entry);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", what, error.what()));
  }
}

void reserve_layer_names(const Model& model) {
  for_each_layer(model, [](const Layer& layer) { reserve_name(layer.name()); });
}

}  // namespace pando::keras
