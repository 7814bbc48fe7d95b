// poptorch.trainingModel and poptorch.inferenceModel: modules compiled for virtual IPUs.
#pragma once
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

// Module calls made while it lives belong to its IPU: the blocks of a model are the stages of a pipeline.
class PANDO_API Block {
 public:
  explicit Block(int ipu_id);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

 private:
  int outer_ = 0;
};
// The block begins here in forward() and lasts until the next block.
PANDO_API void BeginBlock(int ipu_id);
// The block begins at the first call of a layer inside the module. Returns the module.
PANDO_API void begin_block_at(const torch::nn::Module& module, int ipu_id);
template <class M>
M& BeginBlock(M& module, int ipu_id) {
  begin_block_at(module, ipu_id);
  return module;
}

// Makes the tensor the loss to minimise: its "mean", its "sum", or "none" if it is one number.
PANDO_API Tensor identity_loss(const Tensor& x, const std::string& reduction);

struct PerfCounters {
  std::int64_t calls = 0;
  // The seconds that a call takes, from its arguments to its results.
  double last = 0.0, least = 0.0, most = 0.0, mean = 0.0;
};

// What trainingModel and inferenceModel return, without the types of a call. Any number of threads may use one: the
// calls take turns. Models of different kinds for one module share its weights and run at the same time.
class PANDO_API PoplarExecutor {
 public:
  using Forward = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;
  PoplarExecutor(const torch::nn::Module& module, Forward forward, std::size_t arguments, const Options& options,
                 const std::optional<torch::optim::Optimizer>& optimizer);
  ~PoplarExecutor();
  PoplarExecutor(PoplarExecutor&&) noexcept;

  bool isCompiled() const;
  bool isAttachedToDevice() const;
  // Throws Error if the model is attached already or was destroyed.
  void attachToDevice();
  // Throws Error unless the model is attached.
  void detachFromDevice();
  // The model shares its weights with the module, so these two copy nothing; they only check that a device is attached.
  void copyWeightsToHost() const;
  void copyWeightsToDevice() const;
  // For training: another optimizer, or new values in its options. An optimizer of the same kind for the same
  // parameters keeps its state; any other starts afresh.
  void setOptimizer(const torch::optim::Optimizer& optimizer);

  // The weights, the states of the optimizer and the counts of updates, as a NumPy .npz file.
  void save(const std::string& path) const;
  // Throws Error, and changes nothing, if they do not match the model.
  void load(const std::string& path);

  // What a call does on which IPUs, as text and in a form for programs. Throws Error before the model is compiled.
  std::string explain() const;
  std::string explain_json() const;
  // Records all calls until the profiler is detached. The model must live that long. Throws Error before the model is
  // compiled.
  void profile(Profiler& profiler);

  PerfCounters getPerfCounters() const;
  // The cycles of the last call, counted by a clock of 1 GHz.
  std::int64_t cycleCount() const;
  // Frees the memory of the program; the model can no longer be used.
  void destroy();

 protected:
  void compile_for(const Arrays& inputs);
  Arrays run(const Arrays& inputs);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Maps the return type of forward() to that of a call.
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
// micro-batches along axis 0, and returns what forward() returns, as arrays. The first call compiles. After that,
// shapes and types must stay the same, except that there may be fewer samples: the call then runs only as many
// micro-batches as it needs, fills up the last one with copies that do not count, and returns outputs for the real
// samples only. Throws Error for samples that do not fill a micro-batch if forward() sums over samples in any other way
// than by a loss of torch::nn or identity_loss. In an update, the gradients of each micro-batch are weighted by its
// number of samples. A tensor's shape is always that of a whole micro-batch.
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

// The module and its parts must live as long as the model.
template <class M>
PoplarModel<M> trainingModel(M& module, const Options& options, const torch::optim::Optimizer& optimizer) {
  return PoplarModel<M>(module, options, optimizer);
}
template <class M>
PoplarModel<M> inferenceModel(M& module, const Options& options = {}) {
  return PoplarModel<M>(module, options, std::nullopt);
}

}  // namespace pando::poptorch
