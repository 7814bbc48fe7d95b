// SPDX-License-Identifier: Apache-2.0
// Update: what an optimizer of torch.optim does to a parameter, for programs that keep parameters and states
// themselves.
#pragma once
#include <pando/frontends/torch/optim.h>

namespace pando::torch::optim {

// What is kept for each parameter between updates, in its shape or as one number.
struct UpdateState {
  // As PyTorch's optimizers name it: "exp_avg".
  std::string name;
  double initial = 0.0;
  bool scalar = false;
};

// The update of one parameter by an optimizer with these options. Copies are the same update.
class PANDO_API Update {
 public:
  // The rate of the options is not used. Throws Error as the optimizer does for options that it refuses.
  explicit Update(const SGDOptions& options);
  explicit Update(const AdamOptions& options);
  explicit Update(const AdamWOptions& options);
  explicit Update(const RMSpropOptions& options);
  explicit Update(const AdadeltaOptions& options);
  explicit Update(const AdagradOptions& options);
  explicit Update(const NAdamOptions& options);
  explicit Update(const RAdamOptions& options);

  const std::vector<UpdateState>& states() const;
  // The parameter and then its states after the update. The rate and `step`, the number of updates before this one, are
  // scalars of any numeric type. Throws Error if the states are not as many as states() has, and as the ops do.
  std::vector<Tensor> operator()(const Tensor& rate, const Tensor& step, const Tensor& parameter,
                                 const Tensor& gradient, const std::vector<Tensor>& states) const;

  struct State;

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace pando::torch::optim
