// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "base/ascii.h"
#include "frontends/keras/build/names.h"
#include "frontends/keras/build/optimizer_state.h"

namespace pando::keras::optimizers {

namespace {

void check_rate(const std::string& optimizer, double rate) {
  if (!std::isfinite(rate))
    throw Error(fmt::format("{}: the learning rate is {} but must be a finite number, 0 or more", optimizer, rate));
  if (rate < 0) throw Error(fmt::format("{}: the learning rate is {} but must not be negative", optimizer, rate));
}

template <class Options>
std::shared_ptr<Optimizer::State> make_state(UpdateRule rule, const Options& options) {
  if (options.learning_rate.is_number()) check_rate(rule.name, options.learning_rate.rate());
  const GradientClipping clipping{options.clipvalue, options.clipnorm, options.global_clipnorm};
  for (const auto& limit : {clipping.value, clipping.norm, clipping.global_norm})
    if (limit && !(*limit > 0))
      throw Error(fmt::format("{}: gradients are to be clipped to {} but a limit must be positive", rule.name, *limit));
  return std::make_shared<Optimizer::State>(Optimizer::State{std::move(rule), options.learning_rate, clipping});
}

// Adam with Nesterov momentum, whose decay grows towards beta_1; its product is kept.
std::vector<Value> nadam_update(Value rate, Value step, Value parameter, Value gradient,
                                const std::vector<Value>& states, const AdamOptions& options) {
  const Value t = ops::cast(step, DType::float32) + 1.0;
  const auto decay = [&](Value at) {
    return options.beta_1 - ops::exp(at * (0.004 * std::log(0.96))) * (0.5 * options.beta_1);
  };
  const Value now = decay(t), next = decay(t + 1.0);
  const Value product = states[2] * now, next_product = product * next;
  const Value m = states[0] * options.beta_1 + gradient * (1 - options.beta_1);
  const Value v = states[1] * options.beta_2 + ops::square(gradient) * (1 - options.beta_2);
  const Value mean = gradient * ((1.0 - now) / (1.0 - product)) + m * (next / (1.0 - next_product));
  const Value correction = 1.0 - ops::exp(t * std::log(options.beta_2));
  return {parameter - mean * rate / (ops::sqrt(v / correction) + options.epsilon), m, v, product};
}

UpdateRule nadam_rule(const AdamOptions& options) {
  return {.name = "nadam",
          .states = {{"m"}, {"v"}, {"momentum_product", 1.0, true}},
          .update = [options](Value rate, Value step, Value parameter, Value gradient, const auto& states) {
            return nadam_update(rate, step, parameter, gradient, states, options);
          }};
}

ops::RmspropOptions rmsprop_options(const RMSpropOptions& options) {
  // Keras adds epsilon inside the root with momentum, and outside without.
  const bool momentum = options.momentum != 0;
  return {.rho = options.rho,
          .momentum = options.momentum,
          .epsilon = options.epsilon,
          .centered = options.centered,
          .epsilon_inside_root = momentum,
          .rate_in_velocity = momentum};
}

const std::map<std::string, Function<Optimizer()>>& by_name() {
  static const std::map<std::string, Function<Optimizer()>> table = {
      {"sgd", [] { return SGD(); }},     {"adam", [] { return Adam(); }},       {"adamw", [] { return AdamW(); }},
      {"nadam", [] { return Nadam(); }}, {"rmsprop", [] { return RMSprop(); }}, {"adagrad", [] { return Adagrad(); }}};
  return table;
}

// Names are also known as the classes are written: "RMSprop".
std::string lower_case(std::string name) {
  for (char& c : name) c = ascii::to_lower(c);
  return name;
}

}  // namespace

Optimizer::Optimizer(const std::string& name)
    : state_(find_by_name("optimizer", by_name(), by_name().contains(lower_case(name)) ? lower_case(name) : name)()
                 .state_) {}

const std::string& Optimizer::name() const { return state_->rule.name; }
std::int64_t Optimizer::iterations() const { return state_->iterations; }
double Optimizer::learning_rate() const {
  if (state_->learning_rate.schedule())
    throw Error(fmt::format("{}: the learning rate follows a schedule and is not a single number", name()));
  const double rate = state_->learning_rate.rate();
  check_rate(name(), rate);
  return rate;
}
void Optimizer::set_learning_rate(double rate) const {
  if (state_->learning_rate.schedule())
    throw Error(
        fmt::format("{}: the learning rate follows a schedule and cannot be set; use a number instead", name()));
  check_rate(name(), rate);
  state_->learning_rate = rate;
}

SGD::SGD(const SGDOptions& options)
    : Optimizer(make_state(
          sgd_rule(
              {.momentum = options.momentum, .nesterov = options.nesterov, .rate_in_velocity = options.momentum != 0}),
          options)) {}
Adam::Adam(const AdamOptions& options)
    : Optimizer(make_state(
          adam_rule("adam", {.beta1 = options.beta_1, .beta2 = options.beta_2, .epsilon = options.epsilon}), options)) {
}
Nadam::Nadam(const AdamOptions& options) : Optimizer(make_state(nadam_rule(options), options)) {}
AdamW::AdamW(const AdamWOptions& options)
    : Optimizer(make_state(adam_rule("adamw", {.beta1 = options.beta_1,
                                               .beta2 = options.beta_2,
                                               .epsilon = options.epsilon,
                                               .weight_decay = options.weight_decay,
                                               .decoupled = true}),
                           options)) {}
RMSprop::RMSprop(const RMSpropOptions& options)
    : Optimizer(make_state(rmsprop_rule(rmsprop_options(options)), options)) {}
Adagrad::Adagrad(const AdagradOptions& options)
    : Optimizer(make_state(adagrad_rule({.epsilon = options.epsilon}, options.initial_accumulator_value), options)) {}

namespace schedules {

namespace {

void check_steps(const char* who, double steps) {
  if (!(steps > 0)) throw Error(fmt::format("{}: the number of steps is {} but must be positive", who, steps));
}

// The part of the decay that is done, at most 1.
Value part_done(Value step, double steps) { return ops::minimum(step / steps, ops::scalar(step, 1.0)); }

}  // namespace

LearningRate ExponentialDecay(const ExponentialDecayOptions& options) {
  check_steps("ExponentialDecay", options.decay_steps);
  if (!(options.decay_rate > 0))
    throw Error(fmt::format("ExponentialDecay: decay_rate is {} but must be positive", options.decay_rate));
  return {[options](Value step) {
    Value exponent = step / options.decay_steps;
    if (options.staircase) exponent = ops::floor(exponent);
    return ops::exp(exponent * std::log(options.decay_rate)) * options.initial_learning_rate;
  }};
}

LearningRate CosineDecay(const CosineDecayOptions& options) {
  check_steps("CosineDecay", options.decay_steps);
  return {[options](Value step) {
    const Value cosine = ops::cos(part_done(step, options.decay_steps) * M_PI) * 0.5 + 0.5;
    return (cosine * (1 - options.alpha) + options.alpha) * options.initial_learning_rate;
  }};
}

LearningRate PolynomialDecay(const PolynomialDecayOptions& options) {
  check_steps("PolynomialDecay", options.decay_steps);
  return {[options](Value step) {
    const Value left = 1.0 - part_done(step, options.decay_steps);
    const Value power = options.power == 1 ? left : ops::power(left, ops::scalar(left, options.power));
    return power * (options.initial_learning_rate - options.end_learning_rate) + options.end_learning_rate;
  }};
}

LearningRate PiecewiseConstantDecay(const std::vector<double>& boundaries, const std::vector<double>& values) {
  if (values.size() != boundaries.size() + 1)
    throw Error(fmt::format("PiecewiseConstantDecay: {} boundaries need {} values but there are {}", boundaries.size(),
                            boundaries.size() + 1, values.size()));
  return {[=](Value step) {
    Value rate = ops::scalar(step, values.back());
    for (std::size_t i = boundaries.size(); i-- > 0;)
      rate = ops::select(ops::less_equal(step, ops::scalar(step, boundaries[i])), ops::scalar(step, values[i]), rate);
    return rate;
  }};
}

LearningRate WarmUp(double steps, const LearningRate& after) {
  check_steps("WarmUp", steps);
  if (!after.schedule() && !after.is_number())
    throw Error("WarmUp: the rate after it is a function of the host; give a number or a schedule");
  return {[=](Value step) {
    const auto follow = [&](Value count) {
      return after.schedule() ? after.schedule()(count) : ops::scalar(count, after.rate());
    };
    const Value growing = follow(ops::scalar(step, 0.0)) * (step / steps);
    return ops::select(ops::less(step, ops::scalar(step, steps)), growing, follow(step - steps));
  }};
}

}  // namespace schedules

}  // namespace pando::keras::optimizers
