// SPDX-License-Identifier: Apache-2.0
// Optimizers and schedulers against those of PyTorch, by make_reference.py: the weights after ten steps, the rates of
// twelve epochs; some optimizers against their formulas.
#include <pando/frontends/torch/computation.h>
#include <pando/frontends/torch/update.h>
#include <pando/model/tensor_program.h>

#include "tests/message.h"
#include "tests/torch/reference.h"

using namespace pando;
using namespace pando::torch::optim;
using namespace pando::torch::optim::lr_scheduler;

namespace {

struct Regression : nn::Module {
  Regression() : body(nn::Linear(5, 6), nn::Tanh(), nn::Linear(6, 3)) {
    register_modules({{"body", body}, {"loss", loss}});
  }
  Tensor forward(Tensor x, Tensor y) { return loss(body(x), y); }

  nn::Sequential body;
  nn::MSELoss loss;
};

struct OptimizerCase {
  const char* name;
  std::function<Optimizer(const nn::Sequential& body)> make;
  bool halves = false;
};

template <class Kind, class Options>
OptimizerCase with(const char* name, const Options& options, bool halves = false) {
  return {name, [options](const nn::Sequential& body) { return Kind(body.parameters(), options); }, halves};
}

// The last layer has other options.
template <class Kind, class Options>
OptimizerCase with_groups(const char* name, const Options& first, const Options& second) {
  return {name, [first, second](const nn::Sequential& body) {
            Kind optimizer(body[0].module().parameters(), first);
            optimizer.add_param_group(body[2].module().parameters(), second);
            return optimizer;
          }};
}

const std::vector<OptimizerCase> optimizer_cases = {
    with<SGD>("sgd", SGDOptions{.lr = 0.1}),
    with<SGD>("sgd_momentum", SGDOptions{.lr = 0.1, .momentum = 0.9}),
    with<SGD>("sgd_nesterov", SGDOptions{.lr = 0.1, .momentum = 0.9, .nesterov = true}),
    with<SGD>("sgd_dampening", SGDOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.4}),
    with<SGD>("sgd_weight_decay", SGDOptions{.lr = 0.1, .weight_decay = 0.2}),
    with<SGD>("sgd_dampening_weight_decay",
              SGDOptions{.lr = 0.1, .momentum = 0.8, .dampening = 0.4, .weight_decay = 0.2}),
    with<SGD>("sgd_nesterov_weight_decay",
              SGDOptions{.lr = 0.1, .momentum = 0.8, .weight_decay = 0.2, .nesterov = true}),
    with<Adam>("adam", AdamOptions{.lr = 0.01}),
    with<Adam>("adam_options", AdamOptions{.lr = 0.05, .betas = {0.8, 0.9}, .eps = 0.01}),
    with<Adam>("adam_weight_decay", AdamOptions{.lr = 0.01, .weight_decay = 0.2}),
    with<AdamW>("adamw", AdamWOptions{.lr = 0.05}),
    with<AdamW>("adamw_options", AdamWOptions{.lr = 0.05, .betas = {0.8, 0.9}, .eps = 0.01, .weight_decay = 0.2}),
    with<RMSprop>("rmsprop", RMSpropOptions{.lr = 0.01}),
    with<RMSprop>("rmsprop_options", RMSpropOptions{.lr = 0.01, .alpha = 0.8, .eps = 0.01}),
    with<RMSprop>("rmsprop_momentum", RMSpropOptions{.lr = 0.005, .momentum = 0.5}),
    with<RMSprop>("rmsprop_centered", RMSpropOptions{.lr = 0.005, .eps = 1e-4, .centered = true}),
    with<RMSprop>("rmsprop_weight_decay", RMSpropOptions{.lr = 0.01, .weight_decay = 0.2}),
    with<RMSprop>(
        "rmsprop_everything",
        RMSpropOptions{.lr = 0.005, .alpha = 0.9, .eps = 1e-3, .weight_decay = 0.2, .momentum = 0.5, .centered = true}),
    with<SGD>("sgd_momentum_schedule", SGDOptions{.lr = 0.2, .momentum = 0.9}, true),
    with<AdamW>("adamw_schedule", AdamWOptions{.lr = 0.05, .weight_decay = 0.2}, true),
    with<RMSprop>("rmsprop_momentum_schedule", RMSpropOptions{.lr = 0.01, .momentum = 0.5}, true),
    with_groups<SGD>("sgd_groups", SGDOptions{.lr = 0.1, .momentum = 0.9}, SGDOptions{.lr = 0.02, .momentum = 0.5}),
    with_groups<Adam>("adam_groups", AdamOptions{.lr = 0.01}, AdamOptions{.lr = 0.05, .betas = {0.7, 0.8}}),
    with_groups<AdamW>("adamw_groups", AdamWOptions{.lr = 0.01}, AdamWOptions{.lr = 0.05, .weight_decay = 0.3}),
    with_groups<RMSprop>("rmsprop_groups", RMSpropOptions{.lr = 0.01}, RMSpropOptions{.lr = 0.005, .alpha = 0.8}),
};

