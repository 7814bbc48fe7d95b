// SPDX-License-Identifier: Apache-2.0
#include "random_model.h"

#include <pando/autodiff/gradients.h>
#include <pando/ops/ops.h>

#include <fmt/format.h>

namespace pando {

namespace {

// Between -1 and 1, the same for the same numbers.
float noise(std::uint32_t seed, std::int64_t number) {
  std::uint32_t state = seed * 2654435761u + static_cast<std::uint32_t>(number) * 2246822519u + 374761393u;
  for (int i = 0; i < 3; ++i) state = (state ^ (state >> 15)) * 2246822519u + 1;
  return static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
}

Value activated(Value x, int activation) {
  switch (activation) {
    case 0: return ops::tanh(x);
    case 1: return ops::sigmoid(x);
    case 2: return ops::relu(x);
    default: return x;
  }
}

// Adds the nodes of a step.
class StepBuilder {
 public:
  StepBuilder(const RandomModel& model, std::int64_t samples, int stages)
      : model_(model), samples_(samples), stages_(stages) {}

  Graph build() {
    const Value x = ops::input(graph_, "x", DType::float32, {samples_, model_.width});
    const Value target = ops::input(graph_, "target", DType::float32, {samples_, model_.width});
    const Value mask = ops::input(graph_, "mask", DType::float32, {samples_, 1});
    std::vector<Value> results;
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      const Graph::StageScope stage(graph_, stage_of_layer(i));
      results.push_back(add_layer(i, results.empty() ? x : results.back(), results));
    }
    Value loss;
    {
      const Graph::StageScope stage(graph_, stages_ > 1 ? stages_ - 1 : any_stage);
      loss = ops::reduce_sum(ops::squared_error(results.back(), target) * mask);
      graph_.add_output("loss", loss, true);
      graph_.add_output("result", results.back());
    }
    add_update(loss, ops::reduce_sum(mask));
    return std::move(graph_);
  }

 private:
  std::int32_t stage_of_layer(std::size_t layer) const {
    return stages_ > 1 ? static_cast<std::int32_t>(layer) * stages_ / static_cast<std::int32_t>(model_.layers.size())
                       : any_stage;
  }

  Value add_weight(std::size_t layer, const std::string& name, const Shape& shape) {
    weights_.push_back(ops::variable(graph_, fmt::format("{}{}", name, layer), DType::float32, shape));
    stages_of_weights_.push_back(stage_of_layer(layer));
    return weights_.back();
  }

  Value add_layer(std::size_t number, Value h, const std::vector<Value>& before) {
    const RandomModel::Layer& layer = model_.layers[number];
    h = ops::matmul(h, add_weight(number, "w", {model_.width, model_.width}));
    if (layer.bias) h = h + add_weight(number, "b", {model_.width});
    h = activated(h, layer.activation);
    if (layer.dropout) {
      const ops::RandomOptions options = {.seed = 3, .stream = static_cast<std::int64_t>(number)};
      h = ops::dropout(h, ops::counter(graph_), 0.25, options);
    }
    if (layer.skip >= 0) h = h + before[static_cast<std::size_t>(layer.skip)];
    if (!layer.statistic) return h;
    const Value statistic =
        ops::variable(graph_, fmt::format("mean{}", number), DType::float32, {model_.width}, VariableRole::statistic);
    if (layer.reads_statistic) h = h * (statistic + 1.0);
    graph_.assign(statistic, ops::replica_mean(statistic * 0.75 + ops::reduce_mean(h, {.axes = {0}}) * 0.25));
    return h;
  }

