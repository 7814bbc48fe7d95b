// SPDX-License-Identifier: Apache-2.0
// The three styles on the same graph: one model written as Keras layers, as PyTorch modules and as a TF1 computation.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <cmath>
#include <limits>

#include "backends/cpu/cpu_backend.h"
#include "compiler/compile.h"
#include "program/state.h"
#include "graph/op_definition.h"
#include "graph/rewrite.h"

using namespace pando;
namespace tf = pando::tf1;
namespace nn = pando::torch::nn;

namespace {

constexpr std::int64_t batch = 8, updates = 20;
constexpr double rate = 0.1;

Array waves(const Shape& shape, double step, double scale = 1.0) {
  Array array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.mutable_data<float>()[i] = static_cast<float>(scale * std::sin(static_cast<double>(i + 1) * step));
  return array;
}

Array classes() {
  Array y(DType::int32, {batch * updates});
  for (std::int64_t i = 0; i < y.elements(); ++i)
    y.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i * 5 % 3);
  return y;
}

// What a front end compiles while it lives.
class CompiledGraphs {
 public:
  CompiledGraphs() {
    graph_observer() = [this](const Graph& graph) { graphs_.push_back(graph); };
  }
  ~CompiledGraphs() { graph_observer() = {}; }
  // The one that updates weights.
  const Graph& training() const {
    for (const Graph& graph : graphs_)
      if (graph.assignments().size() > 1) return graph;
    throw Error("no graph of a training step was compiled");
  }

 private:
  std::vector<Graph> graphs_;
};

// The update alone, with inputs that the style feeds a constant made constants, and names by the order of their use.
class Canonical {
 public:
  Canonical(const Graph& graph, const std::map<std::string, Array>& known)
      : from_(graph), known_(known), mapped_(graph.nodes().size(), -1) {
    for (const Assignment& assignment : graph.assignments())
      to_.assign(copy(assignment.variable), copy(assignment.value));
  }

  // After the passes that simplify.
  std::string text() const {
    std::string text;
    CompileOptions options;
    options.evaluate = pando::cpu::evaluate;
    options.on_pass = [&](const PassReport& report) {
      // It runs twice; the second time the graph is done but for fusing kernels.
      if (report.name == "remove_dead_nodes") text = report.text();
    };
    compile(to_, options);
    return text;
  }

 private:
  Value copy(ValueId id) {
    std::int32_t& number = mapped_[static_cast<std::size_t>(id.node)];
    if (number < 0) {
      Node node = from_.nodes()[static_cast<std::size_t>(id.node)];
      // One device has no stages, and an update is one micro-batch.
      if (is_role(node, Role::span)) return copy(node.inputs[0]);
      for (ValueId& input : node.inputs) input = copy(input).id();
      node.name.clear();
      node.stage = any_stage;
      if (const Attribute* name = node.attributes.find("name")) {
        const auto found = known_.find(std::get<std::string>(*name));
        if (found != known_.end()) {
          number = ops::constant(to_, found->second).id().node;
          return to_.value({number, id.output});
        }
        node.attributes.set("name", std::string(node.op->name) + std::to_string(names_++));
      }
      number = GraphEditor::append(to_, std::move(node));
    }
    return to_.value({number, id.output});
  }

  const Graph& from_;
  const std::map<std::string, Array>& known_;
  Graph to_;
  std::vector<std::int32_t> mapped_;
  int names_ = 0;
};

struct Result {
  std::string graph;
  // As Keras has them.
  std::vector<Array> weights;
};

double distance(const std::vector<Array>& a, const std::vector<Array>& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].shape(), b[i].shape());
    for (std::int64_t j = 0; j < a[i].elements(); ++j) {
      const double x = a[i].data<float>()[j], y = b[i].data<float>()[j];
      difference += (x - y) * (x - y);
      norm += x * x;
    }
  }
  return std::sqrt(difference / norm);
}

struct Problem {
  Array x, y;
  // As Keras has them.
  std::vector<Array> weights;
};

Problem mlp_problem() {
  return {waves({batch * updates, 6}, 1.7),
          classes(),
          {waves({6, 5}, 0.9, 0.5), waves({5}, 0.3, 0.1), waves({5, 3}, 1.1, 0.5), waves({3}, 0.7, 0.1)}};
}

keras::Sequential keras_mlp(const Problem& problem) {
  keras::Sequential model({keras::layers::Dense(5, {.activation = "relu"}), keras::layers::Dense(3)});
  model.build({Shape{-1, 6}});
  model.set_weights(problem.weights);
  return model;
}

Result train_keras(keras::Sequential model, const Problem& problem) {
  model.compile({.optimizer = keras::optimizers::SGD({.learning_rate = rate}),
                 .loss = keras::losses::SparseCategoricalCrossentropy({.from_logits = true})});
  const CompiledGraphs graphs;
  model.fit(problem.x, problem.y, {.batch_size = batch, .shuffle = false, .verbose = 0});
  const Array ones = pando::ones({batch}), share = full({}, 1.0 / batch);
  return {Canonical(graphs.training(), {{"sample_mask", ones}, {"update_scale", share}}).text(), model.get_weights()};
}

// Any module with the loss.
struct WithLoss : nn::Module {
  explicit WithLoss(const nn::Sequential& model) : model(model) {
    register_modules({{"model", model}, {"loss", loss}});
  }
  Tensor forward(Tensor x, Tensor y) { return loss(model(x), y); }
  nn::Sequential model;
  // The other styles ignore no target.
  nn::CrossEntropyLoss loss{{.ignore_index = std::numeric_limits<std::int64_t>::min()}};
};