class OptimizerParity : public testing::TestWithParam<OptimizerCase> {};

TEST_P(OptimizerParity, WeightsAfterTenStepsAreThoseOfPyTorch) {
  Regression model;
  set_first_values(model);
  const Optimizer optimizer = GetParam().make(model.body);
  auto training = poptorch::trainingModel(model, {}, optimizer);
  StepLR scheduler(optimizer, {.step_size = 3, .gamma = GetParam().halves ? 0.5 : 1.0});
  for (int step = 0; step < 10; ++step) {
    training(hashed(0, {8, 5}), hashed(1, {8, 3}));
    scheduler.step();
  }
  for (const auto& [key, parameter] : model.body.named_parameters())
    expect_near(parameter.value(), GetParam().name + ("." + key));
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OptimizerParity, testing::ValuesIn(optimizer_cases),
                         [](const auto& info) { return std::string(info.param.name); });

using MakeScheduler = std::function<LRScheduler(const Optimizer&)>;
const std::map<std::string, MakeScheduler> scheduler_cases = {
    {"step_lr", [](const Optimizer& o) { return StepLR(o, {.step_size = 3, .gamma = 0.5}); }},
    {"step_lr_default", [](const Optimizer& o) { return StepLR(o, {.step_size = 4}); }},
    {"multi_step_lr",
     [](const Optimizer& o) {
       return MultiStepLR(o, {.milestones = {2, 7, 7, 9}, .gamma = 0.5});
     }},
    {"exponential_lr", [](const Optimizer& o) { return ExponentialLR(o, 0.8); }},
    {"linear_lr", [](const Optimizer& o) { return LinearLR(o); }},
    {"linear_lr_options",
     [](const Optimizer& o) { return LinearLR(o, {.start_factor = 1.0, .end_factor = 0.1, .total_iters = 8}); }},
    {"cosine_annealing_lr", [](const Optimizer& o) { return CosineAnnealingLR(o, {.T_max = 12}); }},
    {"cosine_annealing_lr_again",
     [](const Optimizer& o) { return CosineAnnealingLR(o, {.T_max = 5, .eta_min = 0.01}); }},
    {"lambda_lr",
     [](const Optimizer& o) {
       return LambdaLR(o, [](std::int64_t epoch) { return 1.0 / (1.0 + static_cast<double>(epoch)); });
     }},
};

