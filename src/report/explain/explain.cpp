// SPDX-License-Identifier: Apache-2.0
#include "report/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace pando {

namespace {

std::int64_t divided_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

// The size of the last of the parts into which `value` is cut.
std::int64_t last_part(std::int64_t value, std::int64_t part) { return value == 0 ? 0 : (value - 1) % part + 1; }

// The least number of micro-batches with a bubble of at most 10 %, if there is one. In whole numbers: rounding would
// miss a bubble of exactly 10 %.
std::optional<std::int64_t> micro_batches_for_small_bubble(const PipelineSchedule& schedule) {
  const std::int64_t passes = schedule.backward.empty() ? 1 : 2;
  const std::int64_t gain = 10 * passes - 9 * schedule.period;
  if (gain <= 0) return std::nullopt;
  return std::max<std::int64_t>(1, divided_up(9 * (schedule.slots(1) - schedule.period), gain));
}

std::string idle_hint(const Explanation& explanation, const ExplainedCounts& counts) {
  const int idle = counts.idle_ipus;
  const int stages = std::max(1, static_cast<int>(explanation.stages.size()));
  const int used = explanation.ipus - idle, more = used + counts.ipus_per_replica;
  return fmt::format("{} of {} IPUs stay{} idle: {} replica{} x {} stage{} need {}; use {} IPUs, or {} for {} replicas",
                     idle, explanation.ipus, idle == 1 ? "s" : "", explanation.replicas,
                     explanation.replicas == 1 ? "" : "s", stages, stages == 1 ? "" : "s", used, used, more,
                     explanation.replicas + 1);
}

std::optional<std::string> balance_hint(const Explanation& explanation, double megaflops) {
  const auto& stages = explanation.stages;
  const auto largest = std::max_element(stages.begin(), stages.end(),
                                        [](const auto& a, const auto& b) { return a.megaflops < b.megaflops; });
  const double mean = stages.empty() ? 0.0 : megaflops / static_cast<double>(stages.size());
  if (mean <= 0 || largest->megaflops <= 1.25 * mean) return std::nullopt;
  return fmt::format(
      "stage {} ({}) does {:.0f} % of the work, {:.1f} times the mean, and the other stages wait for it; use fewer "
      "stages, or make it smaller",
      largest - stages.begin(), largest->layers, 100 * largest->megaflops / megaflops, largest->megaflops / mean);
}

std::optional<std::string> bubble_hint(const Explanation& explanation, const ExplainedCounts& counts) {
  if (counts.bubble <= 0.25) return std::nullopt;
  const auto count_text = [&](std::int64_t count) {
    return explanation.training ? fmt::format("{} accumulated micro-batches", count)
                                : fmt::format("steps_per_execution = {}", count);
  };
  const std::int64_t now = explanation.training ? counts.micro_batches : explanation.steps_per_execution;
  const std::int64_t replicas = explanation.training ? 1 : std::max(1, explanation.replicas);
  const PipelineSchedule& schedule = explanation.schedule;
  const std::string idle = fmt::format("the pipeline is idle {:.0f} % of the time", 100 * counts.bubble);
  if (const auto enough = micro_batches_for_small_bubble(schedule))
    return fmt::format("{} with {}; {} would bring it to 10 %", idle, count_text(now), count_text(*enough * replicas));
  const auto enough = micro_batches_for_small_bubble(interleaved_schedule(schedule.stages(), explanation.training));
  return fmt::format("{} with the schedule {}, whatever the count; Interleaved with {} would bring it to 10 %", idle,
                     schedule.name, count_text(enough.value() * replicas));
}

std::optional<std::string> sharing_hint(const Explanation& explanation, int ipus) {
  const int tiles = std::max(1, explanation.tiles_per_ipu);
  if (explanation.cores == 0 || ipus * tiles <= explanation.cores) return std::nullopt;
  return fmt::format("{} IPU{}{} share{} {} core{}: the results stay the same, but more devices add no speed", ipus,
                     ipus == 1 ? "" : "s", tiles == 1 ? "" : fmt::format(" of {} tiles", tiles), ipus == 1 ? "s" : "",
                     explanation.cores, explanation.cores == 1 ? "" : "s");
}

std::optional<std::string> execution_hint(const Explanation& explanation, const ExplainedCounts& counts) {
  if (explanation.steps_per_execution == 1 && counts.executions > 1)
    return fmt::format(
        "steps_per_execution = 1 starts {} executions an epoch; steps_per_execution = {} runs an epoch in one",
        counts.executions, counts.batches);
  if (explanation.steps_per_execution == 1 || explanation.steps_per_execution >= counts.batches_per_update)
    return std::nullopt;
  return fmt::format(
      "steps_per_execution = {} is less than {} takes ({} batches), and an execution runs that at least; use a "
      "multiple of {}",
      explanation.steps_per_execution, explanation.training ? "an update" : "a batch for each replica",
      counts.batches_per_update, counts.batches_per_update);
}

}  // namespace

