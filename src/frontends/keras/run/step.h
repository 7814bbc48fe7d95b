// SPDX-License-Identifier: Apache-2.0
// From a compiled model to the program of one step of training, testing or prediction.
#pragma once
#include <pando/frontends/ipu/pipelining.h>

#include "frontends/keras/build/stages.h"
#include "frontends/keras/build/trainable_layers.h"
#include "frontends/keras/run/goals.h"
#include "model/step.h"

namespace pando::keras {

enum class Mode { train, test, predict };

// What a program is made for; a model keeps one program for each.
struct StepRequest {
  Mode mode = Mode::predict;
  std::int64_t batch_size = 0;
  // The types of one sample, as they are fed.
  std::vector<Type> inputs = {}, targets = {};
  // Whether samples have weights.
  bool weighted = false;
  friend bool operator==(const StepRequest&, const StepRequest&) = default;
};

// How a step is divided over IPUs, and what that means for its gradients.
struct ModelDivision : Division {
  StageAssignment stages = {};
  ipu::GradientReduction reduction = ipu::GradientReduction::Sum;

  bool is_whole() const { return replicas == 1 && stages.stages == 1 && accumulation == 1; }
  // Whether a batch of fewer samples may run by itself, as a program of another size.
  bool runs_short_batches(bool trains) const { return replicas == 1 && (accumulation == 1 || !trains); }
  // Whether the program divides by the samples of an update, instead of dividing each micro-batch by its own.
  bool divides_updates() const { return !is_whole() && reduction == ipu::GradientReduction::Mean; }
};

// The names of a step's feeds.
std::string input_feed(std::size_t index);
std::string target_feed(std::size_t index);
inline constexpr const char* mask_feed = "sample_mask";
inline constexpr const char* weight_feed = "sample_weight";
inline constexpr const char* scale_feed = "update_scale";
inline constexpr const char* rate_variable = "learning_rate";
// The number of real samples: an output in addition to those of ModelStep::names.
inline constexpr const char* count_output = "sample_count";

struct ModelStep : Step {
  StepRequest request;
  // Outputs of every step that are sums over its samples; the first is the loss. For a prediction, the model's outputs.
  std::vector<std::string> names;
  // The result that depends on all samples of a batch together, as a loss that is one number does: 'loss'. Copies of a
  // sample would change it, so batches must be full. Empty if there is none.
  std::string mixture;
  // One call at a time uses it.
  bool in_use = false;
};

struct StepContext {
  const Layer& model;
  const Network& network;
  const std::vector<OutputGoals>& goals;
  const Optimizer* optimizer = nullptr;
  // As the model was compiled.
  const TrainableLayers& trainable;
  Variables variables;
  const ModelDivision& division;
  // The IPUs of all replicas: the stages of the first, then those of the next.
  std::vector<Device> devices;
  ProgramOptions options = {};
};
ModelStep build_step(const StepRequest& request, StepContext& context);
// The graph alone, which needs no devices.
Graph trace_step(const StepRequest& request, StepContext& context);

}  // namespace pando::keras
