// SPDX-License-Identifier: Apache-2.0
// A checkpoint with a right sum may still be forged: each member is checked, and named if it makes no sense.
#include "frontends/keras/files/run_state.h"

#include <gtest/gtest.h>
#include <pando/pando.h>

#include <filesystem>
#include <limits>
#include <map>

#include "model/checkpoint_files.h"
#include "tests/data/temporary_folder.h"
#include "tests/message.h"

namespace pando::keras {
namespace {

// Of a run with everything: validation, a callback, an optimizer with states, broken off within its second epoch.
data::Safetensors make_checkpoint() {
  const TemporaryFolder folder;
  const Array x = arange(24).astype(DType::float32).reshape({24, 1}) / 24.0;
  Sequential model({layers::Dense(1, {.name = "line"})});
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.125}), .loss = "mse", .metrics = {"mae"}});
  std::int64_t batches = 0;
  const auto stop = callbacks::LambdaCallback({.on_train_batch_end = [&](std::int64_t, const Logs&) {
    if (++batches == 5) model.stop_training();
  }});
  model.fit(x, x * 2.0,
            {.batch_size = 8,
             .epochs = 3,
             .verbose = 0,
             .validation_data = {x, x},
             .callbacks = {callbacks::CSVLogger(folder.path() + "/log.csv"), stop},
             .checkpoint = {.directory = folder.path() + "/run"}});
  data::CheckpointFolder written(folder.path() + "/run", 3);
  return written.read_newest([](const std::string&) {})->contents;
}

const data::Safetensors& checkpoint() {
  static const data::Safetensors contents = make_checkpoint();
  return contents;
}

std::string& run_text(data::Safetensors& contents) {
  for (auto& [name, text] : contents.metadata)
    if (name == "run") return text;
  throw Error("there is no run");
}

Json run_json() {
  data::Safetensors contents = checkpoint();
  return Json::parse(run_text(contents), "it");
}

constexpr const char* taken = "(nothing was thrown)";

// What is said of a checkpoint with this JSON.
std::string verdict(const Json& json) {
  data::Safetensors forged = checkpoint();
  run_text(forged) = json.text();
  return message([&] { run_state_of(forged, "it"); });
}

// "position.history.epochs": the member there, or its removal if there is no value.
Json forged(const Json& json, const std::string& path, const std::optional<Json>& value) {
  const std::string name = path.substr(0, path.find('.'));
  Json::Object members;
  for (const auto& [known, old] : json.object("it"))
    if (known != name) members.emplace_back(known, old);
    else if (name != path) members.emplace_back(known, forged(old, path.substr(name.size() + 1), value));
    else if (value) members.emplace_back(known, *value);
  return members;
}

Json added(const Json& json, const std::string& object, const std::string& name, const Json& value) {
  Json inner = object.empty() ? json : *json.find(object);
  inner.set(name, value);
  return object.empty() ? inner : forged(json, object, inner);
}

TEST(RunState, OfARunIsTaken) { EXPECT_EQ(verdict(run_json()), taken); }

struct Forgery {
  std::string path;
  Json value;
  std::string problem;
};

