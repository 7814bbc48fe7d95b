// SPDX-License-Identifier: Apache-2.0
// The losses of torch.nn. A training model minimises what the last of them returns, unless identity_loss says
// otherwise.
#pragma once
#include <pando/frontends/torch/module.h>

#include <optional>

namespace pando::torch::nn {

// reduction: "mean", "sum" or "none".
struct LossOptions {
  std::string reduction = "mean";
};

// A loss takes a prediction and a target.
class PANDO_API Loss : public Module {
 public:
  Tensor operator()(const Tensor& input, const Tensor& target) const { return forward(input, target); }
  // Throws Error naming the loss and the shapes if they do not match.
  Tensor forward(const Tensor& input, const Tensor& target) const;

  struct Body;

 protected:
  explicit Loss(std::shared_ptr<const Body> body);
};

struct CrossEntropyLossOptions {
  // A weight for each class.
  std::optional<Array> weight = {};
  // Targets of this number do not count; if all have it, the mean is NaN. With a number outside int32, no target is
  // ignored. Any other target that is not a class is an error if it is fed, and makes the loss NaN if the program
  // computes it.
  std::int64_t ignore_index = -100;
  std::string reduction = "mean";
  double label_smoothing = 0.0;
};
// Input: logits [batch, classes, ...]; target: classes [batch, ...], or probabilities like the input.
struct PANDO_API CrossEntropyLoss : Loss {
  explicit CrossEntropyLoss(const CrossEntropyLossOptions& options = {});
};

struct NLLLossOptions {
  std::optional<Array> weight = {};
  std::int64_t ignore_index = -100;
  std::string reduction = "mean";
};
// Input: log-probabilities [batch, classes, ...].
struct PANDO_API NLLLoss : Loss {
  explicit NLLLoss(const NLLLossOptions& options = {});
};

// (input - target)^2.
struct PANDO_API MSELoss : Loss {
  explicit MSELoss(const LossOptions& options = {});
};
// |input - target|.
struct PANDO_API L1Loss : Loss {
  explicit L1Loss(const LossOptions& options = {});
};

struct SmoothL1LossOptions {
  std::string reduction = "mean";
  double beta = 1.0;
};
// Half the square of an error below `beta`, divided by beta, and linear beyond it.
struct PANDO_API SmoothL1Loss : Loss {
  explicit SmoothL1Loss(const SmoothL1LossOptions& options = {});
};

struct BCEWithLogitsLossOptions {
  std::optional<Array> weight = {};
  std::string reduction = "mean";
  std::optional<Array> pos_weight = {};
};
// Cross-entropy of yes-or-no targets, 0 or 1, and logits; pos_weight weighs the targets that are 1.
struct PANDO_API BCEWithLogitsLoss : Loss {
  explicit BCEWithLogitsLoss(const BCEWithLogitsLossOptions& options = {});
};

}  // namespace pando::torch::nn
