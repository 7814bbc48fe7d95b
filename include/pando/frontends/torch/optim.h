// SPDX-License-Identifier: Apache-2.0
// torch.optim: what a training model does with gradients, with PyTorch's names, defaults and arithmetic.
#pragma once
#include <pando/frontends/torch/module.h>

namespace pando::torch::optim {

using Parameters = std::vector<nn::Parameter>;

// Copies are the same optimizer: the model uses a new learning rate from its next call.
class PANDO_API Optimizer {
 public:
  // Each group of parameters has its own options; the first group is that of the constructor.
  std::size_t param_groups() const;
  double lr(std::size_t group = 0) const;
  // Throws Error if it is negative.
  void set_lr(double lr, std::size_t group = 0) const;

  struct State;
  State& state() const { return *state_; }

 protected:
  Optimizer();

 private:
  std::shared_ptr<State> state_;
};

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0.0;
  double dampening = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
  // Climbs instead of descending; so for all optimizers.
  bool maximize = false;
};
// Gradient descent, with momentum if it is given.
struct PANDO_API SGD : Optimizer {
  explicit SGD(const Parameters& parameters, const SGDOptions& options = {});
  void add_param_group(const Parameters& parameters, const SGDOptions& options);
};

struct AdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
  // Divides by the root of the largest running square so far, not of the last one.
  bool amsgrad = false;
  bool maximize = false;
};
// Adam; weight_decay is added to the gradient.
struct PANDO_API Adam : Optimizer {
  explicit Adam(const Parameters& parameters, const AdamOptions& options = {});
  void add_param_group(const Parameters& parameters, const AdamOptions& options);
};

struct AdamWOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 1e-2;
  bool amsgrad = false;
  bool maximize = false;
};
// Adam with weight decay that does not go through the gradient.
struct PANDO_API AdamW : Optimizer {
  explicit AdamW(const Parameters& parameters, const AdamWOptions& options = {});
  void add_param_group(const Parameters& parameters, const AdamWOptions& options);
};

struct RMSpropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0.0;
  double momentum = 0.0;
  bool centered = false;
  bool maximize = false;
};
// Divides the gradient by a running root mean square.
struct PANDO_API RMSprop : Optimizer {
  explicit RMSprop(const Parameters& parameters, const RMSpropOptions& options = {});
  void add_param_group(const Parameters& parameters, const RMSpropOptions& options);
};

struct AdadeltaOptions {
  double lr = 1.0;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0.0;
  bool maximize = false;
};
// Divides the gradient by its running root mean square, and multiplies it by the root mean square of the changes so
// far.
struct PANDO_API Adadelta : Optimizer {
  explicit Adadelta(const Parameters& parameters, const AdadeltaOptions& options = {});
  void add_param_group(const Parameters& parameters, const AdadeltaOptions& options);
};

struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0.0;
  double weight_decay = 0.0;
  double initial_accumulator_value = 0.0;
  double eps = 1e-10;
  bool maximize = false;
};
// Divides the gradient by the root of the sum of all squares so far.
struct PANDO_API Adagrad : Optimizer {
  explicit Adagrad(const Parameters& parameters, const AdagradOptions& options = {});
  void add_param_group(const Parameters& parameters, const AdagradOptions& options);
};

struct NAdamOptions {
  double lr = 2e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
  double momentum_decay = 4e-3;
  // Takes the weight decay from the parameter, as AdamW does, and not through the gradient.
  bool decoupled_weight_decay = false;
  bool maximize = false;
};
// Adam with Nesterov's momentum.
struct PANDO_API NAdam : Optimizer {
  explicit NAdam(const Parameters& parameters, const NAdamOptions& options = {});
  void add_param_group(const Parameters& parameters, const NAdamOptions& options);
};

struct RAdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool decoupled_weight_decay = false;
  bool maximize = false;
};
// Adam that starts with momentum alone, until it has seen enough gradients to know their size.
struct PANDO_API RAdam : Optimizer {
  explicit RAdam(const Parameters& parameters, const RAdamOptions& options = {});
  void add_param_group(const Parameters& parameters, const RAdamOptions& options);
};

namespace lr_scheduler {

// Call step() once per epoch to set the learning rates of the optimizer. All but LambdaLR continue from the current
// rate, so several can be used together.
class PANDO_API LRScheduler {
 public:
  void step();
  // The rate of each group.
  std::vector<double> get_last_lr() const;
  std::int64_t last_epoch() const { return epoch_; }

 protected:
  // Computes the rate from the epoch, the rate before all schedulers and the rate of the previous epoch.
  using Rate = Function<double(std::int64_t epoch, double base, double current)>;
  LRScheduler(const Optimizer& optimizer, Rate rate);

 private:
  void apply() const;
  Optimizer optimizer_;
  Rate rate_;
  std::vector<double> bases_;
  std::int64_t epoch_ = 0;
};

struct StepLROptions {
  std::int64_t step_size = 1;
  double gamma = 0.1;
};
// Multiplies the rate by gamma every step_size epochs.
struct PANDO_API StepLR : LRScheduler {
  StepLR(const Optimizer& optimizer, const StepLROptions& options);
};

struct MultiStepLROptions {
  std::vector<std::int64_t> milestones = {};
  double gamma = 0.1;
};
// Multiplies the rate by gamma at each of the milestones.
struct PANDO_API MultiStepLR : LRScheduler {
  MultiStepLR(const Optimizer& optimizer, const MultiStepLROptions& options);
};

// Multiplies the rate by gamma each epoch.
struct PANDO_API ExponentialLR : LRScheduler {
  ExponentialLR(const Optimizer& optimizer, double gamma);
};

struct LinearLROptions {
  double start_factor = 1.0 / 3;
  double end_factor = 1.0;
  std::int64_t total_iters = 5;
};
// Multiplies the rate by a factor that goes from start_factor to end_factor in total_iters epochs.
struct PANDO_API LinearLR : LRScheduler {
  explicit LinearLR(const Optimizer& optimizer, const LinearLROptions& options = {});
};

struct CosineAnnealingLROptions {
  std::int64_t T_max = 1;
  double eta_min = 0.0;
};
// Follows a cosine from the rate to eta_min in T_max epochs.
struct PANDO_API CosineAnnealingLR : LRScheduler {
  CosineAnnealingLR(const Optimizer& optimizer, const CosineAnnealingLROptions& options);
};

// The rate before all schedulers times what the function returns for the epoch.
struct PANDO_API LambdaLR : LRScheduler {
  LambdaLR(const Optimizer& optimizer, Function<double(std::int64_t epoch)> factor);
};

}  // namespace lr_scheduler

}  // namespace pando::torch::optim
