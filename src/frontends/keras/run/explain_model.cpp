// SPDX-License-Identifier: Apache-2.0
#include "frontends/keras/run/explain_model.h"

#include <fmt/format.h>

#include "base/machine/cores.h"
#include "frontends/keras/build/optimizer_state.h"
#include "model/balance_stages.h"
#include "model/explain.h"
#include "model/predict_scaling.h"

namespace pando::keras {

namespace {

std::string layers_of_stage(const Network& network, const ModelDivision& division, int stage) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < network.calls.size(); ++i)
    if (division.stages.of_call[i] == stage && network.calls[i]->function) names.push_back(network.calls[i]->name);
  return layers_text(names);
}

}  // namespace

Explanation explain_model(Model& model, const Model::ExplainOptions& options) {
  Job job(model, "explain", Mode::train);
  job.imagine(options.batch_size);
  job.divide();
  job.check_accumulation();
  const auto& training = job.training();
  const ModelDivision& division = job.division();
  const Target& target = *training.target;
  const Optimizer::State& optimizer = training.options->optimizer.state();
  Explanation explanation{.model = model.name(),
                          .samples = options.samples,
                          .batch_size = options.batch_size,
                          .fills_batches_up = job.step().mixture.empty(),
                          .ipus = target.is_host ? 0 : static_cast<int>(target.ipus.size()),
                          .replicas = division.replicas,
                          .workers = target.worker_count(),
                          .backend = target.ipus.front().backend(),
                          .device_mapping = training.parallelism.device_mapping(),
                          .gradient_accumulation = division.accumulation,
                          .reduction = division.reduction == ipu::GradientReduction::Sum ? "sum" : "mean",
                          .optimizer = optimizer.rule.name,
                          .learning_rate = optimizer.learning_rate.is_number()
                                               ? std::optional(optimizer.learning_rate.rate())
                                               : std::nullopt,
                          .steps_grow_with_gradients = optimizer.rule.grows_with_gradients,
                          .steps_per_execution = training.options->steps_per_execution,
                          .cores = usable_cores(),
                          .tiles_per_ipu = target.ipus.front().tiles(),
                          .schedule = schedule_of(division.order, division.stages.stages, true)};
  explanation.stages = explain_stages(job.step().program);
  for (std::size_t stage = 0; stage < explanation.stages.size(); ++stage)
    explanation.stages[stage].layers = layers_of_stage(job.network(), division, static_cast<int>(stage));
  explanation.scaling = predict_scaling(explanation,
                                        {.workers = options.workers,
                                         .step_seconds = options.step_seconds,
                                         .latency = options.network_latency,
                                         .bandwidth = options.network_bandwidth},
                                        kept_measurements());
  return explanation;
}

std::vector<int> balanced_stages(Model& model, int stages, std::int64_t batch_size) {
  Job job(model, "split_into_stages", Mode::train);
  job.imagine(batch_size);
  const std::vector<double> work = job.work_of_layers();
  if (stages < 1 || stages > static_cast<int>(work.size()))
    throw Error(
        fmt::format("split_into_stages: {} stages for {} layers; every stage needs a layer", stages, work.size()));
  return balance_stages(work, stages);
}

}  // namespace pando::keras
