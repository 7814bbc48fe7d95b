// Dense, Embedding, and the layers that change shapes or apply a function.
#include <fmt/format.h>

#include "frontends/keras/layers/simple_body.h"
#include "frontends/keras/names.h"
#include "training/tensor.h"

namespace pando::keras {

namespace {

struct InputBody : LayerBody {
  InputBody(const Shape& shape, DType dtype) : dtype_(dtype) { input_shape = shape; }
  std::string kind() const override { return "InputLayer"; }
  std::optional<DType> input_dtype() const override { return dtype_; }
  std::vector<Value> call(LayerCall&, const std::vector<Value>& inputs) const override { return inputs; }

 private:
  DType dtype_;
};

std::string input_name(const std::string& name) {
  if (!name.empty()) return name;
  // Keras counts inputs from 1.
  if (const std::string first = unique_name("input"); first != "input") return first;
  return unique_name("input");
}

struct DenseBody : LayerBody {
  DenseBody(std::int64_t units, const layers::DenseOptions& options) : units_(units), options_(options) {
    if (units < 1) throw Error(fmt::format("Dense: units is {} but must be at least 1", units));
    input_shape = options.input_shape;
  }
  std::string kind() const override { return "Dense"; }
  void build(LayerBuild& build, const std::vector<Shape>& inputs) override {
    const int rank = inputs[0].rank();
    if (rank < 2)
      throw Error(fmt::format("the input has {} axes but must have at least 2: the batch and the features", rank));
    build.add_weight("kernel", {inputs[0][rank - 1], units_},
                     {.initializer = options_.kernel_initializer, .regularizer = options_.kernel_regularizer});
    if (options_.use_bias)
      build.add_weight("bias", {units_},
                       {.initializer = options_.bias_initializer, .regularizer = options_.bias_regularizer});
  }
  std::vector<Value> call(LayerCall& call, const std::vector<Value>& inputs) const override {
    // One multiplication of matrices, whatever the number of axes.
    Shape shape = inputs[0].shape();
    const std::int64_t features = shape[shape.rank() - 1];
    Value y = shape.rank() == 2 ? inputs[0] : ops::reshape(inputs[0], {shape.elements() / features, features});
    y = ops::matmul(y, call.weight(0));
    if (options_.use_bias) y = y + call.weight(1);
    shape[shape.rank() - 1] = units_;
    return {options_.activation(shape.rank() == 2 ? y : ops::reshape(y, shape))};
  }

 private:
  std::int64_t units_;
  layers::DenseOptions options_;
};

struct EmbeddingBody : LayerBody {
  EmbeddingBody(std::int64_t rows, std::int64_t columns, const layers::EmbeddingOptions& options)
      : shape_({rows, columns}), options_(options) {
    if (rows < 1 || columns < 1)
      throw Error(
          fmt::format("Embedding: input_dim is {} and output_dim is {} but both must be at least 1", rows, columns));
    input_shape = options.input_shape;
  }
  std::string kind() const override { return "Embedding"; }
  std::optional<DType> input_dtype() const override { return DType::int32; }
  void build(LayerBuild& build, const std::vector<Shape>&) override {
    build.add_weight("embeddings", shape_,
                     {.initializer = options_.embeddings_initializer, .regularizer = options_.embeddings_regularizer});
  }
  std::vector<Value> call(LayerCall& call, const std::vector<Value>& inputs) const override {
    return {ops::gather(call.weight(0), inputs[0])};
  }

