// SPDX-License-Identifier: Apache-2.0
// Inputs, Dense and Embedding.
#include <fmt/format.h>

#include "frontends/keras/build/layers/simple_body.h"
#include "frontends/keras/build/names.h"
#include "model/tensor.h"

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

struct DenseConfig {
  std::int64_t units = 1;
  layers::DenseOptions options = {};
  void describe(ConfigFields& fields) {
    fields.required("units", units);
    fields("activation", options.activation);
    fields("use_bias", options.use_bias);
    fields("kernel_initializer", options.kernel_initializer);
    fields("bias_initializer", options.bias_initializer);
    fields("kernel_regularizer", options.kernel_regularizer);
    fields("bias_regularizer", options.bias_regularizer);
    fields.fixed("activity_regularizer", {});
    fields.fixed("kernel_constraint", {});
    fields.fixed("bias_constraint", {});
  }
};

struct EmbeddingConfig {
  std::int64_t input_dim = 1, output_dim = 1;
  layers::EmbeddingOptions options = {};
  void describe(ConfigFields& fields) {
    fields.required("input_dim", input_dim);
    fields.required("output_dim", output_dim);
    fields("embeddings_initializer", options.embeddings_initializer);
    fields("embeddings_regularizer", options.embeddings_regularizer);
    fields.fixed("activity_regularizer", {});
    fields.fixed("embeddings_constraint", {});
    fields.fixed("mask_zero", false);
    // The shape of the input says the same.
    fields.ignored("input_length");
  }
};

struct DenseBody : LayerBody {
  DenseBody(std::int64_t units, const layers::DenseOptions& options) : units_(units), options_(options) {
    if (units < 1) throw Error(fmt::format("Dense: units is {} but must be at least 1", units));
    input_shape = options.input_shape;
  }
  std::string kind() const override { return "Dense"; }
  void describe(ConfigFields& fields) const override { DenseConfig{units_, options_}.describe(fields); }
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
  void describe(ConfigFields& fields) const override {
    EmbeddingConfig{shape_[0], shape_[1], options_}.describe(fields);
  }
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

}  // namespace layers

std::vector<LayerClass> core_classes() {
  return {layer_class<DenseConfig>("Dense", [](const auto& c) { return layers::Dense(c.units, c.options); }),
          layer_class<EmbeddingConfig>(
              "Embedding", [](const auto& c) { return layers::Embedding(c.input_dim, c.output_dim, c.options); })};
}

}  // namespace pando::keras
