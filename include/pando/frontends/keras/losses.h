// SPDX-License-Identifier: Apache-2.0
// Losses, by Keras's names. A loss has one value per sample; training minimises the mean over the samples of an update,
// each times its weight: a sample of weight 0 counts as one whose loss is 0.
#pragma once
#include <pando/base/function.h>
#include <pando/ops/ops.h>

#include <map>

namespace pando::keras {

namespace losses {

// Maps the predictions and targets of a batch to one number per sample, [batch], or to more, whose mean counts. It may
// also return one number for the whole batch: then a last batch of fewer samples is not filled up but runs by itself.
using SampleFunction = Function<Value(Value prediction, Value target)>;

// What a loss takes as the targets of a sample:
// - like_output: an array of the shape and the type of the output.
// - labels: class numbers, as int32.
// - any: arrays of any shape, which the function understands. Integers come as int32, single numbers as arrays of one.
enum class Targets { like_output, labels, any };

// A loss, by its name, as one of the functions below, or of your own.
class PANDO_API Loss {
 public:
  // "categorical_crossentropy", "mse", ... Throws Error with the nearest name.
  Loss(const char* name) : Loss(std::string(name)) {}
  Loss(const std::string& name);
  // A loss of the user's.
  Loss(std::string name, SampleFunction function, Targets targets = Targets::like_output)
      : name_(std::move(name)), function_(std::move(function)), targets_(targets) {}

  const std::string& name() const { return name_; }
  // Whether targets are class numbers instead of arrays in the shape of the predictions.
  bool takes_labels() const { return targets_ == Targets::labels; }
  Targets targets() const { return targets_; }
  // The same loss, but training minimises the sum of what it returns for a batch.
  Loss summed() const;
  bool is_sum() const { return is_sum_; }
  Value operator()(Value prediction, Value target) const { return function_(prediction, target); }

 private:
  std::string name_;
  SampleFunction function_;
  Targets targets_;
  bool is_sum_ = false;
};

struct CrossentropyOptions {
  // Predictions are logits rather than probabilities.
  bool from_logits = false;
  double label_smoothing = 0.0;
};
// Cross-entropy of probabilities and one-hot targets, both [batch, classes].
PANDO_API Loss CategoricalCrossentropy(const CrossentropyOptions& options = {});
// Cross-entropy of yes-or-no targets, 0 or 1, as the mean over the outputs of a sample.
PANDO_API Loss BinaryCrossentropy(const CrossentropyOptions& options = {});
struct SparseCrossentropyOptions {
  bool from_logits = false;
};
// Cross-entropy of probabilities [batch, classes] and class numbers [batch]. A target that is not a class is an error.
PANDO_API Loss SparseCategoricalCrossentropy(const SparseCrossentropyOptions& options = {});
// The mean of (prediction - target)^2.
PANDO_API Loss MeanSquaredError();
// The mean of |prediction - target|.
PANDO_API Loss MeanAbsoluteError();
// Half the square of an error up to `delta`, linear beyond it.
PANDO_API Loss Huber(double delta = 1.0);
// The mean of log(cosh(prediction - target)).
PANDO_API Loss LogCosh();
// The mean of max(1 - target * prediction, 0) for targets -1 or 1; 0 counts as -1.
PANDO_API Loss Hinge();
// The mean of prediction - target * log(prediction).
PANDO_API Loss Poisson();
// The sum of target * log(target / prediction).
PANDO_API Loss KLDivergence();

}  // namespace losses

using losses::Loss;

// One loss for all outputs, a list in the order of the outputs, or losses by the name of the output.
class Losses {
 public:
  Losses() = default;
  Losses(const char* name) : list_{Loss(name)} {}
  Losses(const std::string& name) : list_{Loss(name)} {}
  Losses(const Loss& loss) : list_{loss} {}
  Losses(std::initializer_list<Loss> list) : list_(list) {}
  Losses(const std::vector<Loss>& list) : list_(list) {}
  Losses(const std::map<std::string, Loss>& by_name) : by_name_(by_name) {}

  const std::vector<Loss>& list() const { return list_; }
  const std::map<std::string, Loss>& by_name() const { return by_name_; }

 private:
  std::vector<Loss> list_ = {};
  std::map<std::string, Loss> by_name_ = {};
};

}  // namespace pando::keras
