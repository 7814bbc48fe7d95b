// SPDX-License-Identifier: Apache-2.0
// StepPlan: the Plans of all devices of a step, how they are connected, and in which order they run. Plain data.
#pragma once
#include <pando/graph/division.h>

#include <optional>
#include <utility>

#include "plan/pipeline_schedule.h"
#include "plan/plan.h"

namespace pando {

// A place in a block of memory for a value that passes between host, devices and passes.
struct Field {
  PortKind kind = PortKind::host;
  std::int32_t number = 0;
  std::string name;
  Type type;
  std::size_t offset = 0;
  // For results only: kept for every micro-batch instead of only the last.
  bool every_step = false;
  friend bool operator==(const Field&, const Field&) = default;
};

struct Fields {
  std::vector<Field> list;
  std::size_t bytes = 0;

  // Makes a place for the port unless it has one. The host identifies ports by name, devices by kind and number.
  void add(const Port& port);
  const Field& of(const Port& port) const;
  friend bool operator==(const Fields&, const Fields&) = default;
};

// The programs of one stage; a missing program has nothing to do. The last stage of training has no `forward`: its
// backward programs do both passes.
struct StagePlan {
  // `backward_first` begins the sums of an update, `backward_next` adds to them.
  std::optional<Plan> forward, backward_first, backward_next;
  // Run once per update, after the sums of all replicas are added up: they compute what other stages need, and the
  // update.
  std::optional<Plan> update_values, update;
  // The memory of a micro-batch: what arrives from other stages, and the stash.
  Fields slot;
  // Variables that are added up, and averaged, over the replicas before an update.
  std::vector<VariablePort> sums, statistics;

  // In the order of the numbers by which a recording tells them apart; null where there is none.
  std::vector<const Plan*> all() const;
  friend bool operator==(const StagePlan&, const StagePlan&) = default;
};

// The programs of a stage with their names, in the order of StagePlan::all().
inline constexpr std::pair<std::string_view, std::optional<Plan> StagePlan::*> stage_programs[] = {
    {"forward", &StagePlan::forward},
    {"backward_first", &StagePlan::backward_first},
    {"backward_next", &StagePlan::backward_next},
    {"update_values", &StagePlan::update_values},
    {"update", &StagePlan::update}};

struct StepPlan {
  int replicas = 1;
  // Rows of micro-batches, one for each replica, that make an update.
  std::int64_t rows_per_update = 1;
  std::int64_t batch_size = 1;
  PipelineSchedule schedule = {};
  std::vector<StagePlan> stages = {};
  // What the host feeds to one replica and receives from it for one micro-batch; what stages exchange once per update.
  Fields host = {}, results = {}, exchange = {};

  // Whether backward passes and updates are separate programs.
  bool has_backward() const { return !schedule.backward.empty(); }
  // With one device and one micro-batch per update, the loop over steps runs on the device.
  bool is_whole() const { return stages.size() == 1 && replicas == 1 && !has_backward(); }
  friend bool operator==(const StepPlan&, const StepPlan&) = default;
};

// The text form: the schedule, what the host and the stages exchange, then the plan of each program.
std::string to_string(const StepPlan& plan);

}  // namespace pando
