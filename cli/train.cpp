#include <pando/random.h>

#include <fmt/format.h>

#include <chrono>
#include <functional>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/run_report.h"
#include "cli/trained_model.h"
#include "cli/virtual_ipus.h"

namespace pando::cli {

namespace {

constexpr int interrupted_status = 130;

// What can be refused before anything is read.
void check_files(const Arguments& arguments) {
  const auto check = [&](const char* option, const std::vector<std::string>& endings) {
    const std::string path = arguments.text(option);
    for (const std::string& ending : endings)
      if (path.empty() || path.ends_with(ending)) return;
    arguments.fail(fmt::format("--{} is '{}' but must end in {}", option, path, fmt::join(endings, " or ")));
  };
  check("report", {".html"});
  check("profile", {".html", ".json"});
  if (arguments.flag("resume") && !arguments.given("checkpoint"))
    arguments.fail("--resume needs --checkpoint DIR, the folder that the run wrote its checkpoints to");
}

// Where the trained model goes; empty: nowhere.
std::string save_folder(const Arguments& arguments) {
  return arguments.text(arguments.given("save") ? "save" : "checkpoint");
}

std::string headline(const std::string& model, const Samples& samples, const Division& division,
                     std::int64_t batch_size) {
  const auto counted = [](std::int64_t count, const std::string& noun) {
    return fmt::format("{} {}{}", thousands(count), noun, count == 1 ? "" : "s");
  };
  return fmt::format("{} on {}: {}, {} = {} x {}, micro-batches of {}.", model, samples.kind.dataset,
                     counted(samples.kind.train, "image"), counted(division.ipus, "virtual IPU"),
                     counted(division.stages, "stage"), counted(division.replicas, "replica"), batch_size);
}

struct Outcome {
  keras::History history;
  double seconds = 0;
  bool interrupted = false;
};

keras::FitOptions fit_options(const Arguments& arguments, const TrainingRecipe& recipe) {
  keras::FitOptions options = {.batch_size = recipe.batch_size,
                               .epochs = arguments.whole("epochs"),
                               .verbose = arguments.flag("quiet") ? 0 : 1,
                               .output = stderr,
                               .profile = arguments.text("profile")};
  options.record_timeline = arguments.given("report");
  options.checkpoint = {.directory = arguments.text("checkpoint"), .resume = arguments.flag("resume")};
  if (arguments.given("log-csv")) options.callbacks.push_back(keras::callbacks::CSVLogger(arguments.text("log-csv")));
  return options;
}

Outcome fit(OpenedModel& opened, const Samples& samples, keras::FitOptions options) {
  const InterruptWatch watch;
  // What came between the watch and the first step.
  options.callbacks.push_back(keras::callbacks::LambdaCallback({.on_train_begin = [&] {
    if (watch.interrupted()) opened.model.stop_training();
  }}));
  const auto start = std::chrono::steady_clock::now();
  const keras::History history = opened.model.fit(as_input(opened, samples.train.x), samples.train.y, options);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return {history, seconds.count(), watch.interrupted()};
}

// The numbers of the last epoch, under the names of a test.
keras::Logs last_epoch(const keras::History& history) {
  keras::Logs logs;
  for (const plot::Curve& curve : history)
    if (!curve.values.empty()) logs.set(curve.name, curve.values.back());
  return logs;
}

void print_table(const Outcome& outcome, const keras::Logs& test) {
  Table table({"", "loss", "accuracy"});
  const auto add = [&](const char* name, const keras::Logs& logs) {
    if (!logs.empty()) table.add({name, fmt::format("{:.4f}", logs["loss"]), percent(logs["accuracy"])});
  };
  add("training", last_epoch(outcome.history));
  add("test", test);
  print(table.text());
}

Json json_of(const keras::Logs& logs) {
  Json json;
  for (const auto& [name, value] : logs) json.set(name, value);
  return json;
}

void print_results(const Arguments& arguments, const Samples& samples, const Outcome& outcome,
                   const keras::Logs& test) {
  Json json, history;
  for (const plot::Curve& curve : outcome.history) {
    Json values = Json::List();
    for (double value : curve.values) values.append(value);
    history.set(curve.name, values);
  }
  json.set("model", arguments.words()[0]);
  json.set("dataset", samples.kind.dataset);
  json.set("train_samples", samples.kind.train);
  json.set("test_samples", samples.kind.test);
  json.set("seconds", outcome.seconds);
  json.set("interrupted", outcome.interrupted);
  json.set("history", history);
  if (!test.empty()) json.set("test", json_of(test));
  if (const std::string folder = save_folder(arguments); !folder.empty()) json.set("saved", folder);
  print_json(json);
}

// Told once everything is written.
void tell_interrupted(const Arguments& arguments) {
  const std::string folder = save_folder(arguments);
  if (!folder.empty()) tell(fmt::format("The model so far is in {}.", folder));
  if (!arguments.given("checkpoint")) {
    tell("Interrupted: the run cannot be resumed, because no checkpoint was kept; --checkpoint DIR keeps one.");
    return;
  }
  tell(fmt::format("To go on:\n  {}{}", arguments.line(), arguments.flag("resume") ? "" : " --resume"));
}

// What cannot be written must not cost the results: it is told at the end.
class Attempts {
 public:
  void write(const std::function<void()>& write) {
    try {
      write();
    } catch (const Error& error) {
      failures_.emplace_back(error.what());
    }
  }
  bool failed() const { return !failures_.empty(); }
  void tell_failures() const {
    for (const std::string& failure : failures_) tell("pando: " + failure);
  }

 private:
  std::vector<std::string> failures_;
};

void tell_next(const Arguments& arguments) {
  const std::string folder = save_folder(arguments);
  tell(folder.empty() ? fmt::format("Try next: {} --save trained", arguments.line())
                      : fmt::format("Try next: {} evaluate --model {}", program(), shell_word(folder)));
}

}  // namespace

int train(const Arguments& arguments) {
  check_files(arguments);
  const Division division = division_of(arguments);
  TrainingRecipe recipe = recipe_of(arguments);
  recipe.learning_rate = arguments.number("learning-rate");
  recipe.precision = arguments.text("precision");
  set_random_seed(static_cast<std::uint64_t>(arguments.whole("seed")));
  const Samples samples = load_samples(arguments.text("dataset"), arguments.whole("samples"));
  const VirtualIpus ipus(division.ipus, division.tiles);
  OpenedModel opened = open_model(arguments.words()[0], samples.kind);
  prepare_training(opened, division, recipe);
  if (!arguments.flag("quiet")) tell(headline(opened.model.name(), samples, division, recipe.batch_size));

  const Outcome outcome = fit(opened, samples, fit_options(arguments, recipe));
  Attempts attempts;
  const std::string folder = save_folder(arguments);
  if (!folder.empty()) attempts.write([&] { save_trained(folder, opened, samples.kind); });
  keras::Logs test;
  if (!outcome.interrupted) {
    test = opened.model.evaluate(as_input(opened, samples.test.x), samples.test.y,
                                 {.batch_size = recipe.batch_size, .verbose = 0});
    if (arguments.given("report"))
      attempts.write([&] { save_report(arguments.text("report"), opened, samples, outcome.history, recipe); });
  }
  if (arguments.flag("json")) print_results(arguments, samples, outcome, test);
  else print_table(outcome, test);
  if (attempts.failed()) {
    attempts.tell_failures();
    return 1;
  }
  outcome.interrupted ? tell_interrupted(arguments) : tell_next(arguments);
  return outcome.interrupted ? interrupted_status : 0;
}

}  // namespace pando::cli
