// SPDX-License-Identifier: Apache-2.0
#include "cli/train_results.h"

#include <pando/version.h>

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/paths.h"
#include "cli/output.h"

namespace pando::cli {

namespace {

constexpr int failed_status = 1, lost_status = 3, interrupted_status = 130;

// The numbers of the last epoch under the names of a test; those of the validation begin with "val_".
keras::Logs last_epoch(const keras::History& history, const std::string& prefix = "") {
  keras::Logs logs;
  for (const plot::Curve& curve : history)
    if (!curve.values.empty() && curve.name.starts_with(prefix))
      logs.set(curve.name.substr(prefix.size()), curve.values.back());
  return logs;
}

void print_table(const Outcome& outcome) {
  Table table({"", "loss", "accuracy"});
  bool empty = true;
  const auto add = [&](const char* name, const keras::Logs& logs) {
    if (!logs.contains("loss")) return;
    table.add({name, fmt::format("{:.4f}", logs["loss"]), percent(logs["accuracy"])});
    empty = false;
  };
  add("training", last_epoch(outcome.history));
  add("validation", last_epoch(outcome.history, "val_"));
  add("test", outcome.test);
  // A run that was interrupted in its first epoch has no numbers.
  if (!empty) print(table.text());
}

Json json_of(const keras::Logs& logs) {
  Json json;
  for (const auto& [name, value] : logs) json.set(name, value);
  return json;
}

// All options of the command, with the values that they had in this run.
Json options_json(const Arguments& arguments) {
  Json json;
  for (const Option& option : arguments.options()) {
    const std::string text = arguments.text(option.name);
    Json value;
    if (option.kind == Option::Kind::flag) value = arguments.flag(option.name);
    else if (text.empty()) value = Json();
    else if (option.kind == Option::Kind::whole) value = arguments.whole(option.name);
    else if (option.kind == Option::Kind::number) value = arguments.number(option.name);
    else value = text;
    std::string name = option.name;
    for (char& c : name)
      if (c == '-') c = '_';
    json.set(name, value);
  }
  return json;
}

Json model_json(const TrainedRun& run) {
  Json json;
  json.set("name", run.opened.model.name());
  json.set("parameters", run.opened.model.count_params());
  json.set("input_shape", json_list(run.opened.input));
  json.set("classes", json_list(run.kind.class_names));
  return json;
}

Json division_json(const Division& division) {
  Json json;
  json.set("ipus", division.ipus);
  json.set("stages", division.stages);
  json.set("replicas", division.replicas);
  json.set("gradient_accumulation_count", division.gradient_accumulation);
  return json;
}

// Where everything is that the run wrote; what it did not write is not in it.
std::vector<std::pair<std::string, std::string>> written_paths(const TrainedRun& run) {
  std::vector<std::pair<std::string, std::string>> paths;
  if (!run.place.saved().empty()) paths.emplace_back("model", run.place.saved());
  for (const char* option : {"report", "profile", "log-csv", "checkpoint"})
    if (run.arguments.given(option) && path_exists(run.arguments.text(option)))
      paths.emplace_back(option, run.arguments.text(option));
  return paths;
}

Json json_of(const TrainedRun& run) {
  const Outcome& outcome = run.outcome;
  Json json, history, paths = Json::Object();
  for (const plot::Curve& curve : outcome.history) history.set(curve.name, json_list(curve.values));
  for (const auto& [name, path] : written_paths(run)) paths.set(name == "log-csv" ? "log_csv" : name, path);
  json.set("version", PANDO_VERSION);
  json.set("command", run.arguments.line());
  json.set("model", model_json(run));
  json.set("dataset", run.kind.dataset);
  json.set("train_samples", run.trained);
  json.set("validation_samples", run.validated);
  json.set("test_samples", run.kind.test);
  json.set("skipped", json_list(run.skipped));
  json.set("sample_shape", json_list(run.kind.shape));
  json.set("seed", run.arguments.whole("seed"));
  json.set("learning_rate", run.opened.model.optimizer().learning_rate());
  json.set("division", division_json(run.division));
  json.set("options", options_json(run.arguments));
  json.set("seconds", outcome.seconds);
  json.set("interrupted", outcome.interrupted);
  json.set("history", history);
  if (!outcome.test.empty()) json.set("test", json_of(outcome.test));
  json.set("paths", paths);
  return json;
}

void tell_paths(const TrainedRun& run) {
  const auto sentence = [&](const std::string& name) -> const char* {
    if (name == "model") return run.outcome.interrupted ? "The model so far is in {}." : "The model is in {}.";
    if (name == "report") return "The page about the run is {}.";
    if (name == "profile") return "The timeline is in {}.";
    if (name == "log-csv") return "The numbers of each epoch are in {}.";
    return "The checkpoints are in {}.";
  };
  for (const auto& [name, path] : written_paths(run)) tell(fmt::format(fmt::runtime(sentence(name)), shell_word(path)));
}

void tell_interrupted(const TrainedRun& run) {
  if (!run.arguments.given("checkpoint")) {
    tell("Interrupted: the run cannot be resumed, because no checkpoint was kept; --checkpoint DIR keeps one.");
    return;
  }
  tell(fmt::format("To go on:\n  {}{}", run.arguments.line(), run.arguments.flag("resume") ? "" : " --resume"));
}

void tell_next(const TrainedRun& run) {
  if (run.arguments.flag("quiet")) return;
  const std::string model = shell_word(run.place.saved());
  tell(fmt::format("Try next:\n  {} evaluate --model {}\n  {} predict --model {} 0 1 2", program(), model, program(),
                   model));
}

// The loss of training or of the test that is not a number; nothing if both are numbers.
std::optional<double> lost_loss(const keras::Logs& training, const keras::Logs& test) {
  for (const keras::Logs* logs : {&training, &test})
    if (logs->contains("loss") && !std::isfinite((*logs)["loss"])) return (*logs)["loss"];
  return std::nullopt;
}

}  // namespace

void print_results(const TrainedRun& run) {
  if (run.arguments.flag("json")) print_json(json_of(run));
  else print_table(run.outcome);
}

int tell_end(const TrainedRun& run, const Attempts& attempts) {
  const std::optional<double> lost = lost_loss(last_epoch(run.outcome.history), run.outcome.test);
  // Only a folder that the user did not name is news to a quiet user.
  const bool names_paths = !run.arguments.flag("quiet") || run.outcome.interrupted || !run.place.is_named();
  if (!attempts.failed() && names_paths) tell_paths(run);
  if (lost) tell(fmt::format("The loss is {}: the model is useless; try a smaller --learning-rate.", *lost));
  if (attempts.failed()) {
    attempts.tell_failures();
    if (!run.place.saved().empty()) tell(fmt::format("The model is in {}.", shell_word(run.place.saved())));
    return failed_status;
  }
  if (run.outcome.interrupted) {
    tell_interrupted(run);
    return interrupted_status;
  }
  if (lost) return lost_status;
  tell_next(run);
  return 0;
}

}  // namespace pando::cli
