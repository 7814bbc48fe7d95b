// SPDX-License-Identifier: Apache-2.0
// What a model keeps for training, and the programs that it was compiled to.
#pragma once
#include <fmt/format.h>

#include <atomic>
#include <mutex>

#include "frontends/keras/run/division.h"
#include "frontends/keras/run/running_means.h"
#include "model/call_lock.h"

namespace pando::keras {

// The layers of a model: fixed, or a stack that is built when its input's shape is known.
class ModelBody : public LayerBody {
 public:
  explicit ModelBody(Network network) : network_(std::move(network)) {}
  explicit ModelBody(std::vector<Layer> stack) : is_sequential_(true), stack_(std::move(stack)) {}

  std::string kind() const override { return is_sequential_ ? "Sequential" : "Functional"; }
  void build(LayerBuild& build, const std::vector<Shape>& inputs) override;
  std::vector<Value> call(LayerCall& call, const std::vector<Value>& inputs) const override;
  // The network knows the type of each input.
  std::optional<DType> input_dtype() const override { return std::nullopt; }
  void undo_build() override {
    if (is_sequential_) network_.reset();
  }
  int input_count() const override;
  std::vector<Layer> layers() const override;

  bool is_sequential() const { return is_sequential_; }
  // Adds a layer at the end of the stack.
  void add(const Layer& layer);
  // Takes it away again, from a stack that is not built.
  void remove_last() { stack_.pop_back(); }
  // Null until the model is built.
  const Network* network() const { return network_ ? &*network_ : nullptr; }

 private:
  std::optional<Network> network_;
  bool is_sequential_ = false;
  std::vector<Layer> stack_;
};

// Throws Error, beginning with `who`, if the model is not built.
void check_built(const std::string& who, const Model& model);

struct Model::Training {
  std::shared_ptr<const Target> target = current_target();
  // Chooses the order of the samples of each epoch.
  std::uint64_t key = 0;
  std::int64_t epochs_begun = 0;
  std::optional<CompileOptions> options = {};
  // Null until the model is compiled and built. Jobs keep it while another thread compiles the model again.
  std::shared_ptr<const std::vector<OutputGoals>> goals = {};
  // Noted by compile().
  TrainableLayers trainable = {};
  Parallelism parallelism = {};
  // The states of the optimizer; the weights are shared into it.
  Variables variables = {};
  // Of train_on_batch() and test_on_batch(), for calls that go on with the means of those before.
  RunningSums sums_of_batches = {};
  // If all suitable steps are in use, another one is made.
  std::vector<std::shared_ptr<ModelStep>> steps = {};
  std::atomic<bool> stop = false;
  // Calls that train the model, or change how it is trained, take turns.
  CallLock calls = {};
  // Held while a call reads or changes this state, but never while a program runs.
  std::recursive_mutex mutex = {};
  bool told_about_trainable = false;

  CallLock::Call take_turn(const std::string& who, const std::string& model) {
    return {calls, who, fmt::format("the model '{}'", model)};
  }
};

}  // namespace pando::keras
