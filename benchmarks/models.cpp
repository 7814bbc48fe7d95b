#include "models.h"

#include <pando/error.h>
#include <pando/gradients.h>
#include <pando/ops.h>

namespace pando::models {

namespace {

// Grows a step layer by layer.
class Builder {
 public:
  Builder(const std::string& name, std::int64_t batch, const Shape& image) {
    step_.name = name;
    step_.batch = batch;
    step_.image = image;
    Shape shape = {batch};
    for (std::int64_t size : image) shape.append(size);
    x_ = ops::input(step_.graph, "x", DType::float32, shape);
    labels_ = ops::input(step_.graph, "labels", DType::int32, {batch});
  }

  Builder& conv(const std::string& name, std::int64_t filters, ops::Padding padding = ops::Padding::valid) {
    const Graph::Scope scope(step_.graph, name);
    const Value filter = parameter(name + "_w", {3, 3, x_.shape()[3], filters});
    x_ = ops::conv2d(x_, filter, {.padding = padding}) + parameter(name + "_b", {filters});
    return *this;
  }
  Builder& dense(const std::string& name, std::int64_t units) {
    const Graph::Scope scope(step_.graph, name);
    x_ = ops::matmul(x_, parameter(name + "_w", {x_.shape()[1], units})) + parameter(name + "_b", {units});
    return *this;
  }
  Builder& relu() {
    x_ = ops::relu(x_);
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
    const std::vector<Value> gradients = differentiate();
    const Value learning_rate = ops::scalar(x_, rate);
    for (std::size_t i = 0; i < values_.size(); ++i)
      step_.graph.assign(values_[i], ops::sgd_update(learning_rate, values_[i], gradients[i], {})[0]);
    return std::move(step_);
  }

  TrainingStep with_adam(double rate) {
    const std::vector<Value> gradients = differentiate();
    const Value learning_rate = ops::scalar(x_, rate);
    const Value count = ops::variable(step_.graph, "step", DType::int32, {});
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::string& name = step_.parameters[i].name;
      const Value m = ops::variable(step_.graph, name + "/m", DType::float32, values_[i].shape());
      const Value v = ops::variable(step_.graph, name + "/v", DType::float32, values_[i].shape());
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
  Value parameter(const std::string& name, const Shape& shape) {
    step_.parameters.push_back({name, shape});
    values_.push_back(ops::variable(step_.graph, name, DType::float32, shape));
    return values_.back();
  }

  std::vector<Value> differentiate() {
    const Value loss = ops::reduce_mean(ops::sparse_softmax_cross_entropy(x_, labels_));
    step_.graph.add_output("loss", loss);
    return gradients(loss, values_);
  }

  TrainingStep step_;
  Value x_, labels_;
  std::vector<Value> values_;
};

}  // namespace

std::vector<std::string> names() { return {"mlp", "keras_cnn", "fashion", "poptorch_cnn"}; }

TrainingStep build(const std::string& name) {
  using ops::Padding;
  const Shape image = {28, 28, 1};
  if (name == "mlp") return Builder(name, 32, {784}).dense("dense1", 128).relu().dense("dense2", 10).with_sgd(0.01);
  if (name == "keras_cnn")
    return Builder(name, 64, image)
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
    return Builder(name, 32, image)
        .conv("conv1", 8, Padding::same)
        .relu()
        .conv("conv2", 8, Padding::same)
        .relu()
        .flatten()
        .dense("dense1", 10)
        .with_adam(0.01);
  if (name == "poptorch_cnn")
    return Builder(name, 8, image)
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
  throw Error("unknown model '" + name + "'");
}

}  // namespace pando::models
