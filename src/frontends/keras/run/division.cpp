// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/run/division.h"

#include <fmt/format.h>

#include "frontends/ipu/placement.h"

namespace pando::keras {

ModelDivision make_division(const std::string& who, const Parallelism& parallelism, const Target& target,
                            const Network& network) {
  ModelDivision division;
  division.stages = assign_stages(network, parallelism.stages);
  division.reduction = parallelism.reduction;
  const int stages = division.stages.stages;
  ipu::check_placement(who, target, stages, parallelism.device_mapping());
  const int replicas_here =
      static_cast<int>(target.ipus.size()) / ipu::ipus_of_replica(stages, parallelism.device_mapping());
  division.replicas = replicas_here * target.worker_count();
  if (const auto& options = parallelism.pipelining) {
    division.accumulation = options->gradient_accumulation_steps_per_replica;
    division.order = ipu::order_of(options->pipeline_schedule);
    division.recomputation = options->recomputation;
  } else if (const auto& accumulation = parallelism.accumulation) {
    division.accumulation = accumulation->gradient_accumulation_steps_per_replica;
  }
  return division;
}

void check_accumulation(const std::string& who, const Parallelism& parallelism, const ModelDivision& division) {
  if (division.stages.stages > 1 && !parallelism.pipelining)
    throw Error(
        fmt::format("{}: the model is a pipeline of {} stages, but it is not set how many micro-batches make an "
                    "update; call set_pipelining_options({{.gradient_accumulation_steps_per_replica = ...}})",
                    who, division.stages.stages));
}

std::vector<Device> devices_of(const ModelDivision& division, const Parallelism& parallelism, const Target& target) {
  std::vector<Device> devices = ipu::place_stages(target, division.stages.stages, parallelism.device_mapping());
  // A step that is not divided takes the first device.
  devices.erase(devices.begin() + division.stages.stages * division.replicas / target.worker_count(), devices.end());
  return devices;
}

void check_accumulation_count(const char* who, std::int64_t count) {
  // The host keeps a few numbers for each micro-batch of an update.
  constexpr std::int64_t most = 1'000'000;
  if (count < 1 || count > most)
    throw Error(fmt::format("{}: gradient_accumulation_steps_per_replica is {} but must be between 1 and {}", who,
                            count, most));
}

}  // namespace pando::keras