ExplainedCounts counts_of(const Explanation& explanation) {
  const std::int64_t batch_size = std::max<std::int64_t>(1, explanation.batch_size);
  const std::int64_t replicas = std::max(1, explanation.replicas);
  const std::int64_t accumulation =
      explanation.training ? std::max<std::int64_t>(1, explanation.gradient_accumulation) : 1;
  ExplainedCounts counts;
  counts.batches_per_update = accumulation * replicas;
  counts.effective_batch = batch_size * counts.batches_per_update;
  if (explanation.reduction == "sum" && explanation.steps_grow_with_gradients)
    counts.learning_rate_factor = counts.batches_per_update;
  counts.updates_per_execution = std::max<std::int64_t>(1, explanation.steps_per_execution / counts.batches_per_update);
  counts.batches = divided_up(explanation.samples, batch_size);
  counts.updates = divided_up(counts.batches, counts.batches_per_update);
  counts.executions = divided_up(counts.updates, counts.updates_per_execution);
  counts.samples_in_last_batch = last_part(explanation.samples, batch_size);
  counts.batches_in_last_update = last_part(counts.batches, counts.batches_per_update);
  counts.empty_batches = divided_up(counts.batches_in_last_update, replicas) * replicas - counts.batches_in_last_update;
  counts.updates_in_last_execution = last_part(counts.updates, counts.updates_per_execution);
  counts.micro_batches = explanation.training ? accumulation : counts.updates_per_execution;
  counts.ipus_per_replica = std::max(1, static_cast<int>(explanation.stages.size()));
  const std::vector<int>& mapping = explanation.device_mapping;
  if (!mapping.empty()) counts.ipus_per_replica = *std::max_element(mapping.begin(), mapping.end()) + 1;
  counts.stages_share_ipus = counts.ipus_per_replica < std::ssize(explanation.stages);
  if (explanation.stages.size() > 1 && !counts.stages_share_ipus)
    counts.bubble = explanation.schedule.bubble(counts.micro_batches);
  counts.idle_ipus = std::max(0, explanation.ipus - explanation.replicas * counts.ipus_per_replica);
  for (const ExplainedStage& stage : explanation.stages) {
    counts.megaflops += stage.megaflops;
    counts.memory += stage.memory.total() * static_cast<std::size_t>(replicas);
  }
  return counts;
}

std::vector<std::string> hints(const Explanation& explanation) {
  const ExplainedCounts counts = counts_of(explanation);
  std::vector<std::string> list;
  const auto add = [&](std::optional<std::string> hint) {
    if (hint) list.push_back(std::move(*hint));
  };
  if (counts.idle_ipus > 0) add(idle_hint(explanation, counts));
  if (!counts.stages_share_ipus) add(balance_hint(explanation, counts.megaflops));
  add(bubble_hint(explanation, counts));
  add(sharing_hint(explanation, explanation.ipus - counts.idle_ipus));
  add(execution_hint(explanation, counts));
  if (explanation.training && explanation.samples > 0 && counts.effective_batch > explanation.samples)
    add(fmt::format(
        "the effective batch of {} is larger than the {} samples: an epoch is one update, and not a full one",
        counts.effective_batch, explanation.samples));
  return list;
}

}  // namespace pando
