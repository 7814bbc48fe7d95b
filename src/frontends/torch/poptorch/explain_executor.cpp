// What a PoplarExecutor says about its calls, before and after they run.
#include <pando/program/profile.h>

#include <fmt/format.h>

#include "base/cores.h"
#include "frontends/torch/poptorch/executor_state.h"
#include "model/explain.h"

namespace pando::poptorch {

namespace {

Explanation explanation_of(const std::string& model, const PoplarExecutor::State& state) {
  const OptionsState& options = state.options.state();
  Explanation explanation{.model = model,
                          .batch_size = state.micro_batch(),
                          .ipus = static_cast<int>(state.devices.size()),
                          .replicas = options.replicas,
                          .stages = explain_stages(state.step->program),
                          .gradient_accumulation = state.accumulation(),
                          .reduction = options.reduction == ReductionType::Sum ? "sum" : "mean",
                          .steps_per_execution = state.micro_batches(),
                          .cores = usable_cores(),
                          .tiles_per_ipu = state.devices.front().tiles(),
                          .training = state.optimizer.has_value()};
  const auto stages = static_cast<int>(explanation.stages.size());
  explanation.schedule = schedule_of(options.order, stages, explanation.training);
  for (std::size_t i = 0; i < explanation.stages.size(); ++i) explanation.stages[i].layers = state.step->modules[i];
  if (state.optimizer) {
    const UpdateRule& rule = state.optimizer->state().groups.front().rule;
    explanation.optimizer = rule.name;
    explanation.learning_rate = state.optimizer->lr(0);
    explanation.steps_grow_with_gradients = rule.grows_with_gradients;
  }
  return explanation;
}

}  // namespace

void PoplarExecutor::State::check_compiled(const char* what) const {
  check_usable();
  if (!step) throw Error(fmt::format("{}: {} needs a compiled model; first compile it or call it", who(), what));
}

std::string PoplarExecutor::explain() const {
  const CallLock::Call turn = state_->take_turn();
  state_->check_compiled("explain");
  return to_text(explanation_of(torch::nn::kind_of(state_->module), *state_));
}

std::string PoplarExecutor::explain_json() const {
  const CallLock::Call turn = state_->take_turn();
  state_->check_compiled("explain_json");
  return to_json(explanation_of(torch::nn::kind_of(state_->module), *state_));
}

void PoplarExecutor::profile(Profiler& profiler) {
  const CallLock::Call turn = state_->take_turn();
  state_->check_compiled("profile");
  profiler.attach(state_->step->program);
  if (state_->masked_step) profiler.attach(state_->masked_step->program);
}

}  // namespace pando::poptorch
