// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/files/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/text.h"
#include "io/byte_store.h"
#include "model/checkpoint_files.h"

namespace pando::keras {

namespace {

constexpr const char* format = "Pando checkpoint 2";
constexpr const char *weight_prefix = "weights/", *optimizer_prefix = "optimizer/", *callback_prefix = "callback/";

Json list_of(const auto& values) {
  Json::List list;
  for (const auto& value : values) list.emplace_back(value);
  return list;
}
Json list_of_numbers(const auto& values) {
  Json::List list;
  for (const double value : values) list.push_back(Json::exact(value));
  return list;
}
Json list_of_keys(const std::vector<std::uint64_t>& keys) {
  Json::List list;
  for (std::uint64_t key : keys) list.emplace_back(static_cast<std::int64_t>(key));
  return list;
}

Json to_json(const History& history) {
  Json::List curves;
  for (const plot::Curve& curve : history)
    curves.push_back(Json::Object{{"name", curve.name}, {"values", list_of_numbers(curve.values)}});
  return Json::Object{{"epochs", list_of(history.epochs())}, {"curves", std::move(curves)}};
}

Json to_json(const RunPosition& position) {
  Json json = Json::Object{{"epoch", position.epoch},
                           {"epochs_begun", position.epochs_begun},
                           {"batches", position.batches},
                           {"sums", list_of_numbers(position.sums.values)},
                           {"count", Json::exact(position.sums.count)},
                           {"history", to_json(position.history)},
                           {"data", to_json(position.data)}};
  if (position.validation) json.set("validation", to_json(*position.validation));
  if (position.finished_of) json.set("finished_of", *position.finished_of);
  return json;
}

Json to_json(const RunSettings& settings) {
  Json json = Json::Object{{"seed", static_cast<std::int64_t>(settings.seed)}};
  if (settings.learning_rate) json.set("learning_rate", *settings.learning_rate);
  return json;
}

Json to_json(const RunState& state) {
  Json json = Json::Object{{"position", to_json(state.position)},
                           {"subject", to_json(state.subject)},
                           {"settings", to_json(state.settings)},
                           {"metrics", list_of(state.metrics)},
                           {"model_key", static_cast<std::int64_t>(state.model_key)},
                           {"layer_keys", list_of_keys(state.layer_keys)},
                           {"optimizer", state.optimizer},
                           {"updates", state.updates}};
  if (state.learning_rate) json.set("learning_rate", Json::exact(*state.learning_rate));
  return json;
}

History history_of(const JsonFields& fields) {
  History history;
  const Json::List &epochs = fields.list("epochs"), &curves = fields.list("curves");
  std::set<std::string> names;
  for (const Json& curve : curves) {
    const JsonFields of_curve(curve, fields.what("curves."));
    if (of_curve.list("values").size() > epochs.size())
      throw Error(fmt::format("{} has {} numbers but there are {} epochs", of_curve.what("values"),
                              of_curve.list("values").size(), epochs.size()));
    if (!names.insert(of_curve.string("name")).second)
      throw Error(fmt::format("{} is '{}' twice", of_curve.what("name"), of_curve.string("name")));
  }
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    const std::int64_t epoch = epochs[i].integer(fields.what("epochs"));
    if (epoch < 0 || (i > 0 && epoch <= history.epochs().back()))
      throw Error(fmt::format("{} has {} where a later epoch should be", fields.what("epochs"), epoch));
    Logs logs;
    for (const Json& curve : curves) {
      const JsonFields of_curve(curve, fields.what("curves."));
      const Json::List& values = of_curve.list("values");
      // A curve that was not logged in the last epochs is shorter.
      if (i < values.size()) logs.set(of_curve.string("name"), values[i].number(of_curve.what("values")));
    }
    history.add(epoch, logs);
  }
  return history;
}

RunPosition position_of(const JsonFields& fields) {
  RunPosition position{.epoch = fields.integer("epoch", 0),
                       .epochs_begun = fields.integer("epochs_begun", 0),
                       .batches = fields.integer("batches", 0),
                       .sums = {fields.numbers("sums"), fields.amount("count")},
                       .history = history_of(fields.object("history")),
                       .data = data_position_of(fields.object("data"))};
  if (fields.has("validation")) position.validation = data_position_of(fields.object("validation"));
  if (fields.has("finished_of")) position.finished_of = fields.integer("finished_of", position.epoch);
  return position;
}

// Checks that involve several members.
void check_position(const RunPosition& position, const RunState& state) {
  const auto check = [](bool holds, const char* member, const auto& value, const std::string& rule) {
    if (!holds) throw Error(fmt::format("position.{} is {} but {}", member, value, rule));
  };
  const std::int64_t steps = state.subject.steps;
  check(steps < 0 || position.batches <= steps, "batches", position.batches,
        fmt::format("an epoch has {} batches", steps));
  const std::size_t sums = position.sums.values.size();
  check(sums == state.metrics.size() || (sums == 0 && position.batches == 0), "sums",
        fmt::format("a list of {} numbers", sums), fmt::format("there are {} metrics", state.metrics.size()));
  check(position.batches > 0 || position.sums.count == 0, "count", position.sums.count, "batches is 0");
  const std::vector<std::int64_t>& epochs = position.history.epochs();
  check(epochs.empty() || epochs.back() < position.epoch, "epoch", position.epoch,
        fmt::format("history has the epoch {}", epochs.empty() ? 0 : epochs.back()));
  check(position.epochs_begun >= static_cast<std::int64_t>(epochs.size()), "epochs_begun", position.epochs_begun,
        fmt::format("history has {} epochs", epochs.size()));
  // A Dataset may continue from epoch to epoch.
  const bool arrays = state.subject.samples >= 0;
  check(arrays ? position.data.batches == position.batches : position.data.batches >= position.batches, "data.batches",
        position.data.batches, fmt::format("batches is {}", position.batches));
}

RunSettings settings_of(const JsonFields& fields) {
  RunSettings settings{.seed = static_cast<std::uint64_t>(fields.integer("seed"))};
  if (fields.has("learning_rate")) settings.learning_rate = fields.amount("learning_rate");
  return settings;
}

RunState state_of(const Json& json) {
  const JsonFields fields(json);
  RunState state{.position = position_of(fields.object("position")),
                 .subject = subject_of(fields.object("subject")),
                 .settings = settings_of(fields.object("settings")),
                 .metrics = fields.names("metrics"),
                 .model_key = static_cast<std::uint64_t>(fields.integer("model_key")),
                 .layer_keys = {},
                 .optimizer = fields.string("optimizer"),
                 .updates = fields.integer("updates", 0),
                 .learning_rate = {},
                 .weights = {},
                 .optimizer_states = {},
                 .callbacks = {}};
  for (const Json& key : fields.list("layer_keys"))
    state.layer_keys.push_back(static_cast<std::uint64_t>(key.integer("layer_keys")));
  if (fields.has("learning_rate")) state.learning_rate = fields.amount("learning_rate");
  check_position(state.position, state);
  return state;
}

std::string type_text(const Array& array) { return fmt::format("{}{}", name(array.dtype()), to_string(array.shape())); }

std::string text_name(std::size_t callback) { return fmt::format("{}{}/text", callback_prefix, callback); }
std::string array_name(std::size_t callback, std::size_t index) {
  return fmt::format("{}{}/{}", callback_prefix, callback, index);
}

void add_callback(std::vector<data::NamedArray>& tensors, std::size_t number, const CallbackState& state) {
  // The state may be any bytes, which the text of the header could not hold.
  Array text(DType::uint8, {static_cast<std::int64_t>(state.text.size())});
  std::copy_n(state.text.data(), state.text.size(), reinterpret_cast<char*>(text.mutable_raw()));
  tensors.push_back({text_name(number), text});
  for (std::size_t i = 0; i < state.arrays.size(); ++i) tensors.push_back({array_name(number, i), state.arrays[i]});
}

std::vector<CallbackState> callbacks_of(const std::map<std::string, Array>& arrays) {
  std::vector<CallbackState> states;
  std::size_t taken = 0;
  for (auto text = arrays.find(text_name(0)); text != arrays.end(); text = arrays.find(text_name(states.size()))) {
    if (text->second.dtype() != DType::uint8 || text->second.shape().rank() != 1)
      throw Error(fmt::format("'{}' is {} but must be a list of uint8", text->first, type_text(text->second)));
    CallbackState state{.text = {reinterpret_cast<const char*>(text->second.raw()), text->second.bytes()}};
    for (auto found = arrays.find(array_name(states.size(), 0)); found != arrays.end();
         found = arrays.find(array_name(states.size(), state.arrays.size())))
      state.arrays.push_back(found->second);
    taken += 1 + state.arrays.size();
    states.push_back(std::move(state));
  }
  if (taken != arrays.size()) throw Error("the arrays of the callbacks are not numbered from 0 on");
  return states;
}

void add_arrays(RunState& state, const std::vector<data::NamedArray>& tensors) {
  std::map<std::string, Array> callbacks;
  for (const auto& [name, array] : tensors)
    if (name.starts_with(weight_prefix)) state.weights.push_back({name.substr(std::strlen(weight_prefix)), array});
    else if (name.starts_with(optimizer_prefix))
      state.optimizer_states.push_back({name.substr(std::strlen(optimizer_prefix)), array});
    else if (name.starts_with(callback_prefix)) callbacks.emplace(name, array);
    else throw Error(fmt::format("the array '{}' is not one of a checkpoint", name));
  state.callbacks = callbacks_of(callbacks);
}

}  // namespace

