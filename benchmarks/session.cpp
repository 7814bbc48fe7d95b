// SPDX-License-Identifier: Apache-2.0
// What a step costs when Session::run is called for each, against a step of a loop on the device, in the same run.
#include <pando/pando.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace pando;
namespace tf = pando::tf1;

namespace {

constexpr std::int64_t batch_size = 32, steps = 400;
constexpr int rounds = 9;

double microseconds_of(const Function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

tf::Outputs train(const keras::Sequential& model, const Tensor& x, const Tensor& y) {
  const Tensor loss = tf::losses::sparse_softmax_cross_entropy(y, model(x, {.training = true}));
  return {loss, tf::train::AdamOptimizer({.learning_rate = 0.01}).minimize(loss)};
}

void compare(const char* name, keras::Sequential model, const data::Dataset& dataset) {
  const auto iterator = tf::make_initializable_iterator(dataset);
  const ipu::IPUInfeedQueue infeed(dataset);
  auto [x, y] = iterator.get_next<2>();
  tf::Compiled step, loop;
  {
    const ipu::scopes::ipu_scope device("/device:IPU:0");
    step = ipu::ipu_compiler::compile([&](Tensor bx, Tensor by) { return train(model, bx, by); }, {x, y});
    loop = ipu::ipu_compiler::compile([&] {
      return ipu::loops::repeat(
          steps, [&](Tensor, Tensor bx, Tensor by) { return train(model, bx, by); }, {tf::constant(0.0F)}, infeed);
    });
  }
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(iterator.initializer());
  session.run(infeed.initializer());
  std::vector<double> by_step, by_loop;
  // The first round of each warms up.
  for (int round = 0; round <= rounds; ++round) {
    by_step.push_back(microseconds_of([&] {
                        for (std::int64_t i = 0; i < steps; ++i) session.run(step);
                      }) /
                      static_cast<double>(steps));
    by_loop.push_back(microseconds_of([&] { session.run(loop); }) / static_cast<double>(steps));
  }
  by_step.erase(by_step.begin());
  by_loop.erase(by_loop.begin());
  std::vector<double> differences;
  for (std::size_t i = 0; i < by_step.size(); ++i) differences.push_back(by_step[i] - by_loop[i]);
  std::printf("%-8s  %10.1f us  %10.1f us  %+8.1f us\n", name, median(by_loop), median(by_step), median(differences));
}

}  // namespace

int main() {
  ipu::IPUConfig config;
  config.auto_select_ipus = 1;
  config.configure_ipu_system();
  const pando::datasets::Splits digits = pando::datasets::synthetic_digits(4096, 0);
  const auto dataset = data::Dataset::from_tensor_slices(
                           {digits.train.x.astype(DType::float32) / 255.0, digits.train.y.astype(DType::int32)})
                           .repeat()
                           .batch(batch_size, {.drop_remainder = true});
  const auto conv = [] { return keras::layers::Conv2D(8, 3, {.activation = "relu", .padding = "same"}); };
  std::printf("a step of batch %lld, medians of %d rounds of %lld steps\n", static_cast<long long>(batch_size), rounds,
              static_cast<long long>(steps));
  std::printf("%-8s  %13s  %13s  %11s\n", "model", "in a loop", "Session::run", "more");
  compare("mlp",
          keras::Sequential(
              {keras::layers::Flatten(), keras::layers::Dense(128, {.activation = "relu"}), keras::layers::Dense(10)}),
          dataset);
  compare("fashion",
          keras::Sequential({keras::layers::Reshape({28, 28, 1}), conv(), conv(), keras::layers::Flatten(),
                             keras::layers::Dense(10)}),
          dataset);
}