// The schedulers work on the same rates.
void expect_rates(const std::string& name, const std::vector<std::string>& kinds) {
  SGD optimizer({nn::Parameter(zeros({1}))}, {.lr = 0.2});
  optimizer.add_param_group({nn::Parameter(zeros({1}))}, {.lr = 0.05});
  std::vector<LRScheduler> schedulers;
  for (const std::string& kind : kinds) schedulers.push_back(scheduler_cases.at(kind)(optimizer));
  std::vector<float> rates;
  for (std::int64_t epoch = 0; epoch < 12; ++epoch) {
    EXPECT_EQ(schedulers.back().last_epoch(), epoch);
    for (double rate : schedulers.back().get_last_lr()) rates.push_back(static_cast<float>(rate));
    for (LRScheduler& scheduler : schedulers) scheduler.step();
    EXPECT_EQ(schedulers.back().get_last_lr(), (std::vector{optimizer.lr(0), optimizer.lr(1)}));
  }
  expect_near(Array::of(rates, {12, 2}), name + ".rates");
}

TEST(SchedulerParity, RatesAreThoseOfPyTorch) {
  for (const auto& [name, make] : scheduler_cases) expect_rates(name, {name});
}

TEST(SchedulerParity, RatesOfSeveralSchedulersAreThoseOfPyTorch) {
  expect_rates("products", {"linear_lr", "exponential_lr", "multi_step_lr"});
  expect_rates("cosine_after_linear", {"linear_lr", "cosine_annealing_lr_again"});
  expect_rates("lambda_after_step", {"step_lr", "lambda_lr"});
}

TEST(SchedulerParity, GoesOnFromARateThatWasSet) {
  const SGD optimizer({nn::Parameter(zeros({1}))}, {.lr = 0.2});
  StepLR scheduler(optimizer, {.step_size = 2, .gamma = 0.5});
  scheduler.step();
  optimizer.set_lr(1.0);
  scheduler.step();
  EXPECT_EQ(optimizer.lr(), 0.5);
}

TEST(SchedulerParity, ARateThatWasZeroComesBack) {
  const SGD optimizer({nn::Parameter(zeros({1}))}, {.lr = 0.2});
  LinearLR scheduler(optimizer, {.start_factor = 0.0, .total_iters = 2});
  for (double rate : {0.0, 0.1, 0.2, 0.2}) {
    EXPECT_DOUBLE_EQ(optimizer.lr(), rate);
    scheduler.step();
  }
}

std::string lower_case(std::string text) {
  std::erase(text, '_');
  for (char& c : text) c = static_cast<char>(std::tolower(c));
  return text;
}

TEST(SchedulerParity, EverySchedulerIsTested) {
  std::set<std::string> tested;
  for (const auto& [name, make] : scheduler_cases) tested.insert(lower_case(name));
  for (const std::string& kind : declared_in("optim.h", "LRScheduler"))
    EXPECT_TRUE(tested.contains(lower_case(kind))) << kind;
}

// What the documentation of PyTorch says of an optimizer, for one number and its gradients.
struct FormulaCase {
  const char* name;
  std::function<Optimizer(const nn::Parameter& parameter)> make;
  std::function<double(double number, const std::vector<double>& gradients)> reference;
};

double adadelta(double number, const std::vector<double>& gradients) {
  double squares = 0, changes = 0;
  for (double gradient : gradients) {
    gradient += 0.1 * number;
    squares = 0.8 * squares + 0.2 * gradient * gradient;
    const double change = gradient * std::sqrt(changes + 1e-3) / std::sqrt(squares + 1e-3);
    changes = 0.8 * changes + 0.2 * change * change;
    number -= 0.5 * change;
  }
  return number;
}

double adagrad(double number, const std::vector<double>& gradients) {
  double squares = 0.25;
  for (std::size_t step = 0; step < gradients.size(); ++step) {
    const double gradient = gradients[step] + 0.1 * number;
    squares += gradient * gradient;
    number -= 0.5 / (1 + 0.2 * static_cast<double>(step)) * gradient / (std::sqrt(squares) + 1e-3);
  }
  return number;
}

double amsgrad(double number, const std::vector<double>& gradients) {
  double mean = 0, square = 0, most = 0;
  for (std::size_t step = 1; step <= gradients.size(); ++step) {
    const double t = static_cast<double>(step), gradient = 0.1 * number - gradients[step - 1];
    mean = 0.8 * mean + 0.2 * gradient;
    square = 0.7 * square + 0.3 * gradient * gradient;
    most = std::max(most, square);
    number -= 0.5 / (1 - std::pow(0.8, t)) * mean / (std::sqrt(most / (1 - std::pow(0.7, t))) + 1e-3);
  }
  return number;
}

