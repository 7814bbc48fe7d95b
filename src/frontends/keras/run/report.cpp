// SPDX-License-Identifier: Apache-2.0
#include <pando/frontends/keras/report.h>
#include <pando/version.h>

#include <fmt/format.h>

#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "base/machine/cores.h"
#include "base/machine/usable_memory.h"
#include "base/random_seed.h"
#include "base/text.h"
#include "frontends/keras/run/explain_model.h"
#include "report/terminal/thousands.h"

namespace pando::keras {

namespace {

constexpr std::string_view validation_prefix = "val_";

bool is_accuracy(const std::string& name) { return name.ends_with("acc") || name.ends_with("accuracy"); }

std::string value_text(const std::string& name, double value) {
  return is_accuracy(name) ? fmt::format("{:.2f} %", 100 * value) : fmt::format("{:.4g}", value);
}

std::string seconds_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 2 : 1);
  const auto whole = static_cast<std::int64_t>(std::lround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

// Accuracies come first, because readers look for them.
void add_headlines(report::Run& run, const std::string& prefix, const Logs& logs) {
  for (const bool accuracies : {true, false})
    for (const auto& [name, value] : logs)
      if (is_accuracy(name) == accuracies) run.headlines.push_back({prefix + name, value_text(name, value)});
}

// The final values of the metrics in the last epoch: those of the validation if there was one.
Logs last_logs(const History& history, bool validation) {
  Logs logs;
  for (const plot::Curve& curve : history) {
    if (curve.values.empty() || curve.name.starts_with(validation_prefix) != validation) continue;
    logs.set(validation ? curve.name.substr(validation_prefix.size()) : curve.name, curve.values.back());
  }
  return logs;
}

void add_speed(report::Run& run, const History& history, const ReportOptions& options) {
  const auto epochs = static_cast<double>(history.epochs().size());
  if (history.training_seconds() <= 0) return;
  run.headlines.push_back({"training time", seconds_text(history.training_seconds())});
  if (options.samples == 0) return;
  const double rate = epochs * static_cast<double>(options.samples) / history.training_seconds();
  run.headlines.push_back({"samples per second", grouped_by_thousands(std::llround(rate))});
}

void add_layers(report::Run& run, const Model& model) {
  const auto& body = static_cast<const ModelBody&>(model.body());
  for (const SummaryRow& row : summary_rows(*body.network(), body.is_sequential()))
    run.layers.push_back({row.layer, row.type, row.output_shape, row.parameters});
  const SummaryTotals totals = summary_totals(*body.network());
  run.parameters = totals.trainable + totals.non_trainable;
}

void add_devices(report::Run& run, const Explanation& explanation) {
  run.explanation = to_text(explanation, /*with_memory=*/false);
  for (std::size_t i = 0; i < explanation.stages.size(); ++i) {
    const MemoryUse& memory = explanation.stages[i].memory;
    std::string device = explanation.ipus == 0 ? "host" : "IPU";
    if (explanation.stages.size() > 1) device = fmt::format("stage {}", i);
    if (explanation.replicas > 1) device += fmt::format(" of each of {} replicas", explanation.replicas);
    run.memory.push_back({device,
                          {{"weights", memory.weights, "The parameters of the layers."},
                           {"optimizer", memory.optimizer, "What the optimizer keeps for each weight."},
                           {"gradients", memory.gradients, "Sums of gradients until the next update."},
                           {"activations", memory.activations, "Values within a step, all that may be alive at once."},
                           {"stash", memory.stash, "Values that wait for the backward pass of their micro-batch."},
                           {"feeds", memory.feeds, "Batches that are filled while others are worked on."}}});
  }
  // A column that is empty for all devices is left out.
  const auto has = [&](const std::string& name) {
    for (const report::DeviceMemory& device : run.memory)
      for (const report::MemoryPart& part : device.parts)
        if (part.name == name && part.bytes > 0) return true;
    return false;
  };
  for (report::DeviceMemory& device : run.memory)
    std::erase_if(device.parts, [&](const report::MemoryPart& part) { return !has(part.name); });
}

// Whether the targets are classes: their numbers, or rows of zeros with a 1.
bool are_classes(const Array& targets, std::int64_t classes) {
  const Shape& shape = targets.shape();
  const Array values = targets.astype(DType::float64);
  const double* value = values.data<double>();
  if (shape.rank() == 1 || (shape.rank() == 2 && shape[1] == 1))
    return std::all_of(value, value + values.elements(), [&](double label) {
      return label >= 0 && label < static_cast<double>(classes) && label == std::floor(label);
    });
  if (shape.rank() != 2 || shape[1] != classes) return false;
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    const double* row = value + i * classes;
    if (std::count(row, row + classes, 1.0) != 1 || std::count(row, row + classes, 0.0) != classes - 1) return false;
  }
  return true;
}

bool are_images(const Shape& shape) {
  return shape.rank() == 3 || (shape.rank() == 4 && (shape[3] == 1 || shape[3] == 3));
}

void add_predictions(report::Run& run, Model& model, const Arrays& x, const Arrays& y, const ReportOptions& options) {
  const std::vector<Array> outputs = model.predict_outputs(x, {.batch_size = options.batch_size});
  if (outputs.size() != 1 || outputs[0].shape().rank() != 2 || outputs[0].shape()[1] < 2) return;
  if (!are_classes(y[0], outputs[0].shape()[1])) return;
  run.labels = y[0];
  run.probabilities = outputs[0];
  if (x.size() == 1 && are_images(x[0].shape())) run.images = x[0];
}

std::string losses_text(const std::vector<OutputGoals>& goals) {
  std::vector<std::string> names;
  for (const OutputGoals& goal : goals)
    if (goal.loss) names.push_back(goals.size() == 1 ? goal.loss->name() : goal.output + ": " + goal.loss->name());
  return join(names, ", ");
}

report::FactList hyperparameters(Model& model, const History& history, const Explanation& explanation) {
  const Job job(model, "report", Mode::train);
  const auto& training = job.training();
  const ExplainedCounts counts = counts_of(explanation);
  report::FactList list{.heading = "Hyperparameters"};
  const auto add = [&](const char* name, const std::string& value) { list.facts.push_back({name, value}); };
  add("optimizer", explanation.optimizer);
  add("learning rate", explanation.learning_rate ? float_text(*explanation.learning_rate) : "a schedule");
  add("loss", losses_text(*training.goals));
  add("epochs", fmt::format("{}", history.epochs().size()));
  add("batch size", fmt::format("{}", explanation.batch_size));
  if (counts.batches_per_update > 1)
    add("effective batch", fmt::format("{} = {} x {} accumulated x {} replicas, {} of their gradients",
                                       counts.effective_batch, explanation.batch_size,
                                       explanation.gradient_accumulation, explanation.replicas, explanation.reduction));
  if (explanation.samples > 0) add("training samples", grouped_by_thousands(explanation.samples));
  add("steps per execution", fmt::format("{}", explanation.steps_per_execution));
  add("precision", training.options->precision);
  add("seed", fmt::format("{}", random_seed()));
  return list;
}

// The time of this machine's place, with its difference to UTC.
std::string date_text() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  const long minutes = std::labs(local.tm_gmtoff) / 60;
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} {}{:02}{:02}", local.tm_year + 1900, local.tm_mon + 1,
                     local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, local.tm_gmtoff < 0 ? '-' : '+',
                     minutes / 60, minutes % 60);
}

