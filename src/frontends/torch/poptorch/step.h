// SPDX-License-Identifier: Apache-2.0
// From a module to the program of one micro-batch, on one IPU or divided over several.
#pragma once
#include "frontends/torch/nn/module.h"
#include "frontends/torch/optim/optim.h"
#include "frontends/torch/poptorch/options.h"
#include "pando/frontends/torch/poptorch/model.h"
#include "model/step.h"

namespace pando::poptorch {

struct StepContext {
  const torch::nn::Module& module;
  // One of them is set: forward(), whose gradients Pando makes, or both passes.
  const PoplarExecutor::Forward& forward;
  const PoplarExecutor::Passes& passes;
  const OptionsState& options;
  // Null for inference.
  const torch::optim::Optimizer* optimizer = nullptr;
  Variables& variables;
  // Made by the first step if there are none.
  std::vector<Device>& devices;
  // Whether the outputs of all micro-batches are wanted, or only those of the last.
  bool keeps_all = false;
  // Whether the mask is fed, so that samples that only fill up a micro-batch do not count.
  bool masked = false;
  // The update at which the optimizer began with new states.
  std::int64_t optimizer_begin = 0;
};

struct ModuleStep : Step {
  // The type of each output of forward(), for one micro-batch.
  std::vector<Type> outputs;
  // With a mask: which outputs have rows for each sample. The others have one value for the micro-batch.
  std::vector<bool> has_rows;
  // The modules of each stage.
  std::vector<std::string> modules;
  // On one IPU, with an update for each micro-batch.
  bool is_whole = false;
};

// The types are those of one micro-batch, as they are fed. Throws Error, naming the node, if samples that only fill up
// a micro-batch would count.
ModuleStep build_step(const std::vector<Type>& inputs, const StepContext& context);

std::string input_feed(std::size_t index);
std::string output_name(std::size_t index);
inline constexpr const char* mask_feed = "sample_mask";

}  // namespace pando::poptorch
