// SPDX-License-Identifier: Apache-2.0
// The calls that benchmarks/python.py times, made by C++: for what Python adds to each. For each number that it reads
// from standard input it makes the calls of that row of the table, and prints the microseconds of one.
#include <pando/pando.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace pando;
namespace layers = pando::keras::layers;

namespace {

keras::Sequential mlp(std::int64_t steps_per_execution) {
  keras::Sequential model({layers::Dense(128, {.activation = "relu", .input_shape = Shape{784}}),
                           layers::Dense(10, {.activation = "softmax"})});
  model.compile(
      {.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .steps_per_execution = steps_per_execution});
  return model;
}

struct Network : torch::nn::Module {
  Network() { register_modules({{"hidden", hidden}, {"output", output}, {"loss", loss}}); }
  std::pair<Tensor, Tensor> forward(const Tensor& x, const Tensor& labels) {
    const Tensor y = output(relu(hidden(x)));
    return {y, loss(y, labels)};
  }
  torch::nn::Linear hidden{784, 128}, output{128, 10};
  torch::nn::ReLU relu;
  torch::nn::CrossEntropyLoss loss;
};

// A training step of the same network, compiled for sessions, and the session that runs it.
struct SessionStep {
  SessionStep(const Array& x, const Array& y) {
    auto iterator = tf1::make_initializable_iterator(
        data::Dataset::from_tensor_slices({x, y}).repeat().batch(32, {.drop_remainder = true}));
    auto [images, labels] = iterator.get_next<2>();
    {
      ipu::scopes::ipu_scope device("/device:IPU:0");
      step = ipu::ipu_compiler::compile(
          [this](Tensor rows, Tensor targets) -> tf1::Outputs {
            Tensor loss = tf1::losses::sparse_softmax_cross_entropy(targets, model(rows, {.training = true}));
            return {loss, tf1::train::GradientDescentOptimizer({.learning_rate = 0.01}).minimize(loss)};
          },
          {images, labels});
    }
    session.run(tf1::global_variables_initializer());
    session.run(iterator.initializer());
  }
  keras::Sequential model{layers::Dense(128, {.activation = "relu", .input_shape = Shape{784}}), layers::Dense(10)};
  tf1::Compiled step;
  tf1::Session session;
};

// The median of some calls: a call during which another program had the cores does not count.
double microseconds(std::size_t count, const Function<void()>& call) {
  std::vector<double> times(count);
  for (double& time : times) {
    const auto start = std::chrono::steady_clock::now();
    call();
    time = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  }
  std::sort(times.begin(), times.end());
  return times[count / 2];
}

}  // namespace

int main() {
  ipu::IPUConfig config;
  config.auto_select_ipus = 1;
  config.configure_ipu_system();
  ipu::IPUStrategy strategy;
  const auto scope = strategy.scope();
  const Array x(DType::float32, {32'000, 784}), y(DType::int32, {32'000});
  const Array batch = x.slice(0, 32), labels = y.slice(0, 32);
  keras::Sequential single = mlp(1), many = mlp(100);
  Network network;
  auto training = poptorch::trainingModel(network, poptorch::Options().deviceIterations(50),
                                          torch::optim::SGD(network.parameters(), {.lr = 0.01}));
  const Array rows = x.slice(0, 1600), row_labels = y.slice(0, 1600);
  SessionStep sessions(x, y);
  const auto fit = [&](keras::Sequential& model) { model.fit(x, y, {.verbose = 0}); };
  const std::vector<std::pair<std::size_t, Function<void()>>> calls = {
      {1, [&] { fit(single); }},
      {1, [&] { fit(many); }},
      {100, [&] { many.train_on_batch(batch, labels); }},
      {100, [&] { many.predict(batch); }},
      {5, [&] { training(rows, row_labels); }},
      {500, [&] { sessions.session.run(sessions.step); }}};
  for (std::size_t row = 0; std::scanf("%zu", &row) == 1;) {
    const auto& [count, call] = calls.at(row);
    call();
    std::printf("%.3f\n", microseconds(count, call));
    std::fflush(stdout);
  }
}