data::Safetensors to_safetensors(const RunState& state) {
  data::Safetensors contents;
  contents.metadata = data::checkpoint_metadata(format, to_json(state));
  for (const auto& [name, array] : state.weights) contents.tensors.push_back({weight_prefix + name, array});
  for (const auto& [name, array] : state.optimizer_states) contents.tensors.push_back({optimizer_prefix + name, array});
  for (std::size_t i = 0; i < state.callbacks.size(); ++i) add_callback(contents.tensors, i, state.callbacks[i]);
  return contents;
}

RunState run_state_of(const data::Safetensors& contents, const std::string& name) {
  const Json run = data::checkpoint_run(contents, format, name);
  try {
    RunState state = state_of(run);
    add_arrays(state, contents.tensors);
    return state;
  } catch (const Error& error) {
    throw_file_error(name, fmt::format("is not a checkpoint: {}", error.what()), "use another one");
  }
}

std::vector<std::string> differences(const RunState& there, const RunState& here) {
  std::vector<std::string> found;
  const auto check = [&](const char* what, const auto& a, const auto& b) {
    if (a != b) found.push_back(fmt::format("{} is {} there but {} here", what, a, b));
  };
  const auto rate = [](const RunState& state) { return state.learning_rate ? "a number" : "a schedule"; };
  const auto joined = [](const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); };
  const auto check_arrays = [&](const char* what, const auto& a, const auto& b) {
    if (const std::string difference = data::array_difference(what, a, b); !difference.empty())
      found.push_back(difference);
  };
  check_arrays("weights", there.weights, here.weights);
  check("the number of layers", there.layer_keys.size(), here.layer_keys.size());
  check("the optimizer", there.optimizer, here.optimizer);
  if (there.optimizer == here.optimizer)
    check_arrays("states of the optimizer", there.optimizer_states, here.optimizer_states);
  check("the learning rate", std::string(rate(there)), std::string(rate(here)));
  check("the list of metrics", joined(there.metrics), joined(here.metrics));
  compare(found, there.subject, here.subject);
  check("the number of callbacks", there.callbacks.size(), here.callbacks.size());
  return found;
}

std::vector<std::string> kept_settings(const RunState& there, const RunSettings& here) {
  std::vector<std::string> kept;
  const std::optional<double>&given = there.settings.learning_rate, &wanted = here.learning_rate;
  if (given && wanted && *given != *wanted && there.learning_rate)
    kept.push_back(fmt::format("the learning rate {} of the checkpoint (not {})", float_text(*there.learning_rate),
                               float_text(*wanted)));
  if (there.settings.seed != here.seed)
    kept.push_back(fmt::format("the random seed {} of the checkpoint (not {})", there.settings.seed, here.seed));
  return kept;
}

}  // namespace pando::keras