TEST(RunState, ThatMakesNoSenseIsRefusedByTheNameOfItsMember) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const Json two = Json::List{1.0, 2.0};
  const auto curve = [](const char* name, const Json& values) {
    return Json::Object{{"name", name}, {"values", values}};
  };
  const std::vector<Forgery> forgeries = {
      {"position.epoch", -1, "position.epoch is -1 but must be at least 0"},
      {"position.epoch", 0, "position.epoch is 0 but history has the epoch 0"},
      {"position.epochs_begun", -5, "position.epochs_begun is -5 but must be at least 0"},
      {"position.epochs_begun", 0, "position.epochs_begun is 0 but history has 1 epochs"},
      {"position.batches", -3, "position.batches is -3 but must be at least 0"},
      {"position.batches", 4, "position.batches is 4 but an epoch has 3 batches"},
      {"position.batches", 1, "position.data.batches is 2 but batches is 1"},
      {"position.batches", 1.5, "position.batches is a number but should be an integer"},
      {"position.sums", Json::List(), "position.sums is a list of 0 numbers but there are 2 metrics"},
      {"position.sums", Json::List{1.0, 2.0, 3.0}, "position.sums is a list of 3 numbers but there are 2 metrics"},
      {"position.sums", Json::List{"a", "b"}, "position.sums is a string but should be a number"},
      {"position.count", -1, "position.count is -1 but must be a number of at least 0"},
      {"position.count", Json::exact(nan), "position.count is nan but must be a number of at least 0"},
      {"position.count", Json::exact(infinity), "position.count is inf but must be a number of at least 0"},
      {"position.data.batches", -2, "position.data.batches is -2 but must be at least 0"},
      {"position.data.batches", 3, "position.data.batches is 3 but batches is 2"},
      {"position.data.batches", std::int64_t{1} << 62, "position.data.batches is 4611686018427387904 but batches is 2"},
      {"position.validation.batches", -1, "position.validation.batches is -1 but must be at least 0"},
      {"position.history.epochs", Json::List{-1}, "position.history.epochs has -1 where a later epoch should be"},
      {"position.history.epochs", Json::List{0, 0}, "position.history.epochs has 0 where a later epoch should be"},
      {"position.history.epochs", Json::List{1}, "position.epoch is 1 but history has the epoch 1"},
      {"position.history.epochs", Json::List(), "position.history.curves.values has 1 numbers but there are 0 epochs"},
      {"position.history.curves", Json::List{curve("loss", two)},
       "position.history.curves.values has 2 numbers but there are 1 epochs"},
      {"position.history.curves", Json::List{curve("a", Json::List()), curve("a", Json::List())},
       "position.history.curves.name is 'a' twice"},
      {"position.history.curves", Json::List{curve("a", Json::List{"b"})},
       "position.history.curves.values is a string but should be a number"},
      {"subject.batch_size", 0, "subject.batch_size is 0 but must be at least 1"},
      {"subject.steps", -2, "subject.steps is -2 but must be at least -1"},
      {"subject.samples", -9, "subject.samples is -9 but must be at least -1"},
      {"subject.layers", Json::List{1}, "subject.layers is an integer but should be an object"},
      {"subject.losses", Json::List{1}, "subject.losses is an integer but should be a string"},
      {"settings.learning_rate", Json::exact(nan), "settings.learning_rate is nan but must be a number of at least 0"},
      {"metrics", Json::List{"loss", "loss"}, "metrics has 'loss' twice"},
      {"metrics", Json::List{"loss"}, "position.sums is a list of 2 numbers but there are 1 metrics"},
      {"updates", -1, "updates is -1 but must be at least 0"},
      {"updates", 0.5, "updates is a number but should be an integer"},
      {"learning_rate", Json::exact(nan), "learning_rate is nan but must be a number of at least 0"},
      {"learning_rate", Json::exact(infinity), "learning_rate is inf but must be a number of at least 0"},
      {"learning_rate", -0.5, "learning_rate is -0.5 but must be a number of at least 0"},
      {"layer_keys", Json::List{"a"}, "layer_keys is a string but should be an integer"},
  };
  for (const auto& [path, value, problem] : forgeries)
    EXPECT_EQ(verdict(forged(run_json(), path, value)), "it: is not a checkpoint: " + problem + "; use another one")
        << path << " = " << value.text();
  EXPECT_EQ(verdict(added(run_json(), "position", "finished_of", 0)),
            "it: is not a checkpoint: position.finished_of is 0 but must be at least 1; use another one");
}

