// SPDX-License-Identifier: Apache-2.0
// What modules are made of, and what is known while a forward() is traced.
#pragma once
#include <pando/frontends/torch/losses.h>
#include <pando/frontends/torch/modules.h>

#include <optional>
#include <set>

namespace pando::torch::nn {

struct Parameter::State {
  pando::Parameter stored;
  // Maps PyTorch's axes to those that are stored; if empty, they are the same.
  std::vector<std::int64_t> permutation = {};
  bool requires_grad = true;
};

struct Module::State {
  // Empty for a class of the user's, whose name is set once its class is known.
  std::string kind = {};
  std::string extra = {};
  NamedParameters parameters = {}, buffers = {};
  std::vector<std::pair<std::string, Module>> children = {};
  bool training = true;
  // The seed of its random numbers.
  std::uint64_t key = 0;
  // The IPU of the block that begins with it, and a number that distinguishes blocks.
  struct Block {
    int ipu = 0;
    std::int64_t number = 0;
  };
  std::optional<Block> block = {};
  std::shared_ptr<const Layer::Body> layer = {};
  std::shared_ptr<const Loss::Body> loss = {};
};

// The permutation that undoes this one.
std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& permutation);

// "Conv2d", or the name of the user's class.
std::string kind_of(const Module& module);

// What a layer or a loss may ask for while a graph is made of it.
class LayerCall {
 public:
  LayerCall(const Module& module, Trace& trace) : state_(module.state()), trace_(trace) {}
  Trace& trace() const { return trace_; }
  Graph& graph() const { return trace_.graph(); }
  bool training() const { return trace_.training() && state_.training; }
  bool has_parameter(std::size_t index) const { return index < state_.parameters.size(); }
  bool has_buffer(std::size_t index) const { return index < state_.buffers.size(); }
  Value parameter(std::size_t index) const;
  Value buffer(std::size_t index) const;
  void assign_buffer(std::size_t index, Value value) const;
  ops::RandomOptions random() const;

 private:
  const Module::State& state_;
  Trace& trace_;
};

// A class of layers: what PyTorch prints for it, and what it does.
struct Layer::Body {
  std::string kind;
  std::string extra = {};
  Function<Value(const LayerCall& call, Value x)> forward;
  // The trained values, as PyTorch lays them out, and the axes in the order in which they are stored.
  struct Weight {
    std::string name;
    Array value;
    std::vector<std::int64_t> permutation = {};
  };
  std::vector<Weight> parameters = {};
  std::vector<Weight> buffers = {};
};

struct Loss::Body {
  std::string kind;
  Function<Value(const LayerCall& call, Value input, Value target)> forward;
  std::vector<Layer::Body::Weight> buffers = {};
};

class ModuleAccess {
 public:
  static Parameter parameter(const Layer::Body::Weight& weight, bool requires_grad);
};

// What is known about a model while its forward() is traced.
class Tracing {
 public:
  // `random_seed` replaces every module's own seed, so that equal models draw the same numbers.
  // With `calls_are_stages`, every call of a module begins a stage.
  Tracing(const Module& root, Trace& trace, const std::optional<std::uint64_t>& random_seed,
          bool calls_are_stages = false);
  ~Tracing();
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;
  // Null if no forward() is being traced.
  static Tracing* current();

  Trace& trace() const { return trace_; }
  const std::optional<std::uint64_t>& random_seed() const { return random_seed_; }
  // Counts the calls that draw random numbers in this forward(), however many nodes they make.
  std::int64_t next_stream() { return streams_++; }
  // "layer1.conv", as seen from the root; empty for a module that is not registered.
  std::string path_of(const Module& module) const;
  // Throws Error for a module with parameters that is not registered: they would not be trained, saved or found.
  void check_registered(const Module& module) const;

  // Whether layers assign what they keep about their inputs.
  bool keeps_statistics() const { return keeps_statistics_; }
  void set_keeps_statistics(bool keep) { keeps_statistics_ = keep; }

  void add_loss(const Tensor& loss) { losses_.push_back(loss); }
  void set_identity_loss(const Tensor& loss);
  // The loss to minimise. Throws Error if it is not clear which it is.
  Tensor loss() const;

  // To be called before a call of a module makes nodes.
  void begin_call(const Module& module);
  void begin_call(const std::string& module);
  // New nodes belong to the IPU, as a stage of the graph. Throws Error if calls are stages.
  void begin_block(int ipu);
  int current_block() const { return trace_.graph().stage(); }
  // The stage and the module of every call, in the order of the calls.
  struct Call {
    int stage;
    std::string module;
  };
  const std::vector<Call>& calls() const { return calls_; }
  // The nodes after it are named after the part of the model, until it is called again; they belong to the stage.
  void begin_node(const std::string& name, int stage);
  // The nodes after it are those of the backward pass.
  void end_forward() { forward_nodes_ = trace_.graph().nodes().size(); }
  std::size_t forward_nodes() const { return forward_nodes_.value_or(trace_.graph().nodes().size()); }

 private:
  Trace& trace_;
  std::optional<std::uint64_t> random_seed_;
  bool calls_are_stages_;
  std::vector<std::pair<Module, std::string>> paths_;
  std::vector<Tensor> losses_;
  std::optional<Tensor> identity_loss_;
  std::set<std::int64_t> begun_;
  std::vector<Call> calls_;
  std::int64_t streams_ = 0;
  bool keeps_statistics_ = true;
  std::optional<Graph::Scope> scope_;
  std::optional<std::size_t> forward_nodes_;
  Tracing* outer_;
};

// Throws Error unless it is "mean", "sum" or "none".
void check_reduction(const std::string& who, const std::string& reduction);
// Counts real samples only, if some samples only fill up the batch.
Value reduced(const Trace& trace, Value x, const std::string& reduction);
// The mask of the samples for x, to be multiplied with it; no value if all samples are real, or x has no rows of
// samples.
Value mask_for(const Trace& trace, Value x);
// The sum over the weights; 0 for a batch without real samples.
Value divided_by_weights(const Trace& trace, Value sum, Value weights);

}  // namespace pando::torch::nn
