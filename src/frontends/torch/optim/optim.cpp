// SPDX-License-Identifier: Apache-2.0
#include "frontends/torch/optim/optim.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontends/torch/nn/module.h"

namespace pando::torch::optim {

namespace {

void check_not_negative(const std::string& who, const char* what, double number) {
  if (!std::isfinite(number))
    throw Error(fmt::format("{}: {} is {} but must be a finite number, 0 or more", who, what, number));
  if (number < 0) throw Error(fmt::format("{}: {} is {} but must not be negative", who, what, number));
}

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

// The first gradient fills the velocity as it is; later ones are dampened.
std::vector<Value> dampened_update(Value rate, Value step, Value parameter, Value gradient,
                                   const std::vector<Value>& states, const SGDOptions& options) {
  if (options.weight_decay != 0) gradient = gradient + parameter * options.weight_decay;
  const Value next = states[0] * options.momentum + gradient * (1 - options.dampening);
  const Value velocity = ops::select(ops::equal(step, ops::scalar(step, 0.0)), gradient, next);
  return {parameter - velocity * rate, velocity};
}

UpdateRule rule_of(const SGDOptions& options) {
  check_not_negative("SGD", "momentum", options.momentum);
  check_not_negative("SGD", "weight_decay", options.weight_decay);
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
    throw Error("SGD: nesterov needs a momentum and no dampening");
  UpdateRule rule =
      sgd_rule({.momentum = options.momentum, .nesterov = options.nesterov, .weight_decay = options.weight_decay});
  if (options.momentum != 0 && options.dampening != 0)
    rule.update = [options](Value rate, Value step, Value parameter, Value gradient, const auto& states) {
      return dampened_update(rate, step, parameter, gradient, states, options);
    };
  return rule;
}

template <class Options>
UpdateRule adam_rule_of(const char* who, const std::string& name, const Options& options, bool decoupled) {
  for (double beta : options.betas)
    if (!(beta >= 0 && beta < 1)) throw Error(fmt::format("{}: a beta is {} but must be in [0, 1)", who, beta));
  check_not_negative(who, "eps", options.eps);
  check_not_negative(who, "weight_decay", options.weight_decay);
  return adam_rule(name, {.beta1 = options.betas[0],
                          .beta2 = options.betas[1],
                          .epsilon = options.eps,
                          .weight_decay = options.weight_decay,
                          .decoupled = decoupled,
                          .epsilon_after_correction = true});
}

UpdateRule rule_of(const AdamOptions& options) { return adam_rule_of("Adam", "adam", options, false); }
UpdateRule rule_of(const AdamWOptions& options) { return adam_rule_of("AdamW", "adamw", options, true); }

UpdateRule rule_of(const RMSpropOptions& options) {
  check_not_negative("RMSprop", "alpha", options.alpha);
  check_not_negative("RMSprop", "eps", options.eps);
  check_not_negative("RMSprop", "weight_decay", options.weight_decay);
  check_not_negative("RMSprop", "momentum", options.momentum);
  UpdateRule rule = rmsprop_rule(
      {.rho = options.alpha, .momentum = options.momentum, .epsilon = options.eps, .centered = options.centered});
  if (options.weight_decay == 0) return rule;
  rule.update = [plain = rule.update, decay = options.weight_decay](Value rate, Value step, Value parameter,
                                                                    Value gradient, const auto& states) {
    return plain(rate, step, parameter, gradient + parameter * decay, states);
  };
  return rule;
}

// What weight_decay makes of a gradient.
Value decayed(Value gradient, Value parameter, double decay) {
  return decay == 0 ? gradient : gradient + parameter * decay;
}

UpdateRule rule_of(const AdadeltaOptions& options) {
  if (!(options.rho >= 0 && options.rho <= 1))
    throw Error(fmt::format("Adadelta: rho is {} but must be in [0, 1]", options.rho));
  check_not_negative("Adadelta", "eps", options.eps);
  check_not_negative("Adadelta", "weight_decay", options.weight_decay);
  return {.name = "adadelta",
          .states = {{"square_avg"}, {"acc_delta"}},
          .update = [options](Value rate, Value, Value parameter, Value gradient, const auto& states) {
            const Value slope = decayed(gradient, parameter, options.weight_decay);
            const Value squares = states[0] * options.rho + ops::square(slope) * (1 - options.rho);
            const Value change = slope * ops::sqrt((states[1] + options.eps) / (squares + options.eps));
            const Value changes = states[1] * options.rho + ops::square(change) * (1 - options.rho);
            return std::vector{parameter - change * rate, squares, changes};
          }};
}

UpdateRule rule_of(const AdagradOptions& options) {
  check_not_negative("Adagrad", "lr_decay", options.lr_decay);
  check_not_negative("Adagrad", "weight_decay", options.weight_decay);
  check_not_negative("Adagrad", "initial_accumulator_value", options.initial_accumulator_value);
  check_not_negative("Adagrad", "eps", options.eps);
  return {.name = "adagrad",
          .states = {{"sum", options.initial_accumulator_value}},
          .update = [options](Value rate, Value step, Value parameter, Value gradient, const auto& states) {
            const Value slope = decayed(gradient, parameter, options.weight_decay);
            const Value sum = states[0] + ops::square(slope);
            if (options.lr_decay != 0) rate = rate / (ops::cast(step, rate.dtype()) * options.lr_decay + 1.0);
            return std::vector{parameter - slope / (ops::sqrt(sum) + options.eps) * rate, sum};
          }};
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

namespace lr_scheduler {

namespace {

void check_steps(const char* who, const char* what, std::int64_t steps) {
  if (steps < 1) throw Error(fmt::format("{}: {} is {} but must be positive", who, what, steps));
}

// The rate changes in proportion to the factor of the epochs; from a rate of 0 it can only start again.
double moved(const Function<double(std::int64_t epoch)>& factor, std::int64_t epoch, double base, double current) {
  const double before = epoch == 0 ? 1.0 : factor(epoch - 1);
  return before == 0 ? base * factor(epoch) : current * (factor(epoch) / before);
}

}  // namespace

LRScheduler::LRScheduler(const Optimizer& optimizer, Rate rate) : optimizer_(optimizer), rate_(std::move(rate)) {
  for (ParameterGroup& group : optimizer.state().groups) {
    if (!group.initial_lr) group.initial_lr = group.lr;
    bases_.push_back(*group.initial_lr);
  }
  apply();
}

void LRScheduler::step() {
  ++epoch_;
  apply();
}

void LRScheduler::apply() const {
  for (std::size_t i = 0; i < bases_.size(); ++i) optimizer_.set_lr(rate_(epoch_, bases_[i], optimizer_.lr(i)), i);
}

std::vector<double> LRScheduler::get_last_lr() const {
  std::vector<double> rates;
  for (std::size_t i = 0; i < bases_.size(); ++i) rates.push_back(optimizer_.lr(i));
  return rates;
}

StepLR::StepLR(const Optimizer& optimizer, const StepLROptions& options)
    : LRScheduler(optimizer, [options](std::int64_t epoch, double base, double current) {
        check_steps("StepLR", "step_size", options.step_size);
        const auto factor = [&](std::int64_t e) {
          return std::pow(options.gamma, static_cast<double>(e / options.step_size));
        };
        return moved(factor, epoch, base, current);
      }) {}

MultiStepLR::MultiStepLR(const Optimizer& optimizer, const MultiStepLROptions& options)
    : LRScheduler(optimizer, [options](std::int64_t epoch, double base, double current) {
        const auto factor = [&](std::int64_t e) {
          const auto passed = std::count_if(options.milestones.begin(), options.milestones.end(),
                                            [&](std::int64_t milestone) { return milestone <= e; });
          return std::pow(options.gamma, static_cast<double>(passed));
        };
        return moved(factor, epoch, base, current);
      }) {}

ExponentialLR::ExponentialLR(const Optimizer& optimizer, double gamma)
    : LRScheduler(optimizer, [gamma](std::int64_t epoch, double, double current) {
        return epoch == 0 ? current : current * gamma;
      }) {}

LinearLR::LinearLR(const Optimizer& optimizer, const LinearLROptions& options)
    : LRScheduler(optimizer, [options](std::int64_t epoch, double base, double current) {
        check_steps("LinearLR", "total_iters", options.total_iters);
        const auto factor = [&](std::int64_t e) {
          const double done =
              static_cast<double>(std::min(e, options.total_iters)) / static_cast<double>(options.total_iters);
          return options.start_factor + (options.end_factor - options.start_factor) * done;
        };
        return moved(factor, epoch, base, current);
      }) {}

CosineAnnealingLR::CosineAnnealingLR(const Optimizer& optimizer, const CosineAnnealingLROptions& options)
    : LRScheduler(optimizer, [options](std::int64_t epoch, double base, double current) {
        check_steps("CosineAnnealingLR", "T_max", options.T_max);
        const auto height = [&](std::int64_t e) {
          return (1 + std::cos(M_PI * static_cast<double>(e) / static_cast<double>(options.T_max))) / 2;
        };
        return options.eta_min + moved(height, epoch, base - options.eta_min, current - options.eta_min);
      }) {}

LambdaLR::LambdaLR(const Optimizer& optimizer, Function<double(std::int64_t)> factor)
    : LRScheduler(optimizer, [factor = std::move(factor)](std::int64_t epoch, double base, double) {
        return base * factor(epoch);
      }) {}

}  // namespace lr_scheduler

}  // namespace pando::torch::optim
