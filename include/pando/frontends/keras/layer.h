// SPDX-License-Identifier: Apache-2.0
// Layer: weights and what they do to tensors.
#pragma once
#include <pando/frontends/keras/initializers.h>
#include <pando/frontends/keras/regularizers.h>
#include <pando/model/tensor.h>

#include <memory>
#include <optional>

namespace pando::keras {

class Layer;

// What a layer's body may ask for while it makes its weights.
class PANDO_API LayerBuild {
 public:
  struct WeightOptions {
    Initializer initializer = "glorot_uniform";
    Regularizer regularizer = {};
    bool trainable = true;
  };
  void add_weight(const std::string& name, const Shape& shape, const WeightOptions& options);

 private:
  friend class Layer;
  explicit LayerBuild(Layer& layer) : layer_(layer) {}
  Layer& layer_;
};

struct CallOptions {
  // If unset, the layer follows the model around it.
  std::optional<bool> training = {};
  // What this call gives to the layer's body besides the tensors.
  std::shared_ptr<const void> arguments = {};
};

// What a layer's body may ask for while a graph is made of the layer.
class PANDO_API LayerCall {
 public:
  Graph& graph() const { return trace_.graph(); }
  Trace& trace() const { return trace_; }
  bool training() const { return trace_.training(); }
  // False for a layer that was frozen.
  bool trainable() const;
  // As CallOptions has them.
  const std::shared_ptr<const void>& arguments() const { return arguments_; }
  // The weights in the order in which they were added; each is what assign() was given last in this step.
  Value weight(std::size_t index) const;
  // For weights that are not trainable, such as moving averages. The weight keeps the value.
  void assign(std::size_t index, Value value) const;
  Value counter() const { return trace_.counter(); }
  // Adds a term to the loss of the model: one number, or one for each sample, whose mean then counts.
  void add_loss(Value term) const { trace_.add_loss(term); }
  // For the next random op: the layer's own seed, with a new stream each time, in further calls of the layer, too.
  ops::RandomOptions random();

 private:
  friend class Layer;
  LayerCall(const Layer& layer, Trace& trace, const CallOptions& options)
      : layer_(layer), trace_(trace), arguments_(options.arguments) {}
  const Layer& layer_;
  Trace& trace_;
  std::shared_ptr<const void> arguments_;
};

// What a class of layers does: derive from it to write a layer, and make a Layer of it.
class PANDO_API LayerBody {
 public:
  virtual ~LayerBody() = default;
  // "Dense".
  virtual std::string kind() const = 0;
  // Makes the weights, once; the shapes are those of the first inputs, axis 0 (the batch) being -1.
  virtual void build(LayerBuild& build, const std::vector<Shape>& inputs);
  // Forgets what build() noted, because it failed or because what followed did.
  virtual void undo_build();
  virtual std::vector<Value> call(LayerCall& call, const std::vector<Value>& inputs) const = 0;
  // The type that the inputs are cast to; nothing if they stay as they are.
  virtual std::optional<DType> input_dtype() const { return DType::float32; }
  // The number of axes, including the batch, that each input must have, and the number of inputs. 0 means any.
  virtual int input_rank() const { return 0; }
  virtual int input_count() const { return 1; }
  // The layers inside, for a model.
  virtual std::vector<Layer> layers() const;
  // Lists its settings for a file. Throws Error unless the layer is one of Pando's: a file cannot hold code.
  virtual void describe(ConfigFields& fields) const;

  // For the first layer of a Sequential model: the shape of its input, without the batch.
  std::optional<Shape> input_shape = {};
};

// Copies are the same layer, with the same weights.
class PANDO_API Layer {
 public:
  // The name is made from the kind if it is empty. Throws Error for a name with a character that is not allowed in
  // names.
  explicit Layer(std::shared_ptr<LayerBody> body, const std::string& name = "");

  // Builds the layer at the first call. Throws Error naming the layer if it cannot take the input.
  Tensor operator()(const Tensor& input, const CallOptions& options = {}) const;
  Tensor operator()(const std::vector<Tensor>& inputs, const CallOptions& options = {}) const;
  // For layers with several outputs, which are models.
  std::vector<Tensor> call(const std::vector<Tensor>& inputs, const CallOptions& options = {}) const;

  const std::string& name() const;
  std::string kind() const;
  bool built() const;
  // Makes the weights for inputs of this shape, axis 0 (the batch) being -1.
  void build(const std::vector<Shape>& inputs) const;
  // The shapes that the weights were made for; none before.
  const std::vector<Shape>& built_for() const;

  // The inputs and outputs of its first call on symbolic tensors, for models that use parts of another. Both throw
  // Error if there was no such call, or if neither a model nor a tensor uses its outputs any more.
  std::vector<Tensor> inputs() const;
  std::vector<Tensor> outputs() const;

  // Its own weights and those of the layers inside, layer by layer.
  std::vector<Parameter> weights() const;
  std::vector<Parameter> trainable_weights() const;
  std::int64_t count_params() const;
  std::vector<Array> get_weights() const;
  // Throws Error unless their number and shapes are those of weights().
  void set_weights(const std::vector<Array>& values) const;
  // By name: "kernel", "dense/kernel". Throws Error with the nearest name.
  Array get_weight(const std::string& name) const;
  void set_weight(const std::string& name, const Array& value) const;

  bool trainable() const;
  // Applies to the layer and those inside; takes effect when the model is next compiled.
  void set_trainable(bool trainable) const;

  LayerBody& body() const;
  friend bool operator==(const Layer& a, const Layer& b) { return a.state_ == b.state_; }

  struct State;

 protected:
  friend class BuildScope;
  friend class LayerBuild;
  friend class LayerCall;
  friend class LayerAccess;
  std::shared_ptr<State> state_;

 private:
  explicit Layer(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::vector<Value> trace(Trace& trace, const std::vector<Value>& inputs, const CallOptions& options) const;
  void check_inputs(const std::vector<Shape>& inputs) const;
  void undo_build() const;
};

// Layers that this thread builds while it lives lose their weights again when it ends, unless keep() was called: a call
// that fails halfway leaves no layer built. Scopes may be nested.
class PANDO_API BuildScope {
 public:
  BuildScope();
  ~BuildScope();
  BuildScope(const BuildScope&) = delete;
  BuildScope& operator=(const BuildScope&) = delete;
  void keep() { keeps_ = true; }

 private:
  friend class Layer;
  static void note(const Layer& layer);
  BuildScope* outer_;
  std::vector<Layer> built_;
  bool keeps_ = false;
};

}  // namespace pando::keras
