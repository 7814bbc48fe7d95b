// SPDX-License-Identifier: Apache-2.0
#include "models.h"

#include <pando/base/error.h>
#include <pando/autodiff/gradients.h>
#include <pando/ops/ops.h>

#include <cmath>

namespace pando::models {

namespace {

// Grows a step layer by layer.
class Builder {
 public:
  Builder(const std::string& name, std::int64_t batch, const Shape& image, bool training, DType dtype)
      : training_(training), dtype_(dtype) {
    step_.name = name;
    step_.batch = batch;
    step_.image = image;
    x_ = ops::input(step_.graph, "x", dtype_, batched(image));
  }
  // Samples of `length` tokens.
  Builder(const std::string& name, std::int64_t batch, std::int64_t length, std::int64_t vocabulary, bool training,
          DType dtype)
      : training_(training), dtype_(dtype) {
    step_.name = name;
    step_.batch = batch;
    step_.image = {length};
    step_.vocabulary = vocabulary;
    x_ = ops::input(step_.graph, "x", DType::int32, batched(step_.image));
  }

  Builder& conv(const std::string& name, std::int64_t filters, ops::Padding padding = ops::Padding::valid,
                std::int64_t size = 3, std::int64_t stride = 1) {
    const Graph::Scope scope(step_.graph, name);
    const std::int64_t channels = x_.shape()[3];
    const Value filter = parameter(name + "_w", {size, size, channels, filters});
    x_ = ops::conv2d(x_, filter, {.strides = {stride, stride}, .padding = padding});
    count(static_cast<double>(x_.shape().elements() * size * size * channels));
    x_ = x_ + parameter(name + "_b", {filters});
    return *this;
  }
  // Over the last axis.
  Builder& dense(const std::string& name, std::int64_t units) {
    const Graph::Scope scope(step_.graph, name);
    const std::int64_t inputs = x_.shape()[x_.shape().rank() - 1];
    const Value weights = parameter(name + "_w", {inputs, units});
    x_ = ops::matmul(x_, weights) + parameter(name + "_b", {units});
    count(static_cast<double>(x_.shape().elements() * inputs));
    return *this;
  }
  Builder& relu() {
    x_ = ops::relu(x_);
    return *this;
  }
  // relu(x + two convolutions of x).
  Builder& residual(const std::string& name) {
    const Value before = x_;
    const std::int64_t filters = x_.shape()[3];
    conv(name + "a", filters, ops::Padding::same).relu().conv(name + "b", filters, ops::Padding::same);
    x_ = ops::relu(x_ + before);
    return *this;
  }
  // A convolution without a bias, and a normalisation over the batch that keeps running statistics for inference.
  Builder& conv_norm(const std::string& name, std::int64_t filters, std::int64_t size, std::int64_t stride) {
    const Graph::Scope scope(step_.graph, name);
    const std::int64_t channels = x_.shape()[3], edge = size / 2;
    const Value filter = parameter(name + "_w", {size, size, channels, filters});
    x_ = ops::conv2d(x_, filter,
                     {.strides = {stride, stride},
                      .padding = ops::Padding::explicit_sizes,
                      .padding_sizes = {edge, edge, edge, edge}});
    count(static_cast<double>(x_.shape().elements() * size * size * channels));
    const Value scale = parameter(name + "_scale", {filters}), offset = parameter(name + "_offset", {filters});
    const Value mean = ops::variable(step_.graph, name + "/mean", dtype_, {filters});
    const Value variance = ops::variable(step_.graph, name + "/variance", dtype_, {filters});
    constexpr double epsilon = 1e-5, momentum = 0.9;
    if (!training_) {
      x_ = ops::batch_norm_inference(x_, scale, offset, mean, variance, epsilon);
      return *this;
    }
    const ops::BatchNorm norm = ops::batch_norm(x_, scale, offset, epsilon);
    step_.graph.assign(mean, mean * momentum + norm.mean * (1 - momentum));
    step_.graph.assign(variance, variance * momentum + norm.variance * (1 - momentum));
    x_ = norm.y;
    return *this;
  }
  // relu(x + two convolutions of x), with a convolution of x where its shape changes.
  Builder& residual_norm(const std::string& name, std::int64_t filters, std::int64_t stride) {
    const Value before = x_;
    const Value after = conv_norm(name + "a", filters, 3, stride).relu().conv_norm(name + "b", filters, 3, 1).x_;
    x_ = before;
    if (stride > 1) conv_norm(name + "c", filters, 1, stride);
    x_ = ops::relu(after + x_);
    return *this;
  }
  Builder& average() {
    x_ = ops::reduce_mean(x_, {.axes = {1, 2}});
    return *this;
  }

