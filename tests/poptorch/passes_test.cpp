// SPDX-License-Identifier: Apache-2.0
// Models whose front end makes the gradients itself, and whose weights are in its memory.
#include <algorithm>

#include "tests/poptorch/network.h"

namespace pando {

namespace {

// y = b * (a * x), a and b on one IPU each, and the mean of y as the loss. Its gradients are those of autograd, twice.
struct Product {
  float memory[2] = {2, 3};
  nn::Parameter a{Array::of<float>({2}, {1})}, b{Array::of<float>({3}, {1})}, seen{Array::of<float>({0}, {1}), false};
  poptorch::PoplarExecutor executor;

  explicit Product(const Options& options = {})
      : executor(
            "Product", [this] { return parts(); },
            [this](const poptorch::PassInputs& inputs) { return passes(inputs); }, 1, options,
            torch::optim::SGD({a, b}, {.lr = 0.125})) {
    a.adopt(&memory[0], nullptr);
    b.adopt(&memory[1], nullptr);
  }
  nn::ModuleParts parts() const {
    return {.modules = {}, .parameters = {{"a", a}, {"b", b}}, .buffers = {{"seen", seen}}};
  }

  poptorch::PassResults passes(const poptorch::PassInputs& inputs) {
    const Tensor x = inputs.tensors[0];
    poptorch::BeginBlock(0);
    poptorch::begin_node("first", poptorch::begin_call("first"));
    const Tensor inner = x * a;
    poptorch::BeginBlock(1);
    poptorch::begin_node("second", poptorch::begin_call("second"));
    const Tensor loss = mean(inner * b);
    poptorch::assign_statistic(seen, Tensor(seen) + mean(x));
    poptorch::end_forward();
    poptorch::begin_node("second", 1);
    const Tensor of_b = mean(inner) * 2.0, of_inner = b * 2.0;
    poptorch::begin_node("first", 0);
    return {{loss}, loss, {{a, mean(x) * of_inner}, {b, of_b}}};
  }
  // Of [n, 1]; the mean has the shape of a weight where a gradient needs it.
  static Tensor mean(const Tensor& x) {
    return apply("mean", {x}, [](const std::vector<Value>& v) { return ops::reduce_mean(v[0], {.axes = {0}}); });
  }
  Arrays call(std::int64_t samples) {
    Array ones(DType::float32, {samples, 1});
    std::fill_n(ones.mutable_data<float>(), samples, 1.0F);
    return executor.run({ones});
  }
};

TEST(PopTorchPasses, TrainByTheGradientsThatTheyReturn) {
  Options options;
  options.Training.gradientAccumulation(2);
  Product product(options);
  EXPECT_EQ(product.call(4)[0].data<float>()[0], 6);
  EXPECT_EQ(product.memory[0], 2 - 0.125F * 2 * 3);
  EXPECT_EQ(product.memory[1], 3 - 0.125F * 2 * 2);
  EXPECT_EQ(product.seen.value().data<float>()[0], 2);
  const std::string text = product.executor.explain();
  EXPECT_NE(text.find("first"), std::string::npos) << text;
  EXPECT_NE(text.find("second"), std::string::npos) << text;
}

TEST(PopTorchPasses, UseMemoryThatItsOwnerHasChanged) {
  Product product;
  product.call(2);
  product.memory[0] = product.memory[1] = 1;
  EXPECT_EQ(product.call(2)[0].data<float>()[0], 1);
  float other = 5;
  product.a.adopt(&other, nullptr);
  product.executor.rebuild();
  product.memory[1] = 2;
  EXPECT_EQ(product.call(2)[0].data<float>()[0], 10);
  EXPECT_EQ(other, 5 - 0.125F * 2 * 2);
}

TEST(PopTorchPasses, SayWhereTheyAreOnlyWhileTheyAreTraced) {
  EXPECT_EQ(message([] { poptorch::begin_node("first", 0); }),
            "begin_node: it belongs in the forward() of a model that trainingModel or inferenceModel runs");
}

}  // namespace

}  // namespace pando
