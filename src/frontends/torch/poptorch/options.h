// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <pando/comm/workers.h>
#include <pando/frontends/torch/poptorch/options.h>

#include <optional>

namespace pando::poptorch {

struct OptionsState {
  std::int64_t device_iterations = 1;
  int replicas = 1;
  std::int64_t accumulation = 1;
  OutputMode output_mode = OutputMode::Default;
  std::int64_t output_period = 1;
  ReductionType reduction = ReductionType::Mean;
  PipelineOrder order = PipelineOrder::grouped;
  // 0: the blocks decide.
  int stages = 0;
  std::optional<std::uint64_t> random_seed = {};
  bool check_numerics = false;
  bool frozen = false;
  // The processes that share the replicas; null if it is this one alone.
  std::shared_ptr<Workers> workers = {};

  // The replicas of all processes.
  int all_replicas() const { return replicas * (workers ? workers->count() : 1); }
};

}  // namespace pando::poptorch
