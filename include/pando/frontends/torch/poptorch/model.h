// SPDX-License-Identifier: Apache-2.0
// poptorch.trainingModel and poptorch.inferenceModel: modules compiled for virtual IPUs.
#pragma once
#include <pando/data/loader.h>
#include <pando/frontends/torch/poptorch/options.h>
#include <pando/frontends/torch/losses.h>
#include <pando/frontends/torch/modules.h>
#include <pando/frontends/torch/optim.h>

#include <optional>
#include <tuple>

namespace pando {
class Profiler;
}

namespace pando::poptorch {

// Calls of modules while it lives belong to the IPU: the blocks of a model are the stages of a pipeline.
class PANDO_API Block {
 public:
  explicit Block(int ipu_id);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

 private:
  int outer_ = 0;
};
// What comes after it in forward(), until the next block, belongs to the IPU.
PANDO_API void BeginBlock(int ipu_id);
// The same from the first call of a layer inside the module on. Returns the module.
PANDO_API void begin_block_at(const torch::nn::Module& module, int ipu_id);
template <class M>
M& BeginBlock(M& module, int ipu_id) {
  begin_block_at(module, ipu_id);
  return module;
}

// Makes the tensor the loss: its "mean", its "sum", or, with "none", the one number that it is.
PANDO_API Tensor identity_loss(const Tensor& x, const std::string& reduction);

// How long calls take.
struct PerfCounters {
  std::int64_t calls = 0;
  // The seconds of a call, from its arguments to its results.
  double last = 0.0, least = 0.0, most = 0.0, mean = 0.0;
};

// A micro-batch that a front end with an autograd of its own traces: what it is given, and what it makes of it.
struct PassInputs {
  // The tensors of forward(), as they are fed.
  std::vector<Tensor> tensors;
  // For random ops.
  Tensor counter;
  // 1 for each real sample and 0 for each that only fills up the micro-batch; empty if all samples are real.
  std::optional<Tensor> mask;
  // By what the gradients of the loss are to be multiplied; empty for 1.
  std::optional<Tensor> weight;
};
// What they compute from it.
struct PassResults {
  std::vector<Tensor> outputs;
  // What training minimises, and its gradients; nothing for inference.
  std::optional<Tensor> loss;
  std::vector<std::pair<torch::nn::Parameter, Tensor>> gradients;
};
// What it says meanwhile. Throws Error outside of it.
// A call of the module of this name begins; returns the stage of its nodes.
PANDO_API int begin_call(const std::string& module);
// The nodes after it are named after this part of the model, and belong to the stage.
PANDO_API void begin_node(const std::string& name, int stage);
// The nodes after it are those of the backward pass.
PANDO_API void end_forward();
// The buffer has the value after the micro-batch.
PANDO_API void assign_statistic(const torch::nn::Parameter& buffer, const Tensor& value);

// What trainingModel and inferenceModel return, but for the types of a call. Any number of threads may use one: the
// calls take turns. Models of different kinds for one module share its weights and run at the same time.
class PANDO_API PoplarExecutor {
 public:
  using Forward = Function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;
  PoplarExecutor(const torch::nn::Module& module, Forward forward, std::size_t arguments, const Options& options,
                 const std::optional<torch::optim::Optimizer>& optimizer);
  // The forward pass and, for training, the backward pass.
  using Passes = Function<PassResults(const PassInputs& inputs)>;
  // For a tree of modules that is kept elsewhere and may change until the model is compiled: `parts` is asked for it
  // then. `kind` names it in messages. `passes` says of each node to which IPU it belongs, by begin_block() and
  // begin_node(), and where the forward pass ends.
  PoplarExecutor(const std::string& kind, Function<torch::nn::ModuleParts()> parts, Passes passes,
                 std::size_t arguments, const Options& options,
                 const std::optional<torch::optim::Optimizer>& optimizer);
  ~PoplarExecutor();
  PoplarExecutor(PoplarExecutor&&) noexcept;

  // The arrays of forward()'s tensors; see PoplarModel. The first call compiles.
  Arrays run(const Arrays& inputs);
  // Throws Error as a call does; runs nothing.
  void compile_for(const Arrays& inputs);

  bool isCompiled() const;
  bool isAttachedToDevice() const;
  // Throws Error if it is attached already, or was destroyed.
  void attachToDevice();
  // Throws Error unless it is attached.
  void detachFromDevice();
  // Weights are shared with the modules: these check that a device is attached, and have nothing to copy.
  void copyWeightsToHost() const;
  void copyWeightsToDevice() const;
  // For training: another optimizer, or new values in its options. An optimizer of the same kind for the same
  // parameters goes on with their states; another one begins afresh.
  void setOptimizer(const torch::optim::Optimizer& optimizer);

  // Makes the program again, with the same states of the optimizer: parameters have adopted other memory.
  void rebuild();