std::vector<std::string> paths_in(const Json& json, const std::string& place = "") {
  std::vector<std::string> paths;
  for (const auto& [name, value] : json.object("it")) {
    paths.push_back(place + name);
    // What these hold is checked by the data set and the layer that they are of.
    if (value.is_object() && name != "now" && name != "pass")
      for (const std::string& inner : paths_in(value, place + name + ".")) paths.push_back(inner);
  }
  return paths;
}

TEST(RunState, ThatLacksAMemberIsRefusedByItsName) {
  const std::set<std::string> may_lack = {"position.validation", "settings.learning_rate", "learning_rate"};
  const std::vector<std::string> paths = paths_in(run_json());
  EXPECT_GT(paths.size(), 30u);
  for (const std::string& path : paths)
    EXPECT_EQ(verdict(forged(run_json(), path, std::nullopt)),
              may_lack.contains(path) ? taken : "it: is not a checkpoint: there is no '" + path + "'; use another one")
        << path;
}

TEST(RunState, WithAMemberOfAnotherTypeIsRefusedByItsName) {
  const Json whole = run_json();
  const auto member = [&](const std::string& path) {
    const Json* found = &whole;
    for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
      end = path.find('.', at);
      found = found->find(path.substr(at, end == std::string::npos ? end : end - at));
    }
    return *found;
  };
  int tried = 0;
  for (const std::string& path : paths_in(whole)) {
    if (path.ends_with(".now")) continue;
    const Json old = member(path);
    for (const Json& value :
         {Json(), Json(true), Json("text"), Json(Json::List{Json()}), Json(Json::Object()), Json(7)}) {
      const bool same_type = (value.is_string() && old.is_string()) || (value.is_number() && old.is_number());
      if (same_type) continue;
      ++tried;
      const std::string text = verdict(forged(whole, path, value));
      // An object that is empty lacks its members; null in a list is not one of its elements.
      const std::string named = value.is_object() && old.is_object() ? "there is no '" + path + "." : path + " is ";
      EXPECT_TRUE(text.starts_with("it: is not a checkpoint: ") && text.find(named) != std::string::npos)
          << path << " = " << value.text() << ": " << text;
    }
  }
  EXPECT_GT(tried, 150);
}

TEST(RunState, WithOtherArraysIsRefused) {
  const auto with = [&](const std::string& name, const Array& array) {
    data::Safetensors contents = checkpoint();
    std::erase_if(contents.tensors, [&](const data::NamedArray& tensor) { return tensor.name == name; });
    contents.tensors.push_back({name, array});
    return message([&] { run_state_of(contents, "it"); });
  };
  const auto refused = [](const std::string& problem) {
    return "it: is not a checkpoint: " + problem + "; use another one";
  };
  EXPECT_EQ(with("other", arange(3)), refused("the array 'other' is not one of a checkpoint"));
  EXPECT_EQ(with("callback/0/text", arange(3)), refused("'callback/0/text' is int64[3] but must be a list of uint8"));
  EXPECT_EQ(with("callback/0/text", Array(DType::uint8, {2, 2})),
            refused("'callback/0/text' is uint8[2, 2] but must be a list of uint8"));
  EXPECT_EQ(with("callback/7/text", Array(DType::uint8, {2})),
            refused("the arrays of the callbacks are not numbered from 0 on"));
  EXPECT_EQ(with("callback/0/5", arange(3)), refused("the arrays of the callbacks are not numbered from 0 on"));
}

TEST(RunState, KeepsUpdatesThatNeedMoreThan32Bits) {
  for (const std::int64_t updates :
       {(std::int64_t{1} << 31) - 1, std::int64_t{1} << 31, std::int64_t{1} << 32, (std::int64_t{1} << 62) + 1}) {
    RunState state = run_state_of(checkpoint(), "it");
    state.updates = updates;
    const std::vector<std::byte> bytes = data::checkpoint_bytes(to_safetensors(state));
    EXPECT_EQ(run_state_of(data::parse_checkpoint(bytes, "it"), "it").updates, updates);
  }
}

}  // namespace
}  // namespace pando::keras
