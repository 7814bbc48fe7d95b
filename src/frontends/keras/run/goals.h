// SPDX-License-Identifier: Apache-2.0
// OutputGoals: what a model was compiled to minimise and to measure, output by output.
#pragma once
#include <pando/frontends/keras/model.h>

#include "frontends/keras/build/network.h"

namespace pando::keras {

// The loss and the metrics of each output of a model.
struct OutputGoals {
  std::string output;
  std::optional<Loss> loss;
  double loss_weight = 1.0;
  std::vector<Metric> metrics;
};
// As Keras names them: by the layer that makes each; if a layer makes several, "dense", "dense_1"...
std::vector<std::string> output_names(const Network& network);
// What a step of training gives: the loss, those of several outputs, and the metrics.
std::vector<std::string> log_names(const std::vector<OutputGoals>& goals);
// Throws Error unless losses, weights and metrics match the outputs.
std::vector<OutputGoals> make_goals(const Network& network, const CompileOptions& options);

}  // namespace pando::keras