// The words of the command that started this process; empty where the system does not tell.
std::string command_text() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text;
  for (std::string word; std::getline(file, word, '\0');) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$&|;<>()*?[]#~`!{}") == std::string::npos;
    for (std::size_t at = word.find('\''); at != std::string::npos; at = word.find('\'', at + 4))
      word.replace(at, 1, "'\\''");
    text += (text.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  return text;
}

report::FactList origin() {
  report::FactList list{.heading = "Where it comes from"};
  if (const std::string command = command_text(); !command.empty()) list.facts.push_back({"command", command});
  list.facts.push_back({"page made", date_text()});
  list.facts.push_back({"version", "Pando " + version()});
  utsname system = {};
  uname(&system);
  list.facts.push_back({"machine", fmt::format("{}, {} usable core{}, {} of memory, {} {}", system.machine,
                                               usable_cores(), usable_cores() == 1 ? "" : "s",
                                               bytes_text(usable_memory()), system.sysname, system.release)});
  return list;
}

report::Run begin_report(Model& model, const History& history, const ReportOptions& options) {
  // This comes first, because it refuses models that are not built and compiled.
  const Explanation explanation = explain_model(model, {.samples = options.samples, .batch_size = options.batch_size});
  report::Run run{.title = options.title.empty() ? model.name() : options.title,
                  .description = options.description,
                  .facts = {hyperparameters(model, history, explanation), origin()},
                  .curves = history,
                  .loss_by_step = history.loss_by_step(),
                  .class_names = options.class_names,
                  .timeline = history.timeline()};
  add_layers(run, model);
  add_devices(run, explanation);
  return run;
}

}  // namespace

report::Run make_report(Model& model, const History& history, const ReportOptions& options) {
  report::Run run = begin_report(model, history, options);
  const Logs validation = last_logs(history, true);
  if (validation.empty()) add_headlines(run, "training ", last_logs(history, false));
  else add_headlines(run, "validation ", validation);
  add_speed(run, history, options);
  return run;
}

report::Run make_report(Model& model, const History& history, const Arrays& x_test, const Arrays& y_test,
                        const ReportOptions& options) {
  report::Run run = begin_report(model, history, options);
  add_headlines(run, "test ", model.evaluate(x_test, y_test, {.batch_size = options.batch_size, .verbose = 0}));
  add_speed(run, history, options);
  add_predictions(run, model, x_test, y_test, options);
  return run;
}

}  // namespace pando::keras
