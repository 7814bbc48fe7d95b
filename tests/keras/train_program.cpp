// SPDX-License-Identifier: Apache-2.0
// A program that trains, for tests of what a person sees: train_program short | endless | hanging.
#include <pando/pando.h>

#include <chrono>
#include <string>
#include <thread>

using namespace pando;
using namespace pando::keras;

int main(int count, char** words) {
  const std::string mode = count > 1 ? words[1] : "short";
  const bool endless = mode != "short";
  const Array x = arange(96).astype(DType::float32).reshape({96, 1}) / 96.0, y = x * 2.0 + 1.0;
  const Tensor input = Input({1}, {.name = "number"});
  const Tensor output = layers::Dense(1, {.kernel_initializer = "zeros", .name = "line"})(input);
  Model model(input, output, {.name = "regression"});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse", .metrics = {"mae"}});
  if (!endless) model.summary();
  const auto hang = [&](std::int64_t epoch, const Logs&) {
    if (mode != "hanging" || epoch < 3) return;
    std::puts("Hanging.");
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::hours(1));
  };
  const auto tell = [] { std::puts("The end of training was told."); };
  model.fit(x, y,
            {.batch_size = 8,
             .epochs = endless ? 1'000'000 : 2,
             .shuffle = false,
             .validation_data = {x, y},
             .callbacks = {callbacks::LambdaCallback({.on_epoch_end = hang, .on_train_end = tell})}});
  model.evaluate(x, y, {.batch_size = 8});
}
