// SPDX-License-Identifier: Apache-2.0
// Losses against what make_reference.py computed by PyTorch: what they print, their values and the gradients of their
// inputs, for every reduction.
#include <limits>

#include "tests/message.h"
#include "tests/torch/reference.h"

using namespace pando;
using namespace pando::torch::nn;

namespace {

struct LossCase {
  const char* name;
  Shape shape;
  const char* target;
  std::function<Loss(const std::string& reduction)> make;
};

const Shape flat = {6, 5}, deep = {2, 5, 3, 2};

Array weight() { return hashed(30, {5}, 0.5, 1.0); }
Array sparse() { return weight() * Array::of<float>({1, 0, 1, 1, 1}, {5}); }

// But for the reduction.
LossCase cross_entropy(const char* name, const char* target, CrossEntropyLossOptions options = {}) {
  const bool is_deep = std::string(target).starts_with("deep");
  return {name, is_deep ? deep : flat, target, [options](const std::string& reduction) mutable {
            options.reduction = reduction;
            return CrossEntropyLoss(options);
          }};
}

const std::vector<LossCase> loss_cases = {
    cross_entropy("cross_entropy", "classes"),
    cross_entropy("cross_entropy_deep", "deep_classes"),
    cross_entropy("cross_entropy_deep_weight", "deep_classes", {.weight = weight()}),
    cross_entropy("cross_entropy_weight", "classes", {.weight = weight()}),
    // This is PyTorch's default.
    cross_entropy("cross_entropy_ignore", "ignored"),
    cross_entropy("cross_entropy_ignore_class_weight", "classes", {.weight = weight(), .ignore_index = 3}),
    cross_entropy("cross_entropy_smoothing", "classes", {.label_smoothing = 0.2}),
    cross_entropy("cross_entropy_smoothing_weight", "classes", {.weight = weight(), .label_smoothing = 0.2}),
    cross_entropy("cross_entropy_smoothing_ignore", "ignored", {.label_smoothing = 0.2}),
    cross_entropy("cross_entropy_smoothing_ignore_sparse_weight", "ignored",
                  {.weight = sparse(), .label_smoothing = 0.2}),
    cross_entropy("cross_entropy_deep_smoothing", "deep_classes", {.weight = weight(), .label_smoothing = 0.2}),
    cross_entropy("cross_entropy_shares", "shares"),
    cross_entropy("cross_entropy_shares_weight", "shares", {.weight = weight()}),
    cross_entropy("cross_entropy_shares_smoothing", "shares", {.label_smoothing = 0.2}),
    cross_entropy("cross_entropy_shares_smoothing_weight", "shares", {.weight = weight(), .label_smoothing = 0.2}),
    cross_entropy("cross_entropy_deep_shares", "deep_shares"),
    cross_entropy("cross_entropy_amounts", "amounts"),
    {"nll", flat, "classes", [](const auto& reduction) { return NLLLoss({.reduction = reduction}); }},
    {"nll_weight", flat, "classes",
     [](const auto& reduction) { return NLLLoss({.weight = weight(), .reduction = reduction}); }},
    {"nll_ignore", flat, "ignored", [](const auto& reduction) { return NLLLoss({.reduction = reduction}); }},
    {"nll_deep", deep, "deep_classes",
     [](const auto& reduction) { return NLLLoss({.weight = weight(), .ignore_index = 3, .reduction = reduction}); }},
    {"mse", flat, "real", [](const auto& reduction) { return MSELoss({reduction}); }},
    {"mse_deep", deep, "deep_real", [](const auto& reduction) { return MSELoss({reduction}); }},
    {"l1", flat, "real", [](const auto& reduction) { return L1Loss({reduction}); }},
    {"smooth_l1", flat, "real", [](const auto& reduction) { return SmoothL1Loss({reduction}); }},
    {"smooth_l1_beta", flat, "real",
     [](const auto& reduction) { return SmoothL1Loss({.reduction = reduction, .beta = 0.3}); }},
    {"smooth_l1_beta_zero", flat, "real",
     [](const auto& reduction) { return SmoothL1Loss({.reduction = reduction, .beta = 0.0}); }},
    {"bce_logits", flat, "bits", [](const auto& reduction) { return BCEWithLogitsLoss({.reduction = reduction}); }},
    {"bce_logits_amounts", flat, "amounts",
     [](const auto& reduction) { return BCEWithLogitsLoss({.reduction = reduction}); }},
    {"bce_logits_weight", flat, "bits",
     [](const auto& reduction) { return BCEWithLogitsLoss({.weight = weight(), .reduction = reduction}); }},
    {"bce_logits_pos_weight", flat, "amounts",
     [](const auto& reduction) { return BCEWithLogitsLoss({.reduction = reduction, .pos_weight = weight()}); }},
    {"bce_logits_both_weights", flat, "amounts",
     [](const auto& reduction) {
       return BCEWithLogitsLoss({.weight = sparse(), .reduction = reduction, .pos_weight = weight()});
     }},
};

// The gradient of the zeros is that of the loss's input.
struct LossProbe : Module {
  LossProbe(const Loss& loss, const Shape& shape)
      : loss(loss), zeros(register_parameter("zeros", pando::zeros(shape))) {
    register_module("loss", loss);
  }
  Tensor forward(Tensor x, Tensor target) {
    const Tensor value = loss(x + zeros, target);
    if (value.shape().rank() > 0) poptorch::identity_loss(value, "sum");
    return value;
  }