  void add_update(Value loss, Value count) {
    std::vector<Value> slopes = gradients(loss, weights_);
    const Value samples = ops::update_sum(count);
    const Value factor = 1.0 / ops::maximum(samples, ops::scalar(samples, 1.0));
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      const Graph::StageScope stage(graph_, stages_of_weights_[i]);
      slopes[i] = ops::update_sum(slopes[i]) * factor;
    }
    if (model_.clips) clip(slopes);
    Value rate = ops::variable(graph_, "rate", DType::float32, {}, VariableRole::rate);
    if (model_.decays) {
      const Value steps = ops::variable(graph_, "steps", DType::float32, {}, VariableRole::slot);
      rate = rate / (steps + 1.0);
      graph_.assign(steps, steps + 1.0);
    }
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      const Graph::StageScope stage(graph_, stages_of_weights_[i]);
      std::vector<Value> states;
      if (model_.momentum)
        states.push_back(ops::variable(graph_, fmt::format("velocity{}", i), DType::float32, weights_[i].shape(),
                                       VariableRole::slot));
      const std::vector<Value> updated =
          ops::sgd_update(rate, weights_[i], slopes[i], states, {.momentum = model_.momentum ? 0.9 : 0.0});
      graph_.assign(weights_[i], updated[0]);
      if (model_.momentum) graph_.assign(states[0], updated[1]);
    }
  }

  // By the norm of all slopes; the limit is small enough to matter.
  void clip(std::vector<Value>& slopes) {
    Value squares;
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      const Graph::StageScope stage(graph_, stages_of_weights_[i]);
      const Value own = ops::reduce_sum(ops::square(slopes[i]));
      const Graph::StageScope everywhere(graph_, any_stage);
      squares = i == 0 ? own : squares + own;
    }
    constexpr double limit = 0.5;
    const Value factor = limit / ops::maximum(ops::sqrt(squares), ops::scalar(squares, limit));
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      const Graph::StageScope stage(graph_, stages_of_weights_[i]);
      slopes[i] = slopes[i] * factor;
    }
  }

  const RandomModel& model_;
  const std::int64_t samples_;
  const int stages_;
  Graph graph_;
  std::vector<Value> weights_;
  std::vector<std::int32_t> stages_of_weights_;
};

}  // namespace

RandomModel::RandomModel(std::mt19937& random) {
  const auto below = [&](std::uint32_t limit) { return static_cast<int>(random() % limit); };
  layers.resize(static_cast<std::size_t>(4 + below(3)));
  width = 2 + below(4);
  batch_size = 1 + below(3);
  momentum = below(2) == 0;
  clips = below(2) == 0;
  decays = below(2) == 0;
  seed = static_cast<std::uint32_t>(random());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Layer& layer = layers[i];
    layer.activation = below(4);
    if (i > 0 && below(2) == 0) layer.skip = below(static_cast<std::uint32_t>(i));
    layer.bias = below(2) == 0;
    layer.dropout = below(4) == 0;
    layer.statistic = below(4) == 0;
    layer.reads_statistic = layer.statistic && below(2) == 0;
  }
}

bool RandomModel::depends_on_micro_batches() const {
  for (const Layer& layer : layers)
    if (layer.reads_statistic) return true;
  return false;
}

std::string RandomModel::description() const {
  std::string text = fmt::format("width {} batch {}{}{}{}", width, batch_size, momentum ? " momentum" : "",
                                 clips ? " clipped" : "", decays ? " decaying" : "");
  for (const Layer& layer : layers)
    text += fmt::format(", activation {} skip {}{}{}{}{}", layer.activation, layer.skip, layer.bias ? " bias" : "",
                        layer.dropout ? " dropout" : "", layer.statistic ? " statistic" : "",
                        layer.reads_statistic ? " that is read" : "");
  return text;
}

Graph RandomModel::step(std::int64_t samples, int stages) const { return StepBuilder(*this, samples, stages).build(); }

void RandomModel::set_variables(Variables& variables) const {
  const Graph graph = step(1, 1);
  Program program(graph, Device({.tiles = 1}), Variables());
  std::int64_t number = 0;
  for (const VariableInfo& variable : program.variables()) {
    Array value(variable.type.dtype, variable.type.shape);
    for (std::int64_t i = 0; i < value.elements(); ++i)
      value.mutable_data<float>()[i] = variable.role == VariableRole::weight ? noise(seed, number++) : 0.0f;
    if (variable.role == VariableRole::rate) value.mutable_data<float>()[0] = 0.1f;
    variables.set(variable.name, value);
  }
}

void RandomModel::fill(const Program& program, std::int64_t first, std::int64_t samples,
                       std::byte* const* feeds) const {
  const std::vector<PortInfo> ports = program.feeds();
  for (std::size_t port = 0; port < ports.size(); ++port) {
    auto* numbers = reinterpret_cast<float*>(feeds[port]);
    const std::int64_t columns = ports[port].type.shape[1];
    for (std::int64_t i = 0; i < samples * columns; ++i) {
      const float number = noise(seed + static_cast<std::uint32_t>(ports[port].name.size()), first * columns + i);
      numbers[i] = ports[port].name == "mask" ? (number > -0.5f ? 1.0f : 0.0f) : number;
    }
  }
}

}  // namespace pando