  // A vector for each token and its place.
  Builder& embed(std::int64_t width) {
    const Value tokens = parameter("tokens", {step_.vocabulary, width});
    x_ = ops::gather(tokens, x_) + parameter("places", {step_.image[0], width});
    return *this;
  }
  Builder& norm(const std::string& name) {
    const std::int64_t width = x_.shape()[2];
    const Value scale = parameter(name + "_scale", {width}), offset = parameter(name + "_offset", {width});
    x_ = ops::layer_norm(x_, scale, offset, 1e-5);
    return *this;
  }
  // x + what its earlier places tell each place.
  Builder& attend(const std::string& name, std::int64_t heads) {
    const Value before = x_;
    const std::int64_t batch = step_.batch, length = step_.image[0], width = x_.shape()[2], depth = width / heads;
    norm(name + "_norm").dense(name + "_in", 3 * width);
    const auto part = [&](std::int64_t number) {
      const Value own = ops::slice(x_, {0, 0, number * width}, {batch, length, width});
      return ops::transpose(ops::reshape(own, {batch, length, heads, depth}), {0, 2, 1, 3});
    };
    Array later(dtype_, {length, length});
    for (std::int64_t i = 0; i < later.elements(); ++i) {
      const double value = i % length > i / length ? -1e9 : 0.0;
      if (dtype_ == DType::float64) later.mutable_data<double>()[i] = value;
      else later.mutable_data<float>()[i] = static_cast<float>(value);
    }
    const double scale = 1 / std::sqrt(static_cast<double>(depth));
    const Value scores = ops::matmul(part(0), part(1), {.transpose_b = true}) * scale;
    const Value told = ops::matmul(ops::softmax(scores + ops::constant(step_.graph, later)), part(2));
    count(2 * static_cast<double>(scores.shape().elements() * depth));
    x_ = ops::reshape(ops::transpose(told, {0, 2, 1, 3}), {batch, length, width});
    dense(name + "_out", width);
    x_ = x_ + before;
    return *this;
  }
  // x + two dense layers of each place.
  Builder& think(const std::string& name) {
    const Value before = x_;
    const std::int64_t width = x_.shape()[2];
    norm(name + "_norm").dense(name + "_in", 4 * width);
    x_ = ops::gelu_tanh(x_);
    dense(name + "_out", width);
    x_ = x_ + before;
    return *this;
  }
  Builder& pool() {
    x_ = ops::max_pool(x_);
    return *this;
  }
  Builder& flatten() {
    x_ = ops::reshape(x_, {step_.batch, -1});
    return *this;
  }
  // In PyTorch's order: channels, then rows, then columns.
  Builder& flatten_channels_first() {
    x_ = ops::transpose(x_, {0, 3, 1, 2});
    return flatten();
  }

  TrainingStep with_sgd(double rate) {
    if (!training_) return inference();
    const std::vector<Value> gradients = differentiate();
    const Value learning_rate = ops::scalar(x_, rate);
    for (std::size_t i = 0; i < values_.size(); ++i)
      step_.graph.assign(values_[i], ops::sgd_update(learning_rate, values_[i], gradients[i], {})[0]);
    return std::move(step_);
  }

  TrainingStep with_adam(double rate) {
    if (!training_) return inference();
    const std::vector<Value> gradients = differentiate();
    const Value learning_rate = ops::scalar(x_, rate);
    const Value count = ops::variable(step_.graph, "step", DType::int32, {});
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::string& name = step_.parameters[i].name;
      const Value m = ops::variable(step_.graph, name + "/m", dtype_, values_[i].shape());
      const Value v = ops::variable(step_.graph, name + "/v", dtype_, values_[i].shape());
      const auto updated = ops::adam_update(learning_rate, count, values_[i], gradients[i], {m, v},
                                            {.epsilon = 1e-8, .epsilon_after_correction = true});
      step_.graph.assign(values_[i], updated[0]);
      step_.graph.assign(m, updated[1]);
      step_.graph.assign(v, updated[2]);
    }
    step_.graph.assign(count, count + 1.0);
    return std::move(step_);
  }

 private:
  // A training step has the gradients of the weights, and of the input but for the first layer's.
  void count(double multiply_adds) {
    const double passes = !training_ ? 1 : step_.megaflops == 0 ? 2 : 3;
    step_.megaflops += 2e-6 * multiply_adds * passes;
  }

  TrainingStep inference() {
    step_.graph.add_output("logits", x_);
    return std::move(step_);
  }

  Shape batched(const Shape& image) const {
    Shape shape = {step_.batch};
    for (std::int64_t size : image) shape.append(size);
    return shape;
  }
  Value parameter(const std::string& name, const Shape& shape) {
    step_.parameters.push_back({name, shape});
    values_.push_back(ops::variable(step_.graph, name, dtype_, shape));
    return values_.back();
  }

  std::vector<Value> differentiate() {
    const Shape shape = step_.vocabulary > 0 ? batched(step_.image) : Shape{step_.batch};
    const Value labels = ops::input(step_.graph, "labels", DType::int32, shape);
    const Value loss = ops::reduce_mean(ops::sparse_softmax_cross_entropy(x_, labels));
    step_.graph.add_output("loss", loss);
    return gradients(loss, values_);
  }