 private:
  Shape shape_;
  layers::EmbeddingOptions options_;
};

Value keep_batch(Value x, const Shape& sample) {
  Shape shape = {x.shape()[0]};
  for (std::int64_t size : sample) shape.append(size);
  return ops::reshape(x, shape);
}

Integers permutation_with_batch(const std::vector<std::int64_t>& dims) {
  Integers permutation = {0};
  permutation.insert(permutation.end(), dims.begin(), dims.end());
  return permutation;
}

}  // namespace

Tensor Input(const Shape& shape, const InputOptions& options) {
  Shape with_batch = {-1};
  for (std::int64_t size : shape) {
    if (size < 1)
      throw Error(fmt::format("Input: the shape is {} but every size must be at least 1; the batch is not part of it",
                              to_string(shape)));
    with_batch.append(size);
  }
  return TensorRecorder::input(input_name(options.name), "InputLayer", {options.dtype, with_batch});
}

namespace layers {

InputLayer::InputLayer(const Shape& shape, const InputOptions& options)
    : Layer(std::make_shared<InputBody>(shape, options.dtype), input_name(options.name)) {}

Dense::Dense(std::int64_t units, const DenseOptions& options)
    : Layer(std::make_shared<DenseBody>(units, options), options.name) {}

Embedding::Embedding(std::int64_t input_dim, std::int64_t output_dim, const EmbeddingOptions& options)
    : Layer(std::make_shared<EmbeddingBody>(input_dim, output_dim, options), options.name) {}

Flatten::Flatten(const ShapeLayerOptions& options)
    : Layer(with_input_shape(simple_body({.kind = "Flatten",
                                          .keeps_dtype = true,
                                          .function =
                                              [](LayerCall&, const std::vector<Value>& inputs) {
                                                // Not -1: an empty batch leaves it open.
                                                const Shape& shape = inputs[0].shape();
                                                return keep_batch(inputs[0], {shape.part(1, shape.rank()).elements()});
                                              }}),
                             options.input_shape),
            options.name) {}

Reshape::Reshape(const Shape& target_shape, const ShapeLayerOptions& options)
    : Layer(with_input_shape(simple_body({.kind = "Reshape",
                                          .keeps_dtype = true,
                                          .function =
                                              [target_shape](LayerCall&, const std::vector<Value>& inputs) {
                                                return keep_batch(inputs[0], target_shape);
                                              }}),
                             options.input_shape),
            options.name) {}

Permute::Permute(const std::vector<std::int64_t>& dims, const ShapeLayerOptions& options)
    : Layer(with_input_shape(simple_body({.kind = "Permute",
                                          .keeps_dtype = true,
                                          .function =
                                              [dims](LayerCall&, const std::vector<Value>& inputs) {
                                                return ops::transpose(inputs[0], permutation_with_batch(dims));
                                              }}),
                             options.input_shape),
            options.name) {}

Dropout::Dropout(double rate, const NamedOptions& options)
    : Layer(simple_body({.kind = "Dropout",
                         .function =
                             [rate](LayerCall& call, const std::vector<Value>& inputs) {
                               if (!call.training() || rate == 0) return inputs[0];
                               return ops::dropout(inputs[0], call.counter(), rate, call.random());
                             }}),
            options.name) {
  if (!(rate >= 0 && rate < 1)) throw Error(fmt::format("Dropout: the rate is {} but must be in [0, 1)", rate));
}

Activation::Activation(const keras::Activation& activation, const NamedOptions& options)
    : Layer(simple_body({.kind = "Activation",
                         .function = [activation](LayerCall&,
                                                  const std::vector<Value>& inputs) { return activation(inputs[0]); }}),
            options.name) {}

ReLU::ReLU(const ReLUOptions& options)
    : Layer(simple_body({.kind = "ReLU",
                         .function =
                             [options](LayerCall&, const std::vector<Value>& inputs) {
                               const Value y = options.negative_slope == 0
                                                   ? ops::relu(inputs[0])
                                                   : ops::leaky_relu(inputs[0], options.negative_slope);
                               return options.max_value ? ops::minimum(y, ops::scalar(y, *options.max_value)) : y;
                             }}),
            options.name) {}

LeakyReLU::LeakyReLU(const LeakyReLUOptions& options)
    : Layer(simple_body({.kind = "LeakyReLU",
                         .function =
                             [alpha = options.alpha](LayerCall&, const std::vector<Value>& inputs) {
                               return ops::leaky_relu(inputs[0], alpha);
                             }}),
            options.name) {}

Softmax::Softmax(const NamedOptions& options)
    : Layer(simple_body(
                {.kind = "Softmax",
                 .function = [](LayerCall&, const std::vector<Value>& inputs) { return ops::softmax(inputs[0]); }}),
            options.name) {}

}  // namespace layers
}  // namespace pando::keras
