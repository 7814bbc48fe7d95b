// SPDX-License-Identifier: Apache-2.0
// Metrics: means over all samples of an epoch, exact for any batch size.
#pragma once
#include <pando/frontends/keras/losses.h>

namespace pando::keras {

namespace metrics {

// A metric, by its name, as one of the functions below, or of your own.
class PANDO_API Metric {
 public:
  // "accuracy" (the one that fits targets and predictions), "mse", ... Throws Error with the nearest name.
  Metric(const char* name) : Metric(std::string(name)) {}
  Metric(const std::string& name);
  // A metric of the user's.
  Metric(std::string name, losses::SampleFunction function) : name_(std::move(name)), function_(std::move(function)) {}
  // Any loss can be a metric.
  Metric(const Loss& loss)
      : Metric(loss.name(), [loss](Value prediction, Value target) { return loss(prediction, target); }) {}

  const std::string& name() const { return name_; }
  Value operator()(Value prediction, Value target) const { return function_(prediction, target); }

 private:
  std::string name_;
  losses::SampleFunction function_;
};

// How often the prediction is right; the shapes decide which of the next three it is.
PANDO_API Metric Accuracy();
// How often the largest score is that of the one-hot target.
PANDO_API Metric CategoricalAccuracy();
// How often the largest score is that of the class number.
PANDO_API Metric SparseCategoricalAccuracy();
// How often scores above the threshold have the target 1, and other scores the target 0.
PANDO_API Metric BinaryAccuracy(double threshold = 0.5);
// How often the one-hot target is among the k largest scores.
PANDO_API Metric TopKCategoricalAccuracy(std::int64_t k = 5);
// How often the class number is among the k largest scores.
PANDO_API Metric SparseTopKCategoricalAccuracy(std::int64_t k = 5);
// The mean of (prediction - target)^2.
PANDO_API Metric MeanSquaredError();
// The mean of |prediction - target|.
PANDO_API Metric MeanAbsoluteError();

}  // namespace metrics

using metrics::Metric;

}  // namespace pando::keras
