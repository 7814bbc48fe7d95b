#include "frontends/keras/division.h"

#include <fmt/format.h>

#include <algorithm>

namespace pando::keras {

namespace {

PipelineOrder order_of(ipu::pipelining_ops::PipelineSchedule schedule) {
  using ipu::pipelining_ops::PipelineSchedule;
  if (schedule == PipelineSchedule::Grouped) return PipelineOrder::grouped;
  return schedule == PipelineSchedule::Interleaved ? PipelineOrder::interleaved : PipelineOrder::sequential;
}

void check_mapping(const std::string& who, const std::vector<int>& mapping, int stages) {
  if (mapping.empty()) return;
  std::vector<int> sorted = mapping;
  std::sort(sorted.begin(), sorted.end());
  bool good = static_cast<int>(sorted.size()) == stages;
  for (int i = 0; good && i < stages; ++i) good = sorted[static_cast<std::size_t>(i)] == i;
  if (!good)
    throw Error(
        fmt::format("{}: device_mapping is [{}] but must name each of the IPUs 0 to {} of a replica once, an IPU "
                    "for each stage",
                    who, fmt::join(mapping, ", "), stages - 1));
}

}  // namespace

Division make_division(const std::string& who, const Parallelism& parallelism, const Target& target,
                       const Network& network) {
  Division division{.stages = assign_stages(network, parallelism.stages)};
  const int ipus = static_cast<int>(target.ipus.size()), stages = division.stages.stages;
  if (stages > ipus)
    throw Error(fmt::format("{}: the pipeline has {} stages but {} has {} IPU{}; configure {} IPUs or use fewer stages",
                            who, stages, target.name, ipus, ipus == 1 ? "" : "s", stages));
  division.replicas = ipus / stages;
  if (const auto& options = parallelism.pipelining) {
    check_mapping(who, options->device_mapping, stages);
    division.accumulation = options->gradient_accumulation_steps_per_replica;
    division.order = order_of(options->pipeline_schedule);
    division.recomputation = options->recomputation;
    division.sum_of_means = options->gradient_accumulation_reduction_method == ipu::keras::GradientReduction::Sum;
  } else if (const auto& accumulation = parallelism.accumulation) {
    division.accumulation = accumulation->gradient_accumulation_steps_per_replica;
    division.sum_of_means = accumulation->gradient_accumulation_reduction_method == ipu::keras::GradientReduction::Sum;
  }
  return division;
}

void check_accumulation(const std::string& who, const Parallelism& parallelism, const Division& division) {
  if (division.stages.stages > 1 && !parallelism.pipelining)
    throw Error(
        fmt::format("{}: the model is a pipeline of {} stages, but nobody said how many micro-batches make an "
                    "update; call set_pipelining_options({{.gradient_accumulation_steps_per_replica = ...}})",
                    who, division.stages.stages));
}

std::vector<Device> devices_of(const Division& division, const Parallelism& parallelism, const Target& target) {
  const auto stages = static_cast<std::size_t>(division.stages.stages);
  const std::vector<int> mapping = parallelism.pipelining ? parallelism.pipelining->device_mapping : std::vector<int>();
  std::vector<Device> devices;
  for (std::size_t replica = 0; replica < static_cast<std::size_t>(division.replicas); ++replica)
    for (std::size_t stage = 0; stage < stages; ++stage)
      devices.push_back(
          target.ipus[replica * stages + (mapping.empty() ? stage : static_cast<std::size_t>(mapping[stage]))]);
  return devices;
}

void check_accumulation_count(const char* who, std::int64_t count) {
  if (count < 1)
    throw Error(fmt::format("{}: gradient_accumulation_steps_per_replica is {} but must be at least 1", who, count));
}

}  // namespace pando::keras