  // Writes the weights, the states of the optimizer and the counts of updates to a NumPy .npz file. With a loader, also
  // writes its position: training that loads both goes on with the bits of an uninterrupted run.
  void save(const std::string& path) const;
  void save(const std::string& path, const torch::utils::data::BatchLoader& loader) const;
  // Throws Error, and changes nothing, if they do not fit.
  void load(const std::string& path);
  void load(const std::string& path, torch::utils::data::BatchLoader& loader);

  // What a call does on which IPUs, for people and for programs. Throws Error before the model is compiled.
  [[nodiscard]] std::string explain() const;
  std::string explain_json() const;
  // Records the calls from here on, until the profiler is detached. Throws Error before the model is compiled, which
  // must live as long.
  void profile(Profiler& profiler);

  PerfCounters getPerfCounters() const;
  // The cycles of the last call, for a clock of 1 GHz.
  std::int64_t cycleCount() const;
  // Gives the memory of the program back; the model cannot be used any more.
  void destroy();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// From the return type of forward() to that of a call.
template <class Result>
struct CallResult;
template <>
struct CallResult<Tensor> {
  using type = Array;
  static std::vector<Tensor> list(const Tensor& tensor) { return {tensor}; }
  static Array from(const Arrays& arrays) { return arrays[0]; }
};
template <class... Tensors>
struct CallResult<std::tuple<Tensors...>> {
  template <class>
  using Each = Array;
  using type = std::tuple<Each<Tensors>...>;
  static std::vector<Tensor> list(const std::tuple<Tensors...>& tensors) {
    return std::apply([](const auto&... tensor) { return std::vector<Tensor>{tensor...}; }, tensors);
  }
  static type from(const Arrays& arrays) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return type{arrays[I]...}; }
    (std::index_sequence_for<Tensors...>());
  }
};
template <>
struct CallResult<std::pair<Tensor, Tensor>> : CallResult<std::tuple<Tensor, Tensor>> {
  static std::vector<Tensor> list(const std::pair<Tensor, Tensor>& pair) { return {pair.first, pair.second}; }
};
template <>
struct CallResult<std::vector<Tensor>> {
  using type = Arrays;
  static std::vector<Tensor> list(const std::vector<Tensor>& tensors) { return tensors; }
  static Arrays from(const Arrays& arrays) { return arrays; }
};

template <class Method>
struct ForwardMethod;
template <class M, class R, class... A>
struct ForwardMethod<R (M::*)(A...)> {
  using Result = std::decay_t<R>;
  static constexpr std::size_t arguments = sizeof...(A);
};
template <class M, class R, class... A>
struct ForwardMethod<R (M::*)(A...) const> : ForwardMethod<R (M::*)(A...)> {};

// A module that runs on devices. A call takes the arrays of forward()'s tensors, with the samples of all its
// micro-batches along axis 0, and returns what forward() returns, as arrays. The first call compiles; after that,
// shapes and types must stay. In forward(), a tensor always has the shape of a whole micro-batch.
//
// A call may have fewer samples. It then runs as many micro-batches as they need. Copies of a sample fill up the last
// one: they do not count, and their outputs are cut off. Throws Error if there are such copies and forward() adds
// samples up, unless by a loss of torch::nn or identity_loss. The gradients of a micro-batch count in proportion to its
// samples.
template <class M>
class PoplarModel : public PoplarExecutor {
  using Method = ForwardMethod<decltype(&M::forward)>;
  using Result = CallResult<typename Method::Result>;

 public:
  PoplarModel(M& module, const Options& options, const std::optional<torch::optim::Optimizer>& optimizer)
      : PoplarExecutor(module, forward_of(module), Method::arguments, options, optimizer) {}

  template <class... Inputs>
  requires(std::is_convertible_v<Inputs, Array>&&...) typename Result::type operator()(const Inputs&... inputs) {
    return Result::from(run({inputs...}));
  }
  // Throws Error as a call does; runs nothing.
  template <class... Inputs>
  requires(std::is_convertible_v<Inputs, Array>&&...) void compile(const Inputs&... inputs) {
    compile_for({inputs...});
  }

 private:
  static Forward forward_of(M& module) {
    return [&module](const std::vector<Tensor>& inputs) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) { return Result::list(module.forward(inputs[I]...)); }
      (std::make_index_sequence<Method::arguments>());
    };
  }
};

// The module compiled with its gradients and the optimizer. The module must live as long as the model; so must its
// parts.
template <class M>
PoplarModel<M> trainingModel(M& module, const Options& options, const torch::optim::Optimizer& optimizer) {
  return PoplarModel<M>(module, options, optimizer);
}
// The module compiled as it is. It shares the weights of the module with its training model.
template <class M>
PoplarModel<M> inferenceModel(M& module, const Options& options = {}) {
  return PoplarModel<M>(module, options, std::nullopt);
}

}  // namespace pando::poptorch
