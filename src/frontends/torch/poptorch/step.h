// From a module to the program of one micro-batch, on one IPU or divided over several.
#pragma once
#include <pando/parallel.h>

#include <deque>

#include "frontends/torch/module.h"
#include "frontends/torch/optim.h"
#include "frontends/torch/poptorch/options.h"

namespace pando::poptorch {

struct StepContext {
  const torch::nn::Module& module;
  const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& forward;
  const OptionsState& options;
  // Null: inference.
  const torch::optim::Optimizer* optimizer = nullptr;
  Variables& variables;
  // Whether the outputs of all micro-batches are wanted, or those of the last only.
  bool keeps_all = false;
};

struct Step {
  // Of each output of forward(), for one micro-batch.
  std::vector<Type> outputs;
  // One of the two.
  std::optional<Program> program = {};
  std::optional<ParallelProgram> parallel = {};

  std::vector<PortInfo> feeds() const { return program ? program->feeds() : parallel->feeds(); }
};

// The types are those of one micro-batch, as they are fed.
Step build_step(const std::vector<Type>& inputs, const StepContext& context);

std::string input_feed(std::size_t index);
std::string output_name(std::size_t index);
inline constexpr const char* counter_feed = "counter";
std::string rate_variable(std::size_t group);

}  // namespace pando::poptorch
