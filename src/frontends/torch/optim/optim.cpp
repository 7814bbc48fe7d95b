// SPDX-License-Identifier: Apache-2.0
#include "frontends/torch/optim/optim.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontends/torch/nn/module.h"
#include "frontends/torch/optim/rules.h"

namespace pando::torch::optim {

namespace {

void add_group(const Optimizer& optimizer, const std::string& who, const Parameters& parameters, double lr,
               UpdateRule rule) {
  check_not_negative(who, "lr", lr);
  if (parameters.empty()) throw Error(fmt::format("{}: there are no parameters", who));
  std::vector<ParameterGroup>& groups = optimizer.state().groups;
  for (const ParameterGroup& group : groups)
    for (const nn::Parameter& parameter : parameters)
      if (std::find(group.parameters.begin(), group.parameters.end(), parameter) != group.parameters.end())
        throw Error(
            fmt::format("{}: a parameter of shape {} is in another group already", who, to_string(parameter.shape())));
  groups.push_back({parameters, lr, std::move(rule)});
}

std::string rate_variable(std::size_t group) { return fmt::format("learning_rate/{}", group); }

}  // namespace

void add_updates(Trace& trace, Variables& variables, const Optimizer& optimizer, std::int64_t begin,
                 const std::vector<Parameter>& parameters, const std::vector<Value>& gradients) {
  Value step = trace.update_number();
  if (begin != 0) step = step - static_cast<double>(begin);
  const std::vector<ParameterGroup>& groups = optimizer.state().groups;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<Parameter> members;
    std::vector<Value> slopes;
    for (const nn::Parameter& member : groups[g].parameters)
      for (std::size_t i = 0; i < parameters.size(); ++i)
        if (parameters[i] == member.state().stored) {
          members.push_back(parameters[i]);
          slopes.push_back(gradients[i]);
        }
    if (members.empty()) continue;
    const Value rate = ops::variable(trace.graph(), rate_variable(g), DType::float32, {}, VariableRole::rate);
    apply_updates(trace, variables, groups[g].rule, rate, step, members, slopes);
  }
}

void set_rates(const Optimizer& optimizer, Variables& variables) {
  for (std::size_t i = 0; i < optimizer.param_groups(); ++i)
    variables.set(rate_variable(i), Array::scalar(static_cast<float>(optimizer.lr(i))));
}

Optimizer::Optimizer() : state_(std::make_shared<State>()) {}
std::size_t Optimizer::param_groups() const { return state_->groups.size(); }
double Optimizer::lr(std::size_t group) const { return state_->groups.at(group).lr; }
void Optimizer::set_lr(double lr, std::size_t group) const {
  check_not_negative("set_lr", "lr", lr);
  state_->groups.at(group).lr = lr;
}

SGD::SGD(const Parameters& parameters, const SGDOptions& options) { add_param_group(parameters, options); }
void SGD::add_param_group(const Parameters& parameters, const SGDOptions& options) {
  add_group(*this, "SGD", parameters, options.lr, rule_of(options));
}
Adam::Adam(const Parameters& parameters, const AdamOptions& options) { add_param_group(parameters, options); }
void Adam::add_param_group(const Parameters& parameters, const AdamOptions& options) {
  add_group(*this, "Adam", parameters, options.lr, rule_of(options));
}
AdamW::AdamW(const Parameters& parameters, const AdamWOptions& options) { add_param_group(parameters, options); }
void AdamW::add_param_group(const Parameters& parameters, const AdamWOptions& options) {
  add_group(*this, "AdamW", parameters, options.lr, rule_of(options));
}
RMSprop::RMSprop(const Parameters& parameters, const RMSpropOptions& options) { add_param_group(parameters, options); }
void RMSprop::add_param_group(const Parameters& parameters, const RMSpropOptions& options) {
  add_group(*this, "RMSprop", parameters, options.lr, rule_of(options));
}

Adadelta::Adadelta(const Parameters& parameters, const AdadeltaOptions& options) {
  add_param_group(parameters, options);
}
void Adadelta::add_param_group(const Parameters& parameters, const AdadeltaOptions& options) {
  add_group(*this, "Adadelta", parameters, options.lr, rule_of(options));
}
Adagrad::Adagrad(const Parameters& parameters, const AdagradOptions& options) { add_param_group(parameters, options); }
void Adagrad::add_param_group(const Parameters& parameters, const AdagradOptions& options) {
  add_group(*this, "Adagrad", parameters, options.lr, rule_of(options));
}
NAdam::NAdam(const Parameters& parameters, const NAdamOptions& options) { add_param_group(parameters, options); }
void NAdam::add_param_group(const Parameters& parameters, const NAdamOptions& options) {
  add_group(*this, "NAdam", parameters, options.lr, rule_of(options));
}
RAdam::RAdam(const Parameters& parameters, const RAdamOptions& options) { add_param_group(parameters, options); }
void RAdam::add_param_group(const Parameters& parameters, const RAdamOptions& options) {
  add_group(*this, "RAdam", parameters, options.lr, rule_of(options));
}

}  // namespace pando::torch::optim
