// A program that trains, for tests of what a person sees: train_program short | endless.
#include <pando/pando.h>

#include <string>

using namespace pando;
using namespace pando::keras;

int main(int count, char** words) {
  const bool endless = count > 1 && std::string(words[1]) == "endless";
  const Array x = arange(96).astype(DType::float32).reshape({96, 1}) / 96.0, y = x * 2.0 + 1.0;
  const Tensor input = Input({1}, {.name = "number"});
  const Tensor output = layers::Dense(1, {.kernel_initializer = "zeros", .name = "line"})(input);
  Model model(input, output, {.name = "regression"});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse", .metrics = {"mae"}});
  if (!endless) model.summary();
  model.fit(
      x, y,
      {.batch_size = 8,
       .epochs = endless ? 1'000'000 : 2,
       .shuffle = false,
       .validation_data = {x, y},
       .callbacks = {callbacks::LambdaCallback({.on_train_end = [] { std::puts("The end of training was told."); }})}});
  model.evaluate(x, y, {.batch_size = 8});
}
