// SPDX-License-Identifier: Apache-2.0
#include <pando/base/random.h>
#include <pando/comm/workers.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "cli/checkpoints.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/run_report.h"
#include "cli/train_results.h"
#include "io/probe.h"

namespace pando::cli {

namespace {

// Checks that need no data.
void check_options(const Arguments& arguments) {
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
  if (arguments.number("validation-split") >= 1)
    arguments.fail(fmt::format("--validation-split is '{}' but must be a number above 0 and below 1",
                               arguments.text("validation-split")));
  if (arguments.given("validation-split") && arguments.given("validation-data"))
    arguments.fail("--validation-split and --validation-data both say what to validate with; leave one out");
  if (arguments.flag("quiet") && arguments.flag("verbose"))
    arguments.fail("--quiet and --verbose contradict each other; leave one out");
}

// Checks before training that the files for its results can be written.
void probe_files(const Arguments& arguments) {
  for (const char* option : {"report", "profile"})
    if (arguments.given(option)) probe_file(arguments.text(option));
  if (arguments.given("checkpoint")) probe_folder(arguments.text("checkpoint"));
  if (arguments.given("log-csv")) probe_log(arguments.text("log-csv"));
}

// A run that is started again without --resume would otherwise be refused in the words of the library.
void check_checkpoints(const Arguments& arguments) {
  const std::string folder = arguments.text("checkpoint");
  if (folder.empty() || arguments.flag("resume")) return;
  if (const std::string newest = newest_checkpoint(folder); !newest.empty())
    throw Error(
        fmt::format("{} has the checkpoints of a run, such as {}/{}; --resume goes on with it, --checkpoint DIR "
                    "names another folder",
                    folder, folder, newest));
}

std::string counted(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", thousands(count), noun, count == 1 ? "" : "s");
}

// What the model is trained on and validated with.
struct TrainingData {
  Samples samples;
  std::optional<datasets::Split> validation = {};
  std::int64_t trained = 0, validated = 0;
};

TrainingData load_training_data(const Arguments& arguments) {
  const SampleChoice choice = sample_choice(arguments);
  TrainingData data{.samples = load_samples(choice)};
  data.trained = data.samples.kind.train;
  if (arguments.given("validation-data")) {
    SampleChoice other = choice;
    other.dataset = arguments.text("validation-data");
    data.validation = load_to_test(other, data.samples.kind).test;
    data.validated = data.validation->y.shape()[0];
  } else if (arguments.given("validation-split")) {
    // As Model::fit takes it from the end.
    data.trained = static_cast<std::int64_t>(static_cast<double>(data.samples.kind.train) *
                                             (1 - arguments.number("validation-split")));
    data.validated = data.samples.kind.train - data.trained;
    if (data.trained == 0 || data.validated == 0)
      arguments.fail(
          fmt::format("--validation-split {} leaves {} of {} to train on and {} to validate with; use "
                      "another part",
                      arguments.text("validation-split"), data.trained,
                      counted(data.samples.kind.train, data.samples.kind.noun()), data.validated));
  }
  return data;
}

std::string headline(const std::string& model, const TrainingData& data, const Division& division,
                     std::int64_t batch_size, bool shared) {
  const SampleKind& kind = data.samples.kind;
  const std::string validation =
      data.validated == 0 ? "" : fmt::format("{} for validation\n", counted(data.validated, kind.noun()));
  return fmt::format("{} on {}: {} in micro-batches of {}\n{}{} = {} x {}", model, kind.dataset,
                     counted(data.trained, kind.noun()), batch_size, validation, counted(division.ipus, "virtual IPU"),
                     counted(division.stages, "stage"), counted(division.replicas, "replica")) +
         (shared ? fmt::format(" in each of {} workers", mpi_workers()->count()) : "");
}

keras::FitOptions fit_options(const Arguments& arguments, const TrainingRecipe& recipe, Attempts& attempts) {
  keras::FitOptions options = {.batch_size = recipe.batch_size,
                               .epochs = arguments.whole("epochs"),
                               .verbose = arguments.flag("quiet") ? 0 : 1,
                               .output = stderr};
  options.validation_split = arguments.number("validation-split");
  options.record_timeline = arguments.given("report") || arguments.given("profile");
  options.checkpoint = {.directory = arguments.text("checkpoint"), .resume = arguments.flag("resume")};
  if (arguments.given("log-csv"))
    options.callbacks.push_back(keras::callbacks::CSVLogger(
        arguments.text("log-csv"), {.on_failure = [&](const std::string& problem) { attempts.fail(problem); }}));
  return options;
}

Outcome fit(OpenedModel& opened, const TrainingData& data, keras::FitOptions options, const InterruptWatch& watch) {
  // Handles an interrupt that came before the first step.
  options.callbacks.push_back(keras::callbacks::LambdaCallback({.on_train_begin = [&] {
    if (watch.interrupted()) opened.model.stop_training();
  }}));
  if (data.validation)
    options.validation_data = keras::ValidationData(as_input(opened, data.validation->x), data.validation->y);
  const datasets::Split& train = data.samples.train;
  const auto start = std::chrono::steady_clock::now();
  const keras::History history = opened.model.fit(as_input(opened, train.x), train.y, options);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return {.history = history, .seconds = seconds.count()};
}

void tell_plan(const Arguments& arguments, const OpenedModel& opened, const TrainingData& data,
               const Division& division, const TrainingRecipe& recipe, bool shared) {
  if (arguments.flag("quiet")) return;
  tell(headline(opened.model.name(), data, division, recipe.batch_size, shared));
  if (!arguments.flag("verbose")) return;
  tell(opened.model.summary_text());
  tell(opened.model.explain({.samples = data.trained, .batch_size = recipe.batch_size}));
}

// What a worker other than the first does: its share of the training, the test and the report. The first one shows and
// writes the results.
int help_to_train(const Arguments& arguments, const Division& division, const TrainingRecipe& recipe) {
  const TrainingData data = load_training_data(arguments);
  const Samples& samples = data.samples;
  const VirtualIpus ipus(division.ipus, division.tiles, division.backend, true);
  OpenedModel opened = open_model(arguments.words()[0], samples.kind);
  learn_columns(opened, samples.train.x);
  prepare_training(opened, division, recipe);
  Attempts attempts;
  const InterruptWatch watch;
  const Outcome outcome = fit(opened, data, fit_options(arguments, recipe, attempts), watch);
  if (watch.interrupted()) return 130;
  opened.model.evaluate(as_input(opened, samples.test.x), samples.test.y,
                        {.batch_size = recipe.batch_size, .verbose = 0});
  if (arguments.given("report")) make_run_report(opened, samples, data.trained, outcome.history, recipe);
  return 0;
}

}  // namespace

int train(const Arguments& arguments) {
  check_options(arguments);
  const Division division = division_of(arguments);
  TrainingRecipe recipe = recipe_of(arguments);
  recipe.learning_rate = arguments.number("learning-rate");
  recipe.precision = arguments.text("precision");
  set_random_seed(static_cast<std::uint64_t>(arguments.whole("seed")));
  const bool shared = joins_workers(arguments);
  if (shared && mpi_workers()->rank() > 0) return help_to_train(arguments, division, recipe);
  probe_files(arguments);
  ModelPlace place(arguments);
  check_checkpoints(arguments);
  const TrainingData data = load_training_data(arguments);
  const Samples& samples = data.samples;
  const VirtualIpus ipus(division.ipus, division.tiles, division.backend, shared);
  OpenedModel opened = open_model(arguments.words()[0], samples.kind);
  learn_columns(opened, samples.train.x);
  prepare_training(opened, division, recipe);
  tell_plan(arguments, opened, data, division, recipe, shared);

  Attempts attempts;
  Outcome outcome;
  {
    // An interrupt does not lose the model: it is saved before anything else.
    const InterruptWatch watch;
    outcome = fit(opened, data, fit_options(arguments, recipe, attempts), watch);
    attempts.write([&] { place.save(opened, samples.kind); });
    outcome.interrupted = watch.interrupted();
  }
  if (arguments.given("profile")) attempts.write([&] { outcome.history.timeline().save(arguments.text("profile")); });
  if (!outcome.interrupted) {
    attempts.write([&] {
      outcome.test = opened.model.evaluate(as_input(opened, samples.test.x), samples.test.y,
                                           {.batch_size = recipe.batch_size, .verbose = 0});
    });
    if (arguments.given("report"))
      attempts.write(
          [&] { save_report(arguments.text("report"), opened, samples, data.trained, outcome.history, recipe); });
  }
  const TrainedRun run{.arguments = arguments,
                       .opened = opened,
                       .kind = samples.kind,
                       .skipped = samples.skipped,
                       .division = division,
                       .trained = data.trained,
                       .validated = data.validated,
                       .outcome = outcome,
                       .place = place};
  print_results(run);
  return tell_end(run, attempts);
}

}  // namespace pando::cli
