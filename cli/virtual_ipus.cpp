// SPDX-License-Identifier: Apache-2.0
#include "cli/virtual_ipus.h"

#include <pando/comm/workers.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/output.h"

namespace pando::cli {

namespace {

using ipu::pipelining_ops::PipelineSchedule;

constexpr std::int64_t accumulation_of_pipelines = 8;
constexpr std::int64_t most_ipus = 1 << 10;

PipelineSchedule schedule_named(const std::string& name) {
  static const std::map<std::string, PipelineSchedule> schedules = {{"grouped", PipelineSchedule::Grouped},
                                                                    {"interleaved", PipelineSchedule::Interleaved},
                                                                    {"sequential", PipelineSchedule::Sequential}};
  return schedules.at(name);
}

// `ipus` divided by `part`.
std::int64_t other_factor(const Arguments& arguments, std::int64_t ipus, const char* option, std::int64_t part) {
  if (ipus % part != 0) {
    const std::int64_t below = ipus / part * part;
    const std::string fitting = below > 0 ? fmt::format("{} or {}", below, below + part) : fmt::format("{}", part);
    arguments.fail(fmt::format("--ipus {} is not divided by --{} {}; use --ipus {}", ipus, option, part, fitting));
  }
  return ipus / part;
}

struct Counts {
  std::int64_t ipus = 1, stages = 1, replicas = 1;
};

Counts counts_of(const Arguments& arguments) {
  const bool has_ipus = arguments.given("ipus"), has_stages = arguments.given("stages");
  const bool has_replicas = arguments.given("replicas");
  Counts counts;
  if (has_stages) counts.stages = arguments.whole("stages");
  if (has_replicas) counts.replicas = arguments.whole("replicas");
  // Products of these do not overflow.
  for (const char* option : {"ipus", "stages", "replicas"})
    if (arguments.given(option) && arguments.whole(option) > most_ipus)
      arguments.fail(fmt::format("--{} is {} but must be {} at most", option, arguments.text(option), most_ipus));
  if (!has_ipus) return {counts.stages * counts.replicas, counts.stages, counts.replicas};
  counts.ipus = arguments.whole("ipus");
  if (has_stages && has_replicas && counts.ipus != counts.stages * counts.replicas)
    arguments.fail(fmt::format("--ipus {} is not --stages {} x --replicas {} = {}; leave one of the three out",
                               counts.ipus, counts.stages, counts.replicas, counts.stages * counts.replicas));
  if (has_replicas) counts.stages = other_factor(arguments, counts.ipus, "replicas", counts.replicas);
  else counts.replicas = other_factor(arguments, counts.ipus, "stages", counts.stages);
  return counts;
}

}  // namespace

Division division_of(const Arguments& arguments) {
  const Counts counts = counts_of(arguments);
  Division division{
      .ipus = static_cast<int>(counts.ipus),
      .stages = static_cast<int>(counts.stages),
      .replicas = static_cast<int>(counts.replicas),
      .gradient_accumulation = counts.stages > 1 ? accumulation_of_pipelines : 1,
      .schedule = schedule_named(arguments.text("schedule")),
      .reduction = arguments.text("reduction") == "mean" ? ipu::GradientReduction::Mean : ipu::GradientReduction::Sum,
      .tiles = static_cast<int>(std::min(arguments.whole("tiles"), most_ipus)),
      .backend = backend_of(arguments)};
  if (arguments.given("gradient-accumulation-count"))
    division.gradient_accumulation = arguments.whole("gradient-accumulation-count");
  if (arguments.given("schedule") && division.stages == 1)
    tell("--schedule has no effect without a pipeline; --stages 2 would make one.");
  return division;
}

std::string backend_of(const Arguments& arguments) {
  return arguments.given("backend") ? arguments.text("backend") : "";
}

bool joins_workers(const Arguments& arguments) {
  const int started = started_workers();
  if (!arguments.given("workers") && started > 1)
    arguments.fail(
        fmt::format("this is one of {} processes that were started together, and each would train a model of its own; "
                    "--workers auto lets them train one, --workers none lets each train alone",
                    started));
  if (arguments.text("workers") == "none") work_alone();
  return arguments.text("workers") == "auto" && started > 1;
}

ipu::IPUStrategy VirtualIpus::configured(int ipus, int tiles, const std::string& backend, bool shared) {
  ipu::IPUConfig config;
  config.auto_select_ipus = ipus;
  config.tiles_per_ipu = tiles;
  config.backend = backend;
  config.configure_ipu_system();
  if (shared) return ipu::IPUMultiWorkerStrategy();
  return ipu::IPUStrategy();
}

TrainingRecipe recipe_of(const Arguments& arguments) {
  return {.optimizer = arguments.text("optimizer"),
          .batch_size = arguments.whole("batch-size"),
          .steps_per_execution = arguments.whole("steps-per-execution")};
}

void prepare_training(OpenedModel& opened, const Division& division, const TrainingRecipe& recipe) {
  const keras::Optimizer optimizer(recipe.optimizer);
  if (recipe.learning_rate > 0) optimizer.set_learning_rate(recipe.learning_rate);
  opened.model.compile({.optimizer = optimizer,
                        .loss = keras::losses::SparseCategoricalCrossentropy({.from_logits = opened.gives_logits}),
                        .metrics = {"accuracy"},
                        .steps_per_execution = recipe.steps_per_execution,
                        .precision = recipe.precision,
                        .reduction = division.reduction});
  if (division.stages > 1) {
    const auto layers = static_cast<int>(opened.model.get_pipeline_stage_assignment().size());
    if (division.stages > layers)
      throw UsageError("",
                       fmt::format("--stages is {}, but the model '{}' has {} layers, and every stage needs one; use "
                                   "{} at most",
                                   division.stages, opened.model.name(), layers, layers));
    opened.model.set_pipelining_options({.gradient_accumulation_steps_per_replica = division.gradient_accumulation,
                                         .pipeline_schedule = division.schedule});
    opened.model.split_into_stages(division.stages, recipe.batch_size);
  } else if (division.gradient_accumulation > 1) {
    opened.model.set_gradient_accumulation_options(
        {.gradient_accumulation_steps_per_replica = division.gradient_accumulation});
  }
}

}  // namespace pando::cli