  Loss loss;
  nn::Parameter zeros;
};

struct LossAndGradient {
  Array value, gradient;
};

LossAndGradient evaluate(const Loss& loss, const Array& x, const Array& target) {
  LossProbe probe(loss, x.shape());
  auto training = poptorch::trainingModel(probe, {}, torch::optim::SGD(probe.parameters(), {.lr = 1.0}));
  const Array value = training(x, target);
  return {value, -probe.zeros.value()};
}

class LossParity : public testing::TestWithParam<LossCase> {};

TEST_P(LossParity, ValuesAndGradientsAreThoseOfPyTorch) {
  const Array target = reference(std::string("targets.") + GetParam().target);
  for (const std::string reduction : {"mean", "sum", "none"}) {
    const std::string name = GetParam().name + (reduction == "mean" ? "" : "_" + reduction);
    const LossAndGradient actual = evaluate(GetParam().make(reduction), hashed(0, GetParam().shape, 3), target);
    expect_near(actual.value, name + ".value");
    expect_near(actual.gradient, name + ".input");
  }
}

// What fills a batch up counts for nothing, in the loss and in the gradient.
TEST_P(LossParity, OfSomeSamplesOfABatchIsThatOfThemAlone) {
  const Array x = hashed(0, GetParam().shape, 3), target = reference(std::string("targets.") + GetParam().target);
  const std::int64_t count = x.shape()[0] - 1;
  for (const std::string reduction : {"mean", "sum", "none"}) {
    const LossAndGradient alone = evaluate(GetParam().make(reduction), x.slice(0, count), target.slice(0, count));
    LossProbe probe(GetParam().make(reduction), x.shape());
    auto training = poptorch::trainingModel(probe, {}, torch::optim::SGD(probe.parameters(), {.lr = 1.0}));
    training.compile(x, target);
    EXPECT_TRUE(allclose(training(x.slice(0, count), target.slice(0, count)), alone.value, 1e-5, 1e-6)) << reduction;
    const Array gradient = -probe.zeros.value();
    EXPECT_TRUE(allclose(gradient.slice(0, count), alone.gradient, 1e-5, 1e-6)) << reduction;
    EXPECT_TRUE(array_equal(abs(gradient.slice(count, count + 1)), zeros(gradient.slice(count, count + 1).shape())));
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, LossParity, testing::ValuesIn(loss_cases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LossParity, EveryLossIsTestedAndPrintedAsPyTorchDoes) {
  std::set<std::string> tested;
  for (const LossCase& example : loss_cases) {
    const std::string text = to_string(example.make("mean")), kind = text.substr(0, text.find('('));
    tested.insert(kind);
    EXPECT_EQ(text, printed(kind));
  }
  EXPECT_EQ(tested, declared_in("losses.h", "Loss"));
}

TEST(Losses, UseAWeightThatWasLoaded) {
  const CrossEntropyLoss loss({.weight = ones({5})});
  loss.load_state_dict({{"weight", weight()}});
  expect_near(evaluate(loss, hashed(0, flat, 3), reference("targets.classes")).value, "cross_entropy_weight.value");
}

TEST(Losses, AClassThatCannotBeCostsOnlyThoseWhoChooseIt) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Array x = Array::of<float>({0, -infinity, 0, 0}, {2, 2}), target = Array::of<std::int64_t>({0, 0}, {2});
  for (const Loss& loss : std::vector<Loss>{CrossEntropyLoss(), NLLLoss()}) {
    const LossAndGradient actual = evaluate(loss, x, target);
    EXPECT_TRUE(std::isfinite(actual.value.item<float>())) << loss;
    for (std::int64_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isfinite(actual.gradient.data<float>()[i])) << loss;
  }
}

TEST(Losses, AreNaNIfEveryTargetIsIgnored) {
  const Array x = hashed(0, {2, 3}), ignored = Array::of<std::int64_t>({-100, -100}, {2});
  for (const Loss& loss : std::vector<Loss>{CrossEntropyLoss(), CrossEntropyLoss({.label_smoothing = 0.1}),
                                            CrossEntropyLoss({.weight = ones({3})}), NLLLoss()})
    EXPECT_TRUE(std::isnan(evaluate(loss, x, ignored).value.item<float>())) << loss;
  EXPECT_EQ(evaluate(CrossEntropyLoss({.reduction = "sum"}), x, ignored).value.item<float>(), 0.0F);
}

TEST(Losses, RefuseATargetThatIsNotAClass) {
  const Array x = hashed(0, {2, 3});
  const auto said = [&](const Loss& loss, const Array& target) { return message([&] { evaluate(loss, x, target); }); };
  for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{3}, (std::int64_t{1} << 32) + 1})
    for (const auto& [kind, loss] : std::vector<std::pair<std::string, Loss>>{
             {"CrossEntropyLoss", CrossEntropyLoss()},
             {"CrossEntropyLoss", CrossEntropyLoss({.reduction = "none"})},
             {"CrossEntropyLoss", CrossEntropyLoss({.label_smoothing = 0.1})},
             {"CrossEntropyLoss", CrossEntropyLoss({.weight = ones({3})})},
             {"CrossEntropyLoss", CrossEntropyLoss({.weight = ones({3}), .label_smoothing = 0.1})},
             {"NLLLoss", NLLLoss()},
             {"NLLLoss", NLLLoss({.weight = ones({3})})}})
      EXPECT_EQ(said(loss, Array::of<std::int64_t>({0, wrong}, {2})),
                kind + " 'loss': target " + std::to_string(wrong) +
                    " is not one of 3 classes; targets must be 0 to 2, or -100, which is ignored");
  EXPECT_EQ(said(CrossEntropyLoss({.ignore_index = 7}), Array::of<std::int64_t>({7, -100}, {2})),
            "CrossEntropyLoss 'loss': target -100 is not one of 3 classes; targets must be 0 to 2, or 7, which is "
            "ignored");
  EXPECT_EQ(said(CrossEntropyLoss({.ignore_index = std::int64_t{1} << 40}), Array::of<std::int32_t>({0, 3}, {2})),
            "CrossEntropyLoss 'loss': target 3 is not one of 3 classes; targets must be 0 to 2");
}