double decoupled_amsgrad(double number, const std::vector<double>& gradients) {
  double mean = 0, square = 0, most = 0;
  for (std::size_t step = 1; step <= gradients.size(); ++step) {
    const double t = static_cast<double>(step), gradient = gradients[step - 1];
    number *= 1 - 0.5 * 0.1;
    mean = 0.8 * mean + 0.2 * gradient;
    square = 0.7 * square + 0.3 * gradient * gradient;
    most = std::max(most, square);
    number -= 0.5 / (1 - std::pow(0.8, t)) * mean / (std::sqrt(most / (1 - std::pow(0.7, t))) + 1e-3);
  }
  return number;
}

double nadam(double number, const std::vector<double>& gradients) {
  double mean = 0, square = 0, product = 1;
  const auto momentum = [](double t) { return 0.8 * (1 - 0.5 * std::pow(0.96, t * 0.2)); };
  for (std::size_t step = 1; step <= gradients.size(); ++step) {
    const double t = static_cast<double>(step), gradient = gradients[step - 1] + 0.1 * number;
    mean = 0.8 * mean + 0.2 * gradient;
    square = 0.7 * square + 0.3 * gradient * gradient;
    product *= momentum(t);
    const double ahead =
        momentum(t + 1) * mean / (1 - product * momentum(t + 1)) + (1 - momentum(t)) * gradient / (1 - product);
    number -= 0.5 * ahead / (std::sqrt(square / (1 - std::pow(0.7, t))) + 1e-3);
  }
  return number;
}

// With this beta the mean is over more than five gradients from the ninth on.
double radam(double number, const std::vector<double>& gradients) {
  double mean = 0, square = 0;
  const double longest = 2 / (1 - 0.9) - 1;
  for (std::size_t step = 1; step <= gradients.size(); ++step) {
    const double t = static_cast<double>(step), gradient = gradients[step - 1];
    number *= 1 - 0.5 * 0.1;
    mean = 0.8 * mean + 0.2 * gradient;
    square = 0.9 * square + 0.1 * gradient * gradient;
    const double corrected = mean / (1 - std::pow(0.8, t));
    const double length = longest - 2 * t * std::pow(0.9, t) / (1 - std::pow(0.9, t));
    const double rectification =
        std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
    const double root = std::sqrt(1 - std::pow(0.9, t)) / (std::sqrt(square) + 1e-3);
    number -= 0.5 * corrected * (length > 5 ? rectification * root : 1);
  }
  return number;
}

const std::vector<FormulaCase> formula_cases = {
    {"adadelta",
     [](const nn::Parameter& parameter) {
       return Adadelta({parameter}, {.lr = 0.5, .rho = 0.8, .eps = 1e-3, .weight_decay = 0.1});
     },
     adadelta},
    {"adagrad",
     [](const nn::Parameter& parameter) {
       return Adagrad(
           {parameter},
           {.lr = 0.5, .lr_decay = 0.2, .weight_decay = 0.1, .initial_accumulator_value = 0.25, .eps = 1e-3});
     },
     adagrad},
    {"adam_amsgrad",
     [](const nn::Parameter& parameter) {
       return Adam(
           {parameter},
           {.lr = 0.5, .betas = {0.8, 0.7}, .eps = 1e-3, .weight_decay = 0.1, .amsgrad = true, .maximize = true});
     },
     amsgrad},
    {"adamw_amsgrad",
     [](const nn::Parameter& parameter) {
       return AdamW({parameter}, {.lr = 0.5, .betas = {0.8, 0.7}, .eps = 1e-3, .weight_decay = 0.1, .amsgrad = true});
     },
     decoupled_amsgrad},
    {"nadam",
     [](const nn::Parameter& parameter) {
       return NAdam({parameter},
                    {.lr = 0.5, .betas = {0.8, 0.7}, .eps = 1e-3, .weight_decay = 0.1, .momentum_decay = 0.2});
     },
     nadam},
    {"radam",
     [](const nn::Parameter& parameter) {
       return RAdam({parameter},
                    {.lr = 0.5, .betas = {0.8, 0.9}, .eps = 1e-3, .weight_decay = 0.1, .decoupled_weight_decay = true});
     },
     radam}};

