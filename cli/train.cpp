#include <pando/base/function.h>
#include <pando/base/random.h>

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <optional>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/model_place.h"
#include "cli/output.h"
#include "cli/run_report.h"
#include "cli/virtual_ipus.h"
#include "io/probe.h"

namespace pando::cli {

namespace {

constexpr int failed_status = 1, lost_status = 3, interrupted_status = 130;

// Checks that need no data.
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

// Checks before training that the files for its results can be written.
void probe_files(const Arguments& arguments) {
  for (const char* option : {"report", "profile"})
    if (arguments.given(option)) probe_file(arguments.text(option));
  if (arguments.given("checkpoint")) probe_folder(arguments.text("checkpoint"));
  if (arguments.given("log-csv")) probe_log(arguments.text("log-csv"));
}

std::string headline(const std::string& model, const Samples& samples, const Division& division,
                     std::int64_t batch_size) {
  const auto counted = [](std::int64_t count, const std::string& noun) {
    return fmt::format("{} {}{}", thousands(count), noun, count == 1 ? "" : "s");
  };
  return fmt::format("{} on {}: {} in micro-batches of {}\n{} = {} x {}", model, samples.kind.dataset,
                     counted(samples.kind.train, "image"), batch_size, counted(division.ipus, "virtual IPU"),
                     counted(division.stages, "stage"), counted(division.replicas, "replica"));
}

struct Outcome {
  keras::History history;
  double seconds = 0;
  bool interrupted = false;
};

// A file that cannot be written must not cost the results: the failure is reported at the end.
class Attempts {
 public:
  void write(const Function<void()>& write) {
    try {
      write();
    } catch (const std::exception& error) {
      fail(message_of(error));
    }
  }
  void fail(const std::string& problem) { failures_.push_back(problem); }
  bool failed() const { return !failures_.empty(); }
  void tell_failures() const {
    for (const std::string& failure : failures_) tell("pando: " + failure);
  }

 private:
  std::vector<std::string> failures_;
};

keras::FitOptions fit_options(const Arguments& arguments, const TrainingRecipe& recipe, Attempts& attempts) {
  keras::FitOptions options = {.batch_size = recipe.batch_size,
                               .epochs = arguments.whole("epochs"),
                               .verbose = arguments.flag("quiet") ? 0 : 1,
                               .output = stderr};
  options.record_timeline = arguments.given("report") || arguments.given("profile");
  options.checkpoint = {.directory = arguments.text("checkpoint"), .resume = arguments.flag("resume")};
  if (arguments.given("log-csv"))
    options.callbacks.push_back(keras::callbacks::CSVLogger(
        arguments.text("log-csv"), {.on_failure = [&](const std::string& problem) { attempts.fail(problem); }}));
  return options;
}

Outcome fit(OpenedModel& opened, const Samples& samples, keras::FitOptions options, const InterruptWatch& watch) {
  // Handles an interrupt that came before the first step.
  options.callbacks.push_back(keras::callbacks::LambdaCallback({.on_train_begin = [&] {
    if (watch.interrupted()) opened.model.stop_training();
  }}));
  const auto start = std::chrono::steady_clock::now();
  const keras::History history = opened.model.fit(as_input(opened, samples.train.x), samples.train.y, options);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return {.history = history, .seconds = seconds.count()};
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

void print_results(const Arguments& arguments, const Samples& samples, const Outcome& outcome, const keras::Logs& test,
                   const ModelPlace& place) {
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
  if (!place.saved().empty()) json.set("saved", place.saved());
  print_json(json);
}

// Said once everything is written.
void tell_interrupted(const Arguments& arguments, const ModelPlace& place) {
  tell(fmt::format("The model so far is in {}.", shell_word(place.saved())));
  if (!arguments.given("checkpoint")) {
    tell("Interrupted: the run cannot be resumed, because no checkpoint was kept; --checkpoint DIR keeps one.");
    return;
  }
  tell(fmt::format("To go on:\n  {}{}", arguments.line(), arguments.flag("resume") ? "" : " --resume"));
}

void tell_next(const ModelPlace& place) {
  if (!place.is_named()) tell(fmt::format("The model is in {}.", shell_word(place.saved())));
  tell(fmt::format("Try next: {} evaluate --model {}", program(), shell_word(place.saved())));
}

// The loss of training or of the test that is not a number; nothing if both are numbers.
std::optional<double> lost_loss(const keras::Logs& training, const keras::Logs& test) {
  for (const keras::Logs* logs : {&training, &test})
    if (logs->contains("loss") && !std::isfinite((*logs)["loss"])) return (*logs)["loss"];
  return std::nullopt;
}

// Returns the exit status.
int tell_end(const Arguments& arguments, const Outcome& outcome, const keras::Logs& test, const ModelPlace& place,
             const Attempts& attempts) {
  const std::optional<double> lost = lost_loss(last_epoch(outcome.history), test);
  if (lost) tell(fmt::format("The loss is {}: the model is useless; try a smaller --learning-rate.", *lost));
  if (attempts.failed()) {
    attempts.tell_failures();
    if (!place.saved().empty()) tell(fmt::format("The model is in {}.", shell_word(place.saved())));
    return failed_status;
  }
  if (outcome.interrupted) {
    tell_interrupted(arguments, place);
    return interrupted_status;
  }
  if (lost) return lost_status;
  tell_next(place);
  return 0;
}

}  // namespace

int train(const Arguments& arguments) {
  check_files(arguments);
  const Division division = division_of(arguments);
  TrainingRecipe recipe = recipe_of(arguments);
  recipe.learning_rate = arguments.number("learning-rate");
  recipe.precision = arguments.text("precision");
  probe_files(arguments);
  ModelPlace place(arguments);
  set_random_seed(static_cast<std::uint64_t>(arguments.whole("seed")));
  const Samples samples = load_samples(arguments.text("dataset"), arguments.whole("samples"));
  const VirtualIpus ipus(division.ipus, division.tiles);
  OpenedModel opened = open_model(arguments.words()[0], samples.kind);
  prepare_training(opened, division, recipe);
  if (!arguments.flag("quiet")) tell(headline(opened.model.name(), samples, division, recipe.batch_size));

  Attempts attempts;
  Outcome outcome;
  {
    // An interrupt does not lose the model: it is saved before anything else.
    const InterruptWatch watch;
    outcome = fit(opened, samples, fit_options(arguments, recipe, attempts), watch);
    attempts.write([&] { place.save(opened, samples.kind); });
    outcome.interrupted = watch.interrupted();
  }
  if (arguments.given("profile")) attempts.write([&] { outcome.history.timeline().save(arguments.text("profile")); });
  keras::Logs test;
  if (!outcome.interrupted) {
    attempts.write([&] {
      test = opened.model.evaluate(as_input(opened, samples.test.x), samples.test.y,
                                   {.batch_size = recipe.batch_size, .verbose = 0});
    });
    if (arguments.given("report"))
      attempts.write([&] { save_report(arguments.text("report"), opened, samples, outcome.history, recipe); });
  }
  if (arguments.flag("json")) print_results(arguments, samples, outcome, test, place);
  else print_table(outcome, test);
  return tell_end(arguments, outcome, test, place, attempts);
}

}  // namespace pando::cli