std::string train_torch(const nn::Sequential& model, const Problem& problem) {
  WithLoss with_loss(model);
  auto training = poptorch::trainingModel(with_loss, poptorch::Options().deviceIterations(updates),
                                          torch::optim::SGD(model.parameters(), {.lr = rate}));
  const CompiledGraphs graphs;
  training(problem.x, problem.y);
  return Canonical(graphs.training(), {}).text();
}

Result train_tf1(const keras::Sequential& model, const Problem& problem) {
  ipu::IPUConfig config;
  config.auto_select_ipus = 1;
  config.configure_ipu_system();
  const ipu::IPUInfeedQueue infeed(data::Dataset::from_tensor_slices({problem.x, problem.y}).batch(batch));
  const CompiledGraphs graphs;
  tf::Compiled loop;
  {
    const ipu::scopes::ipu_scope device("/device:IPU:0");
    loop = ipu::ipu_compiler::compile([&]() -> tf::Outputs {
      ipu::loops::repeat(
          updates,
          [&](Tensor x, Tensor y) -> tf::Outputs {
            const Tensor loss = tf::losses::sparse_softmax_cross_entropy(y, model(x, {.training = true}));
            return {tf::train::GradientDescentOptimizer({.learning_rate = rate}).minimize(loss)};
          },
          {}, infeed);
      return {};
    });
  }
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  session.run(loop);
  ipu::reset_ipu_configuration();
  return {Canonical(graphs.training(), {}).text(), model.get_weights()};
}

TEST(ThreeStyles, OneMlpGivesOneGraphAndTheSameBits) {
  const Problem problem = mlp_problem();
  const Result keras = train_keras(keras_mlp(problem), problem);
  const Result session = train_tf1(keras_mlp(problem), problem);

  nn::Linear first(6, 5), second(5, 3);
  first.load_state_dict({{"weight", transpose(problem.weights[0])}, {"bias", problem.weights[1]}});
  second.load_state_dict({{"weight", transpose(problem.weights[2])}, {"bias", problem.weights[3]}});
  const std::string torch = train_torch(nn::Sequential(first, nn::ReLU(), second), problem);
  const std::vector<Array> torch_weights = {transpose(first.state_dict().at("weight")), first.state_dict().at("bias"),
                                            transpose(second.state_dict().at("weight")),
                                            second.state_dict().at("bias")};

  EXPECT_EQ(keras.graph, torch);
  EXPECT_EQ(keras.graph, session.graph);
  EXPECT_FALSE(keras.graph.empty());
  for (std::size_t i = 0; i < keras.weights.size(); ++i) {
    EXPECT_TRUE(array_equal(keras.weights[i], torch_weights[i])) << "weight " << i;
    EXPECT_TRUE(array_equal(keras.weights[i], session.weights[i])) << "weight " << i;
    EXPECT_FALSE(array_equal(keras.weights[i], problem.weights[i])) << "weight " << i << " was not trained";
  }
}

// Rows [height * width * channels] of a Dense layer after channels-last images, as PyTorch orders them.
Array channels_first_rows(const Array& kernel, std::int64_t places, std::int64_t channels) {
  const std::int64_t out = kernel.shape()[1];
  return transpose(kernel.reshape({places, channels, out}), {1, 0, 2}).reshape({places * channels, out});
}

TEST(ThreeStyles, OneCnnGivesTheSameWeightsInBothLayouts) {
  const Problem problem = {
      waves({batch * updates, 8, 8, 2}, 1.7),
      classes(),
      {waves({3, 3, 2, 4}, 0.9, 0.4), waves({4}, 0.3, 0.1), waves({36, 3}, 1.1, 0.3), waves({3}, 0.7, 0.1)}};
  const auto keras_cnn = [&] {
    keras::Sequential model({keras::layers::Conv2D(4, 3, {.activation = "relu"}), keras::layers::MaxPooling2D(),
                             keras::layers::Flatten(), keras::layers::Dense(3)});
    model.build({Shape{-1, 8, 8, 2}});
    model.set_weights(problem.weights);
    return model;
  };
  const Result keras = train_keras(keras_cnn(), problem);
  const Result session = train_tf1(keras_cnn(), problem);
  EXPECT_LT(distance(keras.weights, session.weights), 1e-5);

  nn::Conv2d conv(2, 4, {.kernel_size = 3});
  nn::Linear linear(36, 3);
  conv.load_state_dict({{"weight", transpose(problem.weights[0], {3, 2, 0, 1})}, {"bias", problem.weights[1]}});
  linear.load_state_dict(
      {{"weight", transpose(channels_first_rows(problem.weights[2], 9, 4))}, {"bias", problem.weights[3]}});
  Problem images = problem;
  images.x = transpose(problem.x, {0, 3, 1, 2});
  train_torch(nn::Sequential(conv, nn::ReLU(), nn::MaxPool2d({.kernel_size = 2}), nn::Flatten(), linear), images);
  const std::vector<Array> expected = {transpose(keras.weights[0], {3, 2, 0, 1}), keras.weights[1],
                                       transpose(channels_first_rows(keras.weights[2], 9, 4)), keras.weights[3]};
  EXPECT_LT(distance(expected, {conv.state_dict().at("weight"), conv.state_dict().at("bias"),
                                linear.state_dict().at("weight"), linear.state_dict().at("bias")}),
            1e-5);
  EXPECT_GT(distance(keras.weights, problem.weights), 1e-2);
}

}  // namespace