  TrainingStep step_;
  bool training_;
  DType dtype_;
  Value x_;
  std::vector<Value> values_;
};

// A batch of 0 is the model's own.
TrainingStep make(const std::string& name, std::int64_t batch, bool training, DType dtype) {
  using ops::Padding;
  const auto begin = [&](std::int64_t own_batch, const Shape& image) {
    return Builder(name, batch == 0 ? own_batch : batch, image, training, dtype);
  };
  const Shape image = {28, 28, 1};
  if (name == "mlp") return begin(32, {784}).dense("dense1", 128).relu().dense("dense2", 10).with_sgd(0.01);
  if (name == "keras_cnn")
    return begin(64, image)
        .conv("conv1", 32)
        .relu()
        .pool()
        .conv("conv2", 64)
        .relu()
        .pool()
        .flatten()
        .dense("dense1", 10)
        .with_sgd(0.01);
  if (name == "fashion")
    return begin(32, image)
        .conv("conv1", 8, Padding::same)
        .relu()
        .conv("conv2", 8, Padding::same)
        .relu()
        .flatten()
        .dense("dense1", 10)
        .with_adam(0.01);
  if (name == "poptorch_cnn")
    return begin(8, image)
        .conv("conv1", 32)
        .pool()
        .relu()
        .conv("conv2", 64)
        .pool()
        .relu()
        .flatten_channels_first()
        .dense("dense1", 128)
        .relu()
        .dense("dense2", 10)
        .with_sgd(0.03);
  if (name == "vgg_small") {
    Builder builder = begin(64, {32, 32, 3});
    for (const auto& [layer, filters] : {std::pair{"1", 32}, {"2", 64}, {"3", 128}})
      for (const char* half : {"a", "b"}) {
        builder.conv(std::string("conv") + layer + half, filters, Padding::same).relu();
        if (*half == 'b') builder.pool();
      }
    return builder.flatten().dense("dense1", 128).relu().dense("dense2", 10).with_sgd(0.01);
  }
  if (name == "large_mlp")
    return begin(128, {512})
        .dense("dense1", 1024)
        .relu()
        .dense("dense2", 1024)
        .relu()
        .dense("dense3", 10)
        .with_sgd(0.01);
  if (name == "lenet")
    return begin(64, image)
        .conv("conv1", 6, Padding::same, 5)
        .relu()
        .pool()
        .conv("conv2", 16, Padding::valid, 5)
        .relu()
        .pool()
        .flatten()
        .dense("dense1", 120)
        .relu()
        .dense("dense2", 84)
        .relu()
        .dense("dense3", 10)
        .with_sgd(0.01);
  if (name == "strided")
    return begin(48, {24, 24, 2})
        .conv("conv1", 12, Padding::same, 5, 2)
        .relu()
        .conv("conv2", 20, Padding::valid, 3, 2)
        .relu()
        .flatten()
        .dense("dense1", 7)
        .with_sgd(0.01);
  if (name == "residual")
    return begin(16, {16, 16, 3})
        .conv("conv1", 16, Padding::same)
        .relu()
        .residual("block")
        .pool()
        .flatten()
        .dense("dense1", 40)
        .relu()
        .dense("dense2", 5)
        .with_adam(0.01);
  if (name == "resnet18") {
    Builder builder = begin(32, {32, 32, 3});
    builder.conv_norm("conv1", 64, 3, 1).relu();
    for (const auto& [stage, filters] : {std::pair{"1", 64}, {"2", 128}, {"3", 256}, {"4", 512}})
      for (const char* block : {"a", "b"})
        builder.residual_norm(std::string("block") + stage + block, filters, *block == 'a' && filters > 64 ? 2 : 1);
    return builder.average().dense("dense1", 10).with_sgd(0.01);
  }
  if (name == "gpt_nano") {
    Builder builder(name, batch == 0 ? 32 : batch, 64, 65, training, dtype);
    builder.embed(48);
    for (const char* block : {"1", "2", "3"})
      builder.attend(std::string("attention") + block, 3).think(std::string("mlp") + block);
    return builder.norm("norm").dense("head", 65).with_adam(0.01);
  }
  throw Error("unknown model '" + name + "'");
}

}  // namespace

std::vector<std::string> names() {
  return {"mlp", "keras_cnn", "fashion", "poptorch_cnn", "vgg_small", "large_mlp", "lenet", "resnet18", "gpt_nano"};
}

std::vector<std::string> other_names() { return {"strided", "residual"}; }

TrainingStep build(const std::string& name, DType dtype, std::int64_t batch) { return make(name, batch, true, dtype); }
TrainingStep build_inference(const std::string& name, std::int64_t batch) {
  return make(name, batch, false, DType::float32);
}

}  // namespace pando::models
