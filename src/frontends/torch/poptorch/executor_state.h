// SPDX-License-Identifier: Apache-2.0
// What a PoplarExecutor keeps, and how it runs a call.
//
// A call has the samples of rows: a micro-batch for each replica, in turn. A whole call has rows for all its device
// iterations and accumulated gradients. A call with fewer samples has as many rows as they need. If they do not fill
// the last row, copies of a sample fill it up, a step with a mask runs, and the outputs of the copies are cut off.
#pragma once
#include "frontends/torch/poptorch/step.h"
#include "pando/frontends/torch/poptorch/model.h"
#include "model/call_lock.h"
#include "report/explain/explain.h"

namespace pando::poptorch {

struct PoplarExecutor::State {
  torch::nn::Module module;
  // Exactly one of them is set.
  Forward forward;
  Passes passes;
  std::size_t arguments;
  Options options;
  std::optional<torch::optim::Optimizer> optimizer;
  Variables variables = {};
  std::vector<Device> devices = {};
  // The second, made when it is first needed, is for calls whose samples do not fill the last micro-batches.
  std::optional<ModuleStep> step = {}, masked_step = {};
  // The types of a whole call, for which the model was compiled.
  std::vector<Type> compiled_for = {};
  bool attached = false, destroyed = false;
  // The updates of the model, and how many there were when its optimizer began.
  std::int64_t updates = 0, optimizer_begin = 0;
  PerfCounters counters = {};
  double device_seconds = 0.0;

  const char* who() const { return optimizer ? "trainingModel" : "inferenceModel"; }
  std::int64_t accumulation() const { return optimizer ? options.state().accumulation : 1; }
  // The number of rows; a row has a micro-batch for each replica.
  std::int64_t rows() const { return options.state().device_iterations * accumulation(); }
  std::int64_t micro_batches() const { return rows() * options.state().all_replicas(); }
  // The samples of a micro-batch; without tensors, a micro-batch counts as one.
  std::int64_t micro_batch() const { return compiled_for.empty() ? 1 : compiled_for[0].shape[0] / micro_batches(); }
  OutputMode output_mode() const {
    const OutputMode mode = options.state().output_mode;
    if (mode != OutputMode::Default) return mode;
    return optimizer ? OutputMode::Final : OutputMode::All;
  }

  // What a call runs: whole rows, whose last micro-batches may be filled up.
  struct Call {
    ModuleStep& step;
    std::int64_t samples, rows;
    // Whether it is one full micro-batch of a step that is not divided, which needs no loop.
    bool is_single;
  };

  void check_usable() const;
  // Throws Error, naming what needs it, before it is compiled.
  void check_compiled(const char* what) const;
  Explanation explanation(const char* what) const;
  void check_attached() const;
  void check_arguments(std::size_t count) const;
  // `inputs` are those of a whole call.
  std::vector<Type> micro_batch_types(const std::vector<Type>& inputs) const;
  // The number of samples of a call, at most that of a whole call.
  std::int64_t samples_of(const std::vector<Type>& inputs) const;
  ModuleStep make_step(const std::vector<Type>& inputs, bool masked);
  void build(const std::vector<Type>& inputs);
  void set_rates();
  Call prepared(const std::vector<Type>& inputs);
  void run_step(const Call& call, const Arrays& inputs);
  // Of these micro-batches of an output: how many parts come from real samples, and how many parts there are.
  struct Parts {
    std::int64_t real, all;
  };
  Parts real_parts(const Call& call, std::size_t output, std::int64_t batches, std::int64_t samples) const;
  // Turns rows of outputs, [rows, replicas, ...], into what a call returns: those of real samples, and their sum.
  Array returned(const Call& call, std::size_t output, const Array& rows_of, std::int64_t samples) const;
  Array summed(const Call& call, std::size_t output, const Array& rows_of) const;
  Array collected(const Call& call, std::size_t output) const;
  std::vector<std::string> optimizer_states() const;
  // `loader` may be null.
  void save(const std::string& path, const torch::utils::data::BatchLoader* loader) const;
  void load(const std::string& path, torch::utils::data::BatchLoader* loader);

  // Asked for the module whenever a step is made, if it is set. What it holds then may have adopted memory.
  Function<torch::nn::ModuleParts()> parts = {};
  std::vector<Parameter> held = {};

  // Outputs of a call without a loop.
  std::vector<Array> single_outputs = {};

  // Calls of several threads take turns.
  mutable CallLock calls = {};
  CallLock::Call take_turn() const { return {calls, who(), "the model"}; }
};

std::vector<Type> types_of(const Arrays& arrays);

}  // namespace pando::poptorch
