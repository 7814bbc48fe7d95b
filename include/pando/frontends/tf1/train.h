// SPDX-License-Identifier: Apache-2.0
// tf.train: optimizers that add their update to the computation that is being traced.
#pragma once
#include <pando/frontends/tf1/graph.h>

namespace pando::tf1::train {

// What compute_gradients() returns and apply_gradients() takes.
struct GradientAndVariable {
  Tensor gradient;
  Parameter variable;
};

struct MinimizeOptions {
  // If empty, all trainable variables that the computation uses.
  std::vector<Variable> var_list = {};
};

// Copies are the same optimizer.
class PANDO_API Optimizer {
 public:
  // Throws Error outside a computation, and for a loss that is not one number.
  Operation minimize(const Tensor& loss, const MinimizeOptions& options = {}) const;
  std::vector<GradientAndVariable> compute_gradients(const Tensor& loss, const MinimizeOptions& options = {}) const;
  Operation apply_gradients(const std::vector<GradientAndVariable>& gradients) const;

  struct State;
  const State& state() const { return *state_; }

 protected:
  explicit Optimizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<const State> state_;
};

struct GradientDescentOptions {
  double learning_rate = 0.01;
};
// Gradient descent.
struct PANDO_API GradientDescentOptimizer : Optimizer {
  explicit GradientDescentOptimizer(const GradientDescentOptions& options);
};

struct MomentumOptions {
  double learning_rate = 0.01;
  double momentum = 0.9;
  bool use_nesterov = false;
};
// Gradient descent with momentum.
struct PANDO_API MomentumOptimizer : Optimizer {
  explicit MomentumOptimizer(const MomentumOptions& options);
};

struct AdamOptions {
  double learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};
// Adam.
struct PANDO_API AdamOptimizer : Optimizer {
  explicit AdamOptimizer(const AdamOptions& options = {});
};

struct RMSPropOptions {
  double learning_rate = 0.001;
  double decay = 0.9;
  double momentum = 0.0;
  double epsilon = 1e-10;
  bool centered = false;
};
// Divides the gradient by a running root mean square, which begins at 1.
struct PANDO_API RMSPropOptimizer : Optimizer {
  explicit RMSPropOptimizer(const RMSPropOptions& options);
};

}  // namespace pando::tf1::train
