// SPDX-License-Identifier: Apache-2.0
// The virtual IPUs of a command line, and a model made ready to train on them.
#pragma once
#include <pando/frontends/ipu/config.h>
#include <pando/frontends/ipu/pipelining.h>
#include <pando/frontends/ipu/strategy.h>

#include "cli/models.h"

namespace pando::cli {

// How a model is divided over IPUs: ipus = stages x replicas.
struct Division {
  int ipus = 1, stages = 1, replicas = 1;
  std::int64_t gradient_accumulation = 1;
  ipu::pipelining_ops::PipelineSchedule schedule = ipu::pipelining_ops::PipelineSchedule::Grouped;
  ipu::GradientReduction reduction = ipu::GradientReduction::Sum;
  // 0 divides the cores among the IPUs.
  int tiles = 0;
  // Empty takes that of the environment.
  std::string backend = {};
};

// Of --ipus, --stages and --replicas any two give the third. Throws UsageError, with the arithmetic, if they do not
// match; says which options have no effect.
Division division_of(const Arguments& arguments);

// --backend, or empty.
std::string backend_of(const Arguments& arguments);

// Whether --workers lets several processes train together. Throws UsageError if there are several and it says nothing:
// each would train a model of its own.
bool joins_workers(const Arguments& arguments);

// While it lives, models are made for that many virtual IPUs; if they are shared, for those of all workers.
class VirtualIpus {
 public:
  VirtualIpus(int ipus, int tiles, const std::string& backend, bool shared = false)
      : strategy_(configured(ipus, tiles, backend, shared)), scope_(strategy_.scope()) {}

 private:
  static ipu::IPUStrategy configured(int ipus, int tiles, const std::string& backend, bool shared);

  ipu::IPUStrategy strategy_;
  ipu::IPUStrategy::Scope scope_;
};

struct TrainingRecipe {
  std::string optimizer = "adam";
  // 0 takes the optimizer's default.
  double learning_rate = 0;
  std::int64_t batch_size = 64;
  std::int64_t steps_per_execution = 50;
  std::string precision = "float32";
};
// From --optimizer, --batch-size and --steps-per-execution.
TrainingRecipe recipe_of(const Arguments& arguments);

// Compiles the model, and divides it into stages. Throws UsageError if it has fewer layers than stages.
void prepare_training(OpenedModel& opened, const Division& division, const TrainingRecipe& recipe);

}  // namespace pando::cli
