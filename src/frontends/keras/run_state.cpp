#include "frontends/keras/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "io/byte_store.h"

namespace pando::keras {

namespace {

constexpr const char *format_entry = "format", *format = "Pando checkpoint 1", *run_entry = "run";
constexpr const char *weight_prefix = "weights/", *optimizer_prefix = "optimizer/", *callback_prefix = "callback/";

Json list_of(const auto& values) {
  Json::List list;
  for (const auto& value : values) list.emplace_back(value);
  return list;
}
Json list_of_keys(const std::vector<std::uint64_t>& keys) {
  Json::List list;
  for (std::uint64_t key : keys) list.emplace_back(static_cast<std::int64_t>(key));
  return list;
}

Json to_json(const DataPosition& position) {
  Json json = Json::Object{{"batches", position.batches}, {"now", position.now}};
  if (position.pass) json.set("pass", *position.pass);
  return json;
}

Json to_json(const History& history) {
  Json::List curves;
  for (const plot::Curve& curve : history)
    curves.push_back(Json::Object{{"name", curve.name}, {"values", list_of(curve.values)}});
  return Json::Object{{"epochs", list_of(history.epochs())}, {"curves", std::move(curves)}};
}

Json to_json(const RunPosition& position) {
  Json json = Json::Object{{"epoch", position.epoch},       {"epochs_begun", position.epochs_begun},
                           {"batches", position.batches},   {"sums", list_of(position.sums.values)},
                           {"count", position.sums.count},  {"history", to_json(position.history)},
                           {"data", to_json(position.data)}};
  if (position.validation) json.set("validation", to_json(*position.validation));
  if (position.finished_of) json.set("finished_of", *position.finished_of);
  return json;
}

Json to_json(const RunState& state) {
  Json json = Json::Object{{"position", to_json(state.position)},
                           {"data", Json::Object{{"batch_size", state.data.batch_size},
                                                 {"steps", state.data.steps},
                                                 {"samples", state.data.samples},
                                                 {"columns", state.data.columns}}},
                           {"metrics", list_of(state.metrics)},
                           {"model_key", static_cast<std::int64_t>(state.model_key)},
                           {"layer_keys", list_of_keys(state.layer_keys)},
                           {"optimizer", state.optimizer},
                           {"updates", state.updates}};
  if (state.learning_rate) json.set("learning_rate", *state.learning_rate);
  return json;
}

// Reads the members of an object; what is missing is an Error.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {}
  const Json& at(const char* name) const {
    const Json* found = json_.find(name);
    if (found == nullptr) throw Error(fmt::format("there is no '{}'", name));
    return *found;
  }
  std::int64_t integer(const char* name) const { return at(name).integer(name); }
  double number(const char* name) const { return at(name).number(name); }
  std::string string(const char* name) const { return at(name).string(name); }
  const Json::List& list(const char* name) const { return at(name).list(name); }
  std::vector<double> numbers(const char* name) const {
    std::vector<double> values;
    for (const Json& value : list(name)) values.push_back(value.number(name));
    return values;
  }
  bool has(const char* name) const { return json_.find(name) != nullptr; }

 private:
  const Json& json_;
};

DataPosition data_position_of(const Json& json) {
  const Fields fields(json);
  DataPosition position{.batches = fields.integer("batches"), .now = fields.at("now")};
  if (fields.has("pass")) position.pass = fields.at("pass");
  return position;
}

History history_of(const Json& json) {
  const Fields fields(json);
  History history;
  const Json::List &epochs = fields.list("epochs"), &curves = fields.list("curves");
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    Logs logs;
    for (const Json& curve : curves) {
      const Json::List& values = Fields(curve).list("values");
      // One that was not logged in the last epochs is shorter.
      if (i < values.size()) logs.set(Fields(curve).string("name"), values[i].number("values"));
    }
    history.add(epochs[i].integer("epochs"), logs);
  }
  return history;
}

RunPosition position_of(const Json& json) {
  const Fields fields(json);
  RunPosition position{.epoch = fields.integer("epoch"),
                       .epochs_begun = fields.integer("epochs_begun"),
                       .batches = fields.integer("batches"),
                       .sums = {fields.numbers("sums"), fields.number("count")},
                       .history = history_of(fields.at("history")),
                       .data = data_position_of(fields.at("data"))};
  if (fields.has("validation")) position.validation = data_position_of(fields.at("validation"));
  if (fields.has("finished_of")) position.finished_of = fields.integer("finished_of");
  return position;
}

RunState state_of(const Json& json) {
  const Fields fields(json), data(fields.at("data"));
  RunState state{
      .position = position_of(fields.at("position")),
      .data = {data.integer("batch_size"), data.integer("steps"), data.integer("samples"), data.string("columns")},
      .metrics = {},
      .model_key = static_cast<std::uint64_t>(fields.integer("model_key")),
      .layer_keys = {},
      .optimizer = fields.string("optimizer"),
      .updates = fields.integer("updates"),
      .learning_rate = {},
      .weights = {},
      .optimizer_states = {},
      .callbacks = {}};
  for (const Json& metric : fields.list("metrics")) state.metrics.push_back(metric.string("metrics"));
  for (const Json& key : fields.list("layer_keys"))
    state.layer_keys.push_back(static_cast<std::uint64_t>(key.integer("layer_keys")));
  if (fields.has("learning_rate")) state.learning_rate = fields.number("learning_rate");
  return state;
}

