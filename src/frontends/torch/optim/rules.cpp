// SPDX-License-Identifier: Apache-2.0
#include "frontends/torch/optim/rules.h"

#include <fmt/format.h>

#include <cmath>

namespace pando::torch::optim {

namespace {

using States = std::vector<Value>;

void check_betas(const char* who, const std::array<double, 2>& betas) {
  for (double beta : betas)
    if (!(beta >= 0 && beta < 1)) throw Error(fmt::format("{}: a beta is {} but must be in [0, 1)", who, beta));
}

// The rule for gradients that point downwards, as one for gradients that point upwards.
UpdateRule maximizing(UpdateRule rule) {
  rule.update = [plain = std::move(rule.update)](Value rate, Value step, Value parameter, Value gradient,
                                                 const States& states) {
    return plain(rate, step, parameter, -gradient, states);
  };
  return rule;
}

UpdateRule directed(UpdateRule rule, bool maximize) { return maximize ? maximizing(std::move(rule)) : rule; }

// What weight_decay makes of a gradient.
Value decayed(Value gradient, Value parameter, double decay) {
  return decay == 0 ? gradient : gradient + parameter * decay;
}

// The number of this update, from 1. What depends on it is computed in float64, as PyTorch does: for a beta near 1,
// 1 - beta ** number has few digits in float32.
Value number_of(Value step) { return ops::cast(step, DType::float64) + 1.0; }
Value exactly(Value rate) { return ops::cast(rate, DType::float64); }
// base ** exponent.
Value raised(double base, Value exponent) { return ops::power(ops::scalar(exponent, base), exponent); }
// The scalar times the tensor.
Value scaled(Value tensor, Value scalar) { return tensor * ops::cast(scalar, tensor.dtype()); }

// A parameter and its gradient after weight decay, which goes through the gradient unless it is decoupled.
struct Slope {
  Value parameter, gradient;
};
Slope decay(Value rate, Value parameter, Value gradient, double by, bool decoupled) {
  if (!decoupled || by == 0) return {parameter, decayed(gradient, parameter, by)};
  return {scaled(parameter, 1.0 - exactly(rate) * by), gradient};
}

// The running means of gradients and of their squares, which Adam and its kin keep first.
struct Moments {
  Value mean, square;
};
Moments moments_of(Value gradient, const States& states, const std::array<double, 2>& betas) {
  return {states[0] * betas[0] + gradient * (1 - betas[0]),
          states[1] * betas[1] + ops::square(gradient) * (1 - betas[1])};
}

// The first gradient fills the velocity as it is; later ones are dampened.
States dampened_update(Value rate, Value step, Value parameter, Value gradient, const States& states,
                       const SGDOptions& options) {
  const Value slope = decayed(gradient, parameter, options.weight_decay);
  const Value next = states[0] * options.momentum + slope * (1 - options.dampening);
  const Value velocity = ops::select(ops::equal(step, ops::scalar(step, 0.0)), slope, next);
  return {parameter - velocity * rate, velocity};
}

// Adam with the largest square so far in place of the last one.
template <class Options>
States amsgrad_update(Value rate, Value step, Value parameter, Value gradient, const States& states,
                      const Options& options, bool decoupled) {
  const Slope slope = decay(rate, parameter, gradient, options.weight_decay, decoupled);
  const Moments moments = moments_of(slope.gradient, states, options.betas);
  const Value most = ops::maximum(states[2], moments.square);
  const Value number = number_of(step);
  const Value size = exactly(rate) / (1.0 - raised(options.betas[0], number));
  const Value root = scaled(ops::sqrt(most), 1.0 / ops::sqrt(1.0 - raised(options.betas[1], number)));
  return {slope.parameter - scaled(moments.mean, size) / (root + options.eps), moments.mean, moments.square, most};
}

template <class Options>
UpdateRule adam_rule_of(const char* who, const std::string& name, const Options& options, bool decoupled) {
  check_betas(who, options.betas);
  check_not_negative(who, "eps", options.eps);
  check_not_negative(who, "weight_decay", options.weight_decay);
  UpdateRule rule = adam_rule(name, {.beta1 = options.betas[0],
                                     .beta2 = options.betas[1],
                                     .epsilon = options.eps,
                                     .weight_decay = options.weight_decay,
                                     .decoupled = decoupled,
                                     .epsilon_after_correction = true});
  if (options.amsgrad) {
    rule.states.push_back({"max_v"});
    rule.update = [options, decoupled](Value rate, Value step, Value parameter, Value gradient, const States& states) {
      return amsgrad_update(rate, step, parameter, gradient, states, options, decoupled);
    };
  }
  return directed(std::move(rule), options.maximize);
}

// Nesterov's momentum, whose decay grows towards the first beta; the product of all decays is kept.
States nadam_update(Value rate, Value step, Value parameter, Value gradient, const States& states,
                    const NAdamOptions& options) {
  const Slope slope = decay(rate, parameter, gradient, options.weight_decay, options.decoupled_weight_decay);
  const Moments moments = moments_of(slope.gradient, states, options.betas);
  const Value number = number_of(step);
  const auto momentum = [&](Value at) {
    return (1.0 - raised(0.96, at * options.momentum_decay) * 0.5) * options.betas[0];
  };
  const Value now = momentum(number), next = momentum(number + 1.0);
  const Value product = scaled(states[2], now);
  const Value of_gradient = exactly(rate) * (1.0 - now) / (1.0 - exactly(product));
  const Value of_mean = exactly(rate) * next / (1.0 - exactly(product) * next);
  const Value square = scaled(moments.square, 1.0 / (1.0 - raised(options.betas[1], number)));
  const Value change =
      (scaled(slope.gradient, of_gradient) + scaled(moments.mean, of_mean)) / (ops::sqrt(square) + options.eps);
  return {slope.parameter - change, moments.mean, moments.square, product};
}

// Adam that does not divide by the squares' root until their mean is over enough gradients.
States radam_update(Value rate, Value step, Value parameter, Value gradient, const States& states,
                    const RAdamOptions& options) {
  const Slope slope = decay(rate, parameter, gradient, options.weight_decay, options.decoupled_weight_decay);
  const Moments moments = moments_of(slope.gradient, states, options.betas);
  const Value number = number_of(step);
  const Value forgotten = raised(options.betas[1], number), correction = 1.0 - forgotten;
  // How many gradients the mean of squares is over: at last, and now.
  const double longest = 2 / (1 - options.betas[1]) - 1;
  const Value length = longest - number * 2.0 * forgotten / correction;
  const Value is_long = ops::greater(length, ops::scalar(length, 5.0));
  const Value rectified =
      ops::sqrt((length - 4.0) * (length - 2.0) * longest / (length * ((longest - 4) * (longest - 2))) * correction);
  const Value size = exactly(rate) / (1.0 - raised(options.betas[0], number)) *
                     ops::select(is_long, rectified, ops::scalar(rectified, 1.0));
  const Value root = ops::sqrt(moments.square) + options.eps;
  const Value change = scaled(moments.mean, size) / ops::select(is_long, root, ops::scalar(root, 1.0));
  return {slope.parameter - change, moments.mean, moments.square};
}

}  // namespace

void check_not_negative(const std::string& who, const char* what, double number) {
  if (!std::isfinite(number))
    throw Error(fmt::format("{}: {} is {} but must be a finite number, 0 or more", who, what, number));
  if (number < 0) throw Error(fmt::format("{}: {} is {} but must not be negative", who, what, number));
}

UpdateRule rule_of(const SGDOptions& options) {
  check_not_negative("SGD", "momentum", options.momentum);
  check_not_negative("SGD", "weight_decay", options.weight_decay);
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
    throw Error("SGD: nesterov needs a momentum and no dampening");
  UpdateRule rule =
      sgd_rule({.momentum = options.momentum, .nesterov = options.nesterov, .weight_decay = options.weight_decay});
  if (options.momentum != 0 && options.dampening != 0)
    rule.update = [options](Value rate, Value step, Value parameter, Value gradient, const States& states) {
      return dampened_update(rate, step, parameter, gradient, states, options);
    };
  return directed(std::move(rule), options.maximize);
}

UpdateRule rule_of(const AdamOptions& options) { return adam_rule_of("Adam", "adam", options, false); }
UpdateRule rule_of(const AdamWOptions& options) { return adam_rule_of("AdamW", "adamw", options, true); }

UpdateRule rule_of(const RMSpropOptions& options) {
  if (!(options.alpha >= 0 && options.alpha < 1))
    throw Error(fmt::format("RMSprop: alpha is {} but must be in [0, 1)", options.alpha));
  check_not_negative("RMSprop", "eps", options.eps);
  check_not_negative("RMSprop", "weight_decay", options.weight_decay);
  check_not_negative("RMSprop", "momentum", options.momentum);
  UpdateRule rule = rmsprop_rule(
      {.rho = options.alpha, .momentum = options.momentum, .epsilon = options.eps, .centered = options.centered});
  if (options.weight_decay != 0)
    rule.update = [plain = rule.update, by = options.weight_decay](Value rate, Value step, Value parameter,
                                                                   Value gradient, const States& states) {
      return plain(rate, step, parameter, decayed(gradient, parameter, by), states);
    };
  return directed(std::move(rule), options.maximize);
}

UpdateRule rule_of(const AdadeltaOptions& options) {
  if (!(options.rho >= 0 && options.rho <= 1))
    throw Error(fmt::format("Adadelta: rho is {} but must be in [0, 1]", options.rho));
  check_not_negative("Adadelta", "eps", options.eps);
  check_not_negative("Adadelta", "weight_decay", options.weight_decay);
  UpdateRule rule{.name = "adadelta",
                  .states = {{"square_avg"}, {"acc_delta"}},
                  .update = [options](Value rate, Value, Value parameter, Value gradient, const States& states) {
                    const Value slope = decayed(gradient, parameter, options.weight_decay);
                    const Value squares = states[0] * options.rho + ops::square(slope) * (1 - options.rho);
                    const Value change = slope * ops::sqrt((states[1] + options.eps) / (squares + options.eps));
                    const Value changes = states[1] * options.rho + ops::square(change) * (1 - options.rho);
                    return States{parameter - change * rate, squares, changes};
                  }};
  return directed(std::move(rule), options.maximize);
}

UpdateRule rule_of(const AdagradOptions& options) {
  check_not_negative("Adagrad", "lr_decay", options.lr_decay);
  check_not_negative("Adagrad", "weight_decay", options.weight_decay);
  check_not_negative("Adagrad", "initial_accumulator_value", options.initial_accumulator_value);
  check_not_negative("Adagrad", "eps", options.eps);
  UpdateRule rule{.name = "adagrad",
                  .states = {{"sum", options.initial_accumulator_value}},
                  .update = [options](Value rate, Value step, Value parameter, Value gradient, const States& states) {
                    const Value slope = decayed(gradient, parameter, options.weight_decay);
                    if (options.lr_decay != 0) {
                      const Value shrinking = exactly(rate) / (exactly(step) * options.lr_decay + 1.0);
                      rate = ops::cast(shrinking, rate.dtype());
                    }
                    return ops::adagrad_update(rate, parameter, slope, states, {.epsilon = options.eps});
                  }};
  return directed(std::move(rule), options.maximize);
}

UpdateRule rule_of(const NAdamOptions& options) {
  check_betas("NAdam", options.betas);
  check_not_negative("NAdam", "eps", options.eps);
  check_not_negative("NAdam", "weight_decay", options.weight_decay);
  check_not_negative("NAdam", "momentum_decay", options.momentum_decay);
  UpdateRule rule{.name = "nadam",
                  .states = {{"m"}, {"v"}, {"mu_product", 1.0, true}},
                  .update = [options](Value rate, Value step, Value parameter, Value gradient, const States& states) {
                    return nadam_update(rate, step, parameter, gradient, states, options);
                  }};
  return directed(std::move(rule), options.maximize);
}

UpdateRule rule_of(const RAdamOptions& options) {
  check_betas("RAdam", options.betas);
  check_not_negative("RAdam", "eps", options.eps);
  check_not_negative("RAdam", "weight_decay", options.weight_decay);
  UpdateRule rule{.name = "radam",
                  .states = {{"m"}, {"v"}},
                  .update = [options](Value rate, Value step, Value parameter, Value gradient, const States& states) {
                    return radam_update(rate, step, parameter, gradient, states, options);
                  }};
  return directed(std::move(rule), options.maximize);
}

}  // namespace pando::torch::optim