TEST(OptimizerFormulas, AreThoseOfTheDocumentation) {
  const std::vector<double> gradients = {0.5, -2.0, 0.25, 1.0, -0.5, 0.75, -1.0, 0.5, 1.5, -0.25, 2.0, 0.5};
  for (const FormulaCase& example : formula_cases) {
    const nn::Parameter parameter(Array::of<float>({1.5F}, {1}));
    torch::Computation step(
        {{DType::float32, {1}}}, {.parameters = {{"number", parameter}}},
        [&](const std::vector<Tensor>& in) {
          const Tensor loss = Tensor(parameter) * in[0];
          return torch::ComputationResults{{}, {{parameter, torch::gradients(loss, {parameter})[0]}}};
        },
        example.make(parameter));
    for (const double gradient : gradients) step.run({Array::of<float>({static_cast<float>(gradient)}, {1})});
    EXPECT_NEAR(parameter.value().item<double>(), example.reference(1.5, gradients), 1e-5) << example.name;
  }
}

// Climbing is descending by the negated gradients; what weight decay adds is not negated.
template <class Kind, class Options>
void expect_climbing(Options options) {
  const auto trained = [&](double sign) {
    const nn::Parameter parameter(Array::of<float>({1.5F}, {1}));
    torch::Computation step(
        {{DType::float32, {1}}}, {.parameters = {{"number", parameter}}},
        [&](const std::vector<Tensor>& in) {
          const Tensor loss = Tensor(parameter) * in[0];
          return torch::ComputationResults{{}, {{parameter, torch::gradients(loss, {parameter})[0]}}};
        },
        Kind({parameter}, options));
    for (const double gradient : {0.5, -2.0, 0.25, 1.0})
      step.run({Array::of<float>({static_cast<float>(sign * gradient)}, {1})});
    return parameter.value().item<double>();
  };
  const double descended = trained(-1);
  options.maximize = true;
  EXPECT_DOUBLE_EQ(trained(1), descended);
  EXPECT_NE(trained(-1), descended);
}

TEST(OptimizerFormulas, MaximizeClimbs) {
  expect_climbing<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.2, .weight_decay = 0.1});
  expect_climbing<SGD>(SGDOptions{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.1, .nesterov = true});
  expect_climbing<Adam>(AdamOptions{.lr = 0.1, .weight_decay = 0.1});
  expect_climbing<AdamW>(AdamWOptions{.lr = 0.1, .weight_decay = 0.1});
  expect_climbing<RMSprop>(RMSpropOptions{.lr = 0.1, .weight_decay = 0.1});
  expect_climbing<Adadelta>(AdadeltaOptions{.weight_decay = 0.1});
  expect_climbing<Adagrad>(AdagradOptions{.lr = 0.1, .weight_decay = 0.1});
  expect_climbing<NAdam>(NAdamOptions{.lr = 0.1, .weight_decay = 0.1});
  expect_climbing<RAdam>(RAdamOptions{.lr = 0.1, .weight_decay = 0.1});
}

