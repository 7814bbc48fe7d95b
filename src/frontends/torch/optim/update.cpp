// SPDX-License-Identifier: Apache-2.0
#include <pando/frontends/torch/update.h>

#include <fmt/format.h>

#include <map>

#include "frontends/torch/optim/rules.h"

namespace pando::torch::optim {

struct Update::State {
  UpdateRule rule;
  std::vector<UpdateState> states;
};

namespace {

// The rules name their states as the update ops do.
const std::map<std::string, std::string> pytorch_names = {
    {"momentum", "momentum_buffer"}, {"m", "exp_avg"},      {"v", "exp_avg_sq"},
    {"max_v", "max_exp_avg_sq"},     {"rms", "square_avg"}, {"mg", "grad_avg"},
};

std::shared_ptr<const Update::State> described(const UpdateRule& rule) {
  std::vector<UpdateState> states;
  for (const UpdateRule::State& state : rule.states) {
    const auto found = pytorch_names.find(state.name);
    states.push_back({found == pytorch_names.end() ? state.name : found->second, state.initial, state.scalar});
  }
  return std::make_shared<const Update::State>(Update::State{rule, std::move(states)});
}

}  // namespace

Update::Update(const SGDOptions& options) : state_(described(rule_of(options))) {}
Update::Update(const AdamOptions& options) : state_(described(rule_of(options))) {}
Update::Update(const AdamWOptions& options) : state_(described(rule_of(options))) {}
Update::Update(const RMSpropOptions& options) : state_(described(rule_of(options))) {}
Update::Update(const AdadeltaOptions& options) : state_(described(rule_of(options))) {}
Update::Update(const AdagradOptions& options) : state_(described(rule_of(options))) {}
Update::Update(const NAdamOptions& options) : state_(described(rule_of(options))) {}
Update::Update(const RAdamOptions& options) : state_(described(rule_of(options))) {}

const std::vector<UpdateState>& Update::states() const { return state_->states; }

std::vector<Tensor> Update::operator()(const Tensor& rate, const Tensor& step, const Tensor& parameter,
                                       const Tensor& gradient, const std::vector<Tensor>& states) const {
  const UpdateRule& rule = state_->rule;
  if (states.size() != rule.states.size())
    throw Error(fmt::format("{}: {} states were given but there are {}", rule.name, states.size(), rule.states.size()));
  std::vector<Tensor> inputs = {rate, step, parameter, gradient};
  inputs.insert(inputs.end(), states.begin(), states.end());
  return apply(rule.name, inputs, [state = state_](Trace&, const std::vector<Value>& values) {
    const Value scalar = ops::cast(values[0], values[2].dtype()), number = ops::cast(values[1], DType::float64);
    return state->rule.update(scalar, number, values[2], values[3], {values.begin() + 4, values.end()});
  });
}

}  // namespace pando::torch::optim
