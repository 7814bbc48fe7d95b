// Losses, by Keras's names. A loss has one value per sample; training minimises the mean over the samples of an update.
#pragma once
#include <pando/base/function.h>
#include <pando/ops/ops.h>

#include <map>

namespace pando::keras {

namespace losses {

// Maps the predictions and targets of a batch to one number per sample, [batch].
using SampleFunction = Function<Value(Value prediction, Value target)>;

class PANDO_API Loss {
 public:
  // "categorical_crossentropy", "mse", ... Throws Error with the nearest name.
  Loss(const char* name) : Loss(std::string(name)) {}
  Loss(const std::string& name);
  // A loss of the user's; targets come in the type of the predictions, or as int32 if `labels` is set.
  Loss(std::string name, SampleFunction function, bool labels = false)
      : name_(std::move(name)), function_(std::move(function)), labels_(labels) {}

  const std::string& name() const { return name_; }
  // Whether targets are class numbers instead of arrays in the shape of the predictions.
  bool takes_labels() const { return labels_; }
  Value operator()(Value prediction, Value target) const { return function_(prediction, target); }

 private:
  std::string name_;
  SampleFunction function_;
  bool labels_;
};

struct CrossentropyOptions {
  // Predictions are logits rather than probabilities.
  bool from_logits = false;
  double label_smoothing = 0.0;
};
PANDO_API Loss CategoricalCrossentropy(const CrossentropyOptions& options = {});
PANDO_API Loss BinaryCrossentropy(const CrossentropyOptions& options = {});
struct SparseCrossentropyOptions {
  bool from_logits = false;
};
PANDO_API Loss SparseCategoricalCrossentropy(const SparseCrossentropyOptions& options = {});
PANDO_API Loss MeanSquaredError();
PANDO_API Loss MeanAbsoluteError();
PANDO_API Loss Huber(double delta = 1.0);
PANDO_API Loss LogCosh();
PANDO_API Loss Hinge();
PANDO_API Loss Poisson();
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
  Losses(const std::map<std::string, Loss>& by_name) : by_name_(by_name) {}

  const std::vector<Loss>& list() const { return list_; }
  const std::map<std::string, Loss>& by_name() const { return by_name_; }

 private:
  std::vector<Loss> list_ = {};
  std::map<std::string, Loss> by_name_ = {};
};

}  // namespace pando::keras