TEST(OptimizerFormulas, UpdatesOfTensorsAreThoseOfOptimizers) {
  const Update update(
      AdamOptions{.betas = {0.8, 0.7}, .eps = 1e-3, .weight_decay = 0.1, .amsgrad = true, .maximize = true});
  std::vector<std::string> names;
  for (const UpdateState& state : update.states()) names.push_back(state.name);
  EXPECT_EQ(names, (std::vector<std::string>{"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}));
  const TensorProgram program("update", [&](const std::vector<Tensor>& in) {
    return update(in[0], in[1], in[2], in[3], {in.begin() + 4, in.end()});
  });
  const std::vector<double> gradients = {0.5, -2.0, 0.25, 1.0};
  Arrays held = {Array::of<float>({1.5F}, {1}), zeros({1}), zeros({1}), zeros({1})};
  for (std::size_t step = 0; step < gradients.size(); ++step)
    held = program({Array::scalar(0.5), Array::scalar(static_cast<std::int64_t>(step)), held[0],
                    Array::of<float>({static_cast<float>(gradients[step])}, {1}), held[1], held[2], held[3]});
  EXPECT_NEAR(held[0].item<double>(), amsgrad(1.5, gradients), 1e-5);
  EXPECT_EQ(message([&] {
              TensorProgram("update", [&](const std::vector<Tensor>& in) {
                return update(in[0], in[0], in[0], in[0], {});
              }).types({{DType::float32, {}}});
            }),
            "adam: 0 states were given but there are 3");
}

TEST(OptimizerParity, EveryOptimizerIsTested) {
  std::set<std::string> tested;
  for (const FormulaCase& example : formula_cases) tested.insert(example.name);
  for (const OptimizerCase& example : optimizer_cases) tested.insert(lower_case(example.name));
  for (const std::string& kind : declared_in("optim.h", "Optimizer"))
    EXPECT_TRUE(tested.contains(lower_case(kind))) << kind;
}

TEST(Optimizers, SayWhatIsWrong) {
  const nn::Parameter parameter(zeros({2, 3}));
  EXPECT_EQ(message([&] { SGD({parameter}, {.lr = -1}); }), "SGD: lr is -1 but must not be negative");
  EXPECT_EQ(message([&] { SGD({parameter}, {.lr = std::nan("")}); }),
            "SGD: lr is nan but must be a finite number, 0 or more");
  EXPECT_EQ(message([&] { SGD({parameter}).set_lr(INFINITY); }),
            "set_lr: lr is inf but must be a finite number, 0 or more");
  EXPECT_EQ(message([&] { SGD({parameter}, {.nesterov = true}); }), "SGD: nesterov needs a momentum and no dampening");
  EXPECT_EQ(message([&] { Adam({parameter}, {.betas = {0.9, 1.0}}); }), "Adam: a beta is 1 but must be in [0, 1)");
  EXPECT_EQ(message([&] { RMSprop({parameter}, {.alpha = 1}); }), "RMSprop: alpha is 1 but must be in [0, 1)");
  EXPECT_EQ(message([&] { NAdam({parameter}, {.momentum_decay = -1}); }),
            "NAdam: momentum_decay is -1 but must not be negative");
  EXPECT_EQ(message([&] { RAdam({parameter}, {.betas = {1.0, 0.9}}); }), "RAdam: a beta is 1 but must be in [0, 1)");
  EXPECT_EQ(message([&] { RMSprop({}, {}); }), "RMSprop: there are no parameters");
  EXPECT_EQ(message([&] { RMSprop({parameter}, {.momentum = -0.5}); }),
            "RMSprop: momentum is -0.5 but must not be negative");
  EXPECT_EQ(message([&] { AdamW({parameter}, {.weight_decay = -0.5}); }),
            "AdamW: weight_decay is -0.5 but must not be negative");
  EXPECT_EQ(message([&] { Adam({parameter}, {.eps = -0.5}); }), "Adam: eps is -0.5 but must not be negative");
  EXPECT_EQ(message([&] { SGD({parameter}).set_lr(-1); }), "set_lr: lr is -1 but must not be negative");
  EXPECT_EQ(message([&] { SGD({parameter}).add_param_group({parameter}, {}); }),
            "SGD: a parameter of shape [2, 3] is in another group already");
  EXPECT_EQ(message([&] { StepLR(SGD({parameter}), {.step_size = 0}); }),
            "StepLR: step_size is 0 but must be positive");
}

}  // namespace
