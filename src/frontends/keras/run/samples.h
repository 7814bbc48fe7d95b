// SPDX-License-Identifier: Apache-2.0
// The samples that fit, evaluate and predict are given: checked against the model, then given out batch by batch.
#pragma once
#include "frontends/keras/run/step.h"
#include "model/batches.h"

namespace pando::keras {

// Where batches come from, whether arrays or a Dataset.
struct Samples {
  // The types of one sample: inputs, targets, and float32 weights if there are any.
  std::vector<Type> columns;
  std::int64_t batch_size = 0;
  // The number of batches of one pass; negative if it is not known.
  std::int64_t steps = -1;
  // The number of samples in all; negative if it is not known.
  std::int64_t count = -1;
  std::shared_ptr<BatchPasses> batches;
};

// What the samples are for: `who` begins messages ("fit"), and the rest says what columns there must be.
struct SampleUse {
  std::string who;
  std::size_t inputs = 1, targets = 1;
};

// What messages call a column: "x", or "y[1]" if there are several.
std::string column_name(const SampleUse& use, std::size_t column);

// Throws Error if sizes differ, nothing is given, or the weights are not one number per sample.
Samples samples_of(const SampleUse& use, const Arrays& x, const Arrays& y, const std::optional<Array>& sample_weight,
                   std::int64_t batch_size, bool shuffle);
// With `steps`, the next epoch continues the data set where the last one stopped.
Samples samples_of(const SampleUse& use, const data::Dataset& dataset, std::int64_t steps);

// Whether there is a column of weights.
bool has_weights(const SampleUse& use, const Samples& samples);

// Throws Error naming input or target, shapes and remedy unless the model can take the samples.
void check_samples(const SampleUse& use, const Samples& samples, const Network& network,
                   const std::vector<OutputGoals>& goals);
// Throws Error naming the first label that the loss of its output cannot take.
void check_labels(const SampleUse& use, const Arrays& y, const Network& network, const std::vector<OutputGoals>& goals);

// Throws Error for a class that the model's output does not have.
void check_class_weight(const SampleUse& use, const std::map<std::int64_t, double>& class_weight,
                        const Network& network, const std::vector<OutputGoals>& goals);

// The batches of the samples, for the next pass. Each label is checked; if there are class weights, a column of weights
// comes last.
std::shared_ptr<BatchSource> checked_batches(const SampleUse& use, const Samples& samples, const Network& network,
                                             const std::vector<OutputGoals>& goals,
                                             const std::map<std::int64_t, double>& class_weight);

}  // namespace pando::keras
