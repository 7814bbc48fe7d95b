// SPDX-License-Identifier: Apache-2.0
// What a PoplarExecutor says about its calls, before and after they run.
#include <pando/program/profile.h>

#include <fmt/format.h>

#include "base/machine/cores.h"
#include "frontends/torch/poptorch/executor_state.h"
#include "model/explain.h"
#include "model/predict_scaling.h"

namespace pando::poptorch {

Explanation PoplarExecutor::State::explanation(const char* what) const {
  check_compiled(what);
  const OptionsState& options = this->options.state();
  Explanation explanation{.model = torch::nn::kind_of(module),
                          .batch_size = micro_batch(),
                          .ipus = static_cast<int>(devices.size()),
                          .replicas = options.all_replicas(),
                          .workers = options.workers ? options.workers->count() : 1,
                          .backend = devices.front().backend(),
                          .stages = explain_stages(step->program),
                          .gradient_accumulation = accumulation(),
                          .reduction = options.reduction == ReductionType::Sum ? "sum" : "mean",
                          .steps_per_execution = micro_batches(),
                          .cores = usable_cores(),
                          .tiles_per_ipu = devices.front().tiles(),
                          .training = optimizer.has_value()};
  const auto stages = static_cast<int>(explanation.stages.size());
  explanation.schedule = schedule_of(options.order, stages, explanation.training);
  for (std::size_t i = 0; i < explanation.stages.size(); ++i) explanation.stages[i].layers = step->modules[i];
  if (optimizer) {
    const UpdateRule& rule = optimizer->state().groups.front().rule;
    explanation.optimizer = rule.name;
    explanation.learning_rate = optimizer->lr(0);
    explanation.steps_grow_with_gradients = rule.grows_with_gradients;
  }
  explanation.scaling = predict_scaling(explanation, {}, kept_measurements());
  return explanation;
}

void PoplarExecutor::State::check_compiled(const char* what) const {
  check_usable();
  if (!step) throw Error(fmt::format("{}: {} needs a compiled model; first compile it or call it", who(), what));
}

std::string PoplarExecutor::explain() const {
  const CallLock::Call turn = state_->take_turn();
  return to_text(state_->explanation("explain"));
}

std::string PoplarExecutor::explain_json() const {
  const CallLock::Call turn = state_->take_turn();
  return to_json(state_->explanation("explain_json"));
}

void PoplarExecutor::profile(Profiler& profiler) {
  const CallLock::Call turn = state_->take_turn();
  state_->check_compiled("profile");
  profiler.attach(state_->step->program);
  if (state_->masked_step) profiler.attach(state_->masked_step->program);
}

}  // namespace pando::poptorch