TEST(Losses, SayWhatDoesNotFit) {
  const Array x = hashed(0, {2, 3}), classes = Array::of<std::int64_t>({0, 1}, {2});
  const auto said = [&](const Loss& loss, const Array& target) { return message([&] { evaluate(loss, x, target); }); };
  EXPECT_EQ(said(CrossEntropyLoss(), Array::of<std::int64_t>({0, 1, 2}, {3})),
            "loss (CrossEntropyLoss) cannot take [2, 3] and [3]: the target must have a class for each sample: [2]");
  EXPECT_EQ(said(CrossEntropyLoss(), hashed(0, {2, 4})),
            "loss (CrossEntropyLoss) cannot take [2, 3] and [2, 4]: input and target must have the same shape");
  EXPECT_EQ(said(CrossEntropyLoss(), ones({2})),
            "loss (CrossEntropyLoss) cannot take [2, 3] and [2]: a target of type float32 must have a probability for "
            "each class; cast classes to int64");
  EXPECT_EQ(said(NLLLoss({.weight = ones({4})}), classes),
            "loss (NLLLoss) cannot take [2, 3] and [2]: the weight has shape [4] but there are 3 classes");
  EXPECT_EQ(said(MSELoss(), hashed(0, {2})),
            "loss (MSELoss) cannot take [2, 3] and [2]: input and target must have the same shape");
  EXPECT_EQ(message([] { L1Loss({.reduction = "average"}); }),
            "L1Loss: the reduction is 'average' but must be 'mean', 'sum' or 'none'");
  EXPECT_EQ(message([] { CrossEntropyLoss({.label_smoothing = 1.5}); }),
            "CrossEntropyLoss: label_smoothing is 1.5 but must be between 0 and 1");
  EXPECT_EQ(message([] { SmoothL1Loss({.beta = -1}); }), "SmoothL1Loss: beta is -1 but must not be negative");
}

}  // namespace