std::string text_name(std::size_t callback) { return fmt::format("{}{}/text", callback_prefix, callback); }
std::string array_name(std::size_t callback, std::size_t index) {
  return fmt::format("{}{}/{}", callback_prefix, callback, index);
}

void add_callback(std::vector<data::NamedArray>& tensors, std::size_t number, const CallbackState& state) {
  // Any bytes, which the text of the header could not hold.
  Array text(DType::uint8, {static_cast<std::int64_t>(state.text.size())});
  std::copy_n(state.text.data(), state.text.size(), reinterpret_cast<char*>(text.mutable_raw()));
  tensors.push_back({text_name(number), text});
  for (std::size_t i = 0; i < state.arrays.size(); ++i) tensors.push_back({array_name(number, i), state.arrays[i]});
}

std::vector<CallbackState> callbacks_of(const std::map<std::string, Array>& arrays) {
  std::vector<CallbackState> states;
  for (auto text = arrays.find(text_name(0)); text != arrays.end(); text = arrays.find(text_name(states.size()))) {
    CallbackState state{.text = {reinterpret_cast<const char*>(text->second.raw()), text->second.bytes()}};
    for (auto found = arrays.find(array_name(states.size(), 0)); found != arrays.end();
         found = arrays.find(array_name(states.size(), state.arrays.size())))
      state.arrays.push_back(found->second);
    states.push_back(std::move(state));
  }
  return states;
}

std::string type_text(const Array& array) { return fmt::format("{}{}", name(array.dtype()), to_string(array.shape())); }

// The first difference is enough: the others often follow from it.
void compare(std::vector<std::string>& found, const char* what, const std::vector<data::NamedArray>& there,
             const std::vector<data::NamedArray>& here) {
  if (there.size() != here.size()) {
    found.push_back(fmt::format("there are {} {} there but {} here", there.size(), what, here.size()));
    return;
  }
  for (std::size_t i = 0; i < there.size(); ++i) {
    const std::string a = fmt::format("'{}', {}", there[i].name, type_text(there[i].array));
    const std::string b = fmt::format("'{}', {}", here[i].name, type_text(here[i].array));
    if (a == b) continue;
    found.push_back(fmt::format("the {} have {} there but {} here", what, a, b));
    return;
  }
}

}  // namespace

data::Safetensors to_safetensors(const RunState& state) {
  data::Safetensors contents;
  contents.metadata = {{format_entry, format}, {run_entry, to_json(state).text()}};
  for (const auto& [name, array] : state.weights) contents.tensors.push_back({weight_prefix + name, array});
  for (const auto& [name, array] : state.optimizer_states) contents.tensors.push_back({optimizer_prefix + name, array});
  for (std::size_t i = 0; i < state.callbacks.size(); ++i) add_callback(contents.tensors, i, state.callbacks[i]);
  return contents;
}

RunState run_state_of(const data::Safetensors& contents, const std::string& name) {
  const auto entry = [&](const std::string& key) -> const std::string& {
    for (const auto& [known, text] : contents.metadata)
      if (known == key) return text;
    throw_file_error(name, fmt::format("has no '{}' and is no checkpoint", key), "use another one");
  };
  if (entry(format_entry) != format)
    throw_file_error(name, fmt::format("is a '{}', and this is a Pando for '{}'", entry(format_entry), format),
                     "use the Pando that wrote it");
  RunState state;
  try {
    state = state_of(Json::parse(entry(run_entry), "its state"));
  } catch (const Error& error) {
    throw_file_error(name, fmt::format("is no checkpoint: {}", error.what()), "use another one");
  }
  std::map<std::string, Array> callbacks;
  const auto take = [](std::vector<data::NamedArray>& list, const std::string& prefix, const data::NamedArray& tensor) {
    if (tensor.name.starts_with(prefix)) list.push_back({tensor.name.substr(prefix.size()), tensor.array});
  };
  for (const data::NamedArray& tensor : contents.tensors) {
    take(state.weights, weight_prefix, tensor);
    take(state.optimizer_states, optimizer_prefix, tensor);
    if (tensor.name.starts_with(callback_prefix)) callbacks.emplace(tensor.name, tensor.array);
  }
  state.callbacks = callbacks_of(callbacks);
  return state;
}

std::vector<std::string> differences(const RunState& there, const RunState& here) {
  std::vector<std::string> found;
  const auto check = [&](const char* what, const auto& a, const auto& b) {
    if (a != b) found.push_back(fmt::format("{} is {} there but {} here", what, a, b));
  };
  const auto rate = [](const RunState& state) { return state.learning_rate ? "a number" : "a schedule"; };
  const auto joined = [](const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); };
  compare(found, "weights", there.weights, here.weights);
  check("the number of layers", there.layer_keys.size(), here.layer_keys.size());
  check("the optimizer", there.optimizer, here.optimizer);
  if (there.optimizer == here.optimizer)
    compare(found, "states of the optimizer", there.optimizer_states, here.optimizer_states);
  check("the learning rate", std::string(rate(there)), std::string(rate(here)));
  check("the list of metrics", joined(there.metrics), joined(here.metrics));
  check("batch_size", there.data.batch_size, here.data.batch_size);
  check("the number of batches of an epoch", there.data.steps, here.data.steps);
  check("the number of samples", there.data.samples, here.data.samples);
  check("a sample", there.data.columns, here.data.columns);
  check("the number of callbacks", there.callbacks.size(), here.callbacks.size());
  return found;
}

}  // namespace pando::keras
