// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontends/torch/optim/optim.h"

namespace pando::torch::optim {

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
