// SPDX-License-Identifier: Apache-2.0
// Optimizers and learning rate schedules, with Keras's names, defaults and arithmetic.
#pragma once
#include <pando/base/function.h>
#include <pando/ops/ops.h>

#include <memory>
#include <optional>

namespace pando::keras {

namespace optimizers {

// A number, a schedule, or a function of the host.
class LearningRate {
 public:
  LearningRate(double rate) : rate_(rate) {}
  // A schedule maps the number of updates done (a float32 scalar) to the rate of the next; computed inside the program.
  LearningRate(Function<Value(Value step)> schedule) : schedule_(std::move(schedule)) {}
  // Called before each execution; all updates of an execution have the rate that it returns.
  LearningRate(Function<double()> function) : function_(std::move(function)) {}

  bool is_number() const { return !schedule_ && !function_; }
  // The number, or what the function returns now; 0 for a schedule.
  double rate() const { return function_ ? function_() : rate_; }
  // Empty for a number and for a function of the host.
  const Function<Value(Value)>& schedule() const { return schedule_; }

 private:
  double rate_ = 0.0;
  Function<Value(Value)> schedule_ = {};
  Function<double()> function_ = {};
};

namespace schedules {

struct ExponentialDecayOptions {
  double initial_learning_rate = 0.001;
  double decay_steps = 1000;
  double decay_rate = 0.96;
  bool staircase = false;
};
// initial * decay_rate ^ (updates / decay_steps); with `staircase`, the exponent is rounded down.
PANDO_API LearningRate ExponentialDecay(const ExponentialDecayOptions& options);
struct CosineDecayOptions {
  double initial_learning_rate = 0.001;
  double decay_steps = 1000;
  // The final rate, as a fraction of the first.
  double alpha = 0.0;
};
// Follows half a cosine from the first rate to alpha times the first rate, over decay_steps updates.
PANDO_API LearningRate CosineDecay(const CosineDecayOptions& options);
struct PolynomialDecayOptions {
  double initial_learning_rate = 0.001;
  double decay_steps = 1000;
  double end_learning_rate = 0.0001;
  double power = 1.0;
};
// Goes from the first rate to end_learning_rate over decay_steps updates, by a polynomial of this power.
PANDO_API LearningRate PolynomialDecay(const PolynomialDecayOptions& options);
// values[i] up to and including update number boundaries[i]; the last value after all boundaries.
PANDO_API LearningRate PiecewiseConstantDecay(const std::vector<double>& boundaries, const std::vector<double>& values);
// Grows over `steps` updates from 0 to the first rate of `after`, then follows `after`, which counts from there.
PANDO_API LearningRate WarmUp(double steps, const LearningRate& after);

}  // namespace schedules

// Copies are the same optimizer: its counter and learning rate are shared with the models that were compiled with it.
class PANDO_API Optimizer {
 public:
  // "sgd", "adam", ... with its defaults. Throws Error with the nearest name.
  Optimizer(const char* name) : Optimizer(std::string(name)) {}
  Optimizer(const std::string& name);

  const std::string& name() const;
  // What a function of the host returns now. Throws Error if the rate follows a schedule.
  double learning_rate() const;
  void set_learning_rate(double rate) const;
  // The number of updates done.
  std::int64_t iterations() const;

  struct State;
  State& state() const { return *state_; }

 protected:
  explicit Optimizer(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

// In all options: clipnorm limits the norm of each gradient, global_clipnorm the norm of all gradients together,
// clipvalue each number.
struct SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0.0;
  bool nesterov = false;
  std::optional<double> clipnorm = {};
  std::optional<double> global_clipnorm = {};
  std::optional<double> clipvalue = {};
};
// Gradient descent, with momentum if it is given.
struct PANDO_API SGD : Optimizer {
  explicit SGD(const SGDOptions& options = {});
};

struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  std::optional<double> clipnorm = {};
  std::optional<double> global_clipnorm = {};
  std::optional<double> clipvalue = {};
};
// Adam: steps scaled by running means of the gradient and of its square.
struct PANDO_API Adam : Optimizer {
  explicit Adam(const AdamOptions& options = {});
};
// Adam with Nesterov momentum.
struct PANDO_API Nadam : Optimizer {
  explicit Nadam(const AdamOptions& options = {});
};

struct AdamWOptions {
  LearningRate learning_rate = 0.001;
  double weight_decay = 0.004;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  std::optional<double> clipnorm = {};
  std::optional<double> global_clipnorm = {};
  std::optional<double> clipvalue = {};
};
// Adam with weight decay that does not go through the gradient.
struct PANDO_API AdamW : Optimizer {
  explicit AdamW(const AdamWOptions& options = {});
};

struct RMSpropOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.9;
  double momentum = 0.0;
  double epsilon = 1e-7;
  bool centered = false;
  std::optional<double> clipnorm = {};
  std::optional<double> global_clipnorm = {};
  std::optional<double> clipvalue = {};
};
// Divides the gradient by a running root mean square; `centered` subtracts its mean first.
struct PANDO_API RMSprop : Optimizer {
  explicit RMSprop(const RMSpropOptions& options = {});
};

struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1;
  double epsilon = 1e-7;
  std::optional<double> clipnorm = {};
  std::optional<double> global_clipnorm = {};
  std::optional<double> clipvalue = {};
};
// Divides the gradient by the root of the sum of its squares so far.
struct PANDO_API Adagrad : Optimizer {
  explicit Adagrad(const AdagradOptions& options = {});
};

}  // namespace optimizers

using optimizers::Optimizer;

}  // namespace pando::keras
