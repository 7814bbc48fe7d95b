// SPDX-License-Identifier: Apache-2.0
// The examples of the page "PyTorch and PopTorch": modules, losses, optimizers and models on virtual IPUs.
#include <gtest/gtest.h>
#include <pando/pando.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

namespace {

using namespace pando;
namespace nn = pando::torch::nn;
namespace optim = pando::torch::optim;

//! [module]
struct Network : nn::Module {
  Network() {
    register_modules({{"features", features}, {"dropout", dropout}, {"linear", linear}});
    scale = register_parameter("scale", ones({1}));
  }
  Tensor forward(Tensor x) { return linear(dropout(features(x).flatten(1))) * scale; }

  nn::Sequential features{nn::Conv2d(1, 4, {.kernel_size = 3, .stride = 2, .padding = "valid"}), nn::ReLU(),
                          nn::MaxPool2d({.kernel_size = 2})};
  nn::Dropout dropout{0.1};
  nn::Linear linear{4 * 6 * 6, 10};
  nn::Parameter scale{ones({1})};
};

struct WithLoss : nn::Module {
  explicit WithLoss(Network& network) : network(network) { register_modules({{"network", network}, {"loss", loss}}); }
  std::tuple<Tensor, Tensor> forward(Tensor images, Tensor labels) {
    Tensor scores = network.forward(images);
    return {scores, loss(scores, labels)};
  }
  Network& network;
  nn::CrossEntropyLoss loss{{.label_smoothing = 0.1}};
};
//! [module]

class PyTorch : public testing::Test {
 protected:
  Array images = full({64, 1, 28, 28}, 0.5);
  Array labels = zeros({64}, DType::int32);
  Network network;
};

TEST_F(PyTorch, Training) {
  WithLoss model(network);
  //! [training]
  auto options = poptorch::Options().deviceIterations(4).outputMode(poptorch::OutputMode::All).randomSeed(1);
  options.Training.gradientAccumulation(2).accumulationAndReplicationReductionType(poptorch::ReductionType::Mean);
  poptorch::TrainingOptions& training_options = options.Training;
  optim::Optimizer optimizer = optim::SGD(network.parameters(), {.lr = 0.03, .momentum = 0.9});
  auto training = poptorch::trainingModel(model, options, optimizer);
  auto [scores, losses] = training(images, labels);  // 4 updates of 2 micro-batches of 8 samples
  //! [training]
  EXPECT_EQ(scores.shape()[0], 64);
  (void)training_options;

  //! [inference]
  auto inference = poptorch::inferenceModel(network);
  Array outputs = inference(images);
  //! [inference]
  EXPECT_EQ(outputs.shape(), (Shape{64, 10}));
  poptorch::PerfCounters times = inference.getPerfCounters();
  EXPECT_EQ(times.calls, 1);

  torch::utils::data::TensorDataset dataset(images, labels);
  poptorch::DataLoader loader(options, dataset, {.batch_size = 8, .shuffle = true});
  for (auto [x, y] : loader) training(x, y);

  poptorch::PoplarModel<WithLoss>& the_same = training;
  EXPECT_TRUE(the_same.isCompiled());
  poptorch::PoplarExecutor& executor = training;
  const std::string path = testing::TempDir() + "pando_docs_" + std::to_string(getpid()) + ".npz";
  executor.save(path);
  executor.load(path);
  std::filesystem::remove(path);
  EXPECT_NE(executor.explain().find("Micro-batch"), std::string::npos);
}

//! [blocks]
struct TwoStages : nn::Module {
  TwoStages() { register_modules({{"first", first}, {"second", second}, {"loss", loss}}); }
  Tensor forward(Tensor x, Tensor y) {
    poptorch::BeginBlock(0);
    x = first(x);
    poptorch::Block block(1);
    return poptorch::identity_loss(loss(second(x), y), "none");
  }
  nn::Linear first{4, 8}, second{8, 1};
  nn::MSELoss loss;
};
//! [blocks]

TEST_F(PyTorch, Blocks) {
  TwoStages model;
  poptorch::PipelinedExecution pipelined{.schedule = PipelineOrder::interleaved};
  poptorch::ShardedExecution sharded;
  auto options = poptorch::Options().setExecutionStrategy(sharded).setExecutionStrategy(pipelined);
  options.Training.gradientAccumulation(4);
  poptorch::PrecisionOptions& precision = options.Precision;
  precision.enableFloatingPointExceptions(true);
  poptorch::DistributedOptions& distributed = options.Distributed;
  distributed.configureProcessId(0, 1);  // of the processes that mpirun started: this one alone
  auto training = poptorch::trainingModel(model, options, optim::Adam(model.parameters(), {.lr = 0.01}));
  training(ones({16, 4}), ones({16, 1}));
}

TEST_F(PyTorch, Computations) {
  //! [computation]
  nn::Linear linear(2, 1);
  nn::MSELoss mse;
  nn::ModuleParts parts{.modules = {{"linear", linear}}};
  torch::ComputationFunction function = [&](const std::vector<Tensor>& inputs) {
    Tensor loss = mse(linear(inputs[0]), inputs[1]);
    std::vector<Tensor> slopes = torch::gradients(loss, linear.parameters());
    return torch::ComputationResults{{loss}, {{linear.parameters()[0], slopes[0]}}};
  };
  torch::Computation step({{DType::float32, {8, 2}}, {DType::float32, {8, 1}}}, parts, function,
                          optim::SGD(linear.parameters(), {.lr = 0.1}), std::make_shared<torch::OptimizerStates>());
  Array loss = step.run({ones({8, 2}), ones({8, 1})})[0];
  //! [computation]
  EXPECT_EQ(loss.shape(), Shape());
  nn::Module whole = nn::assembled("Whole", parts);
  EXPECT_EQ(whole.named_parameters()[0].first, "linear.weight");
  torch::ComputationFunction forward = [&](const std::vector<Tensor>& inputs) {
    torch::keep_statistics(false);
    return torch::ComputationResults{{linear(inputs[0])}};
  };
  EXPECT_EQ(torch::Computation::output_types({{DType::float32, {8, 2}}}, parts, forward)[0].shape, (Shape{8, 1}));
}

TEST_F(PyTorch, Modules) {
  struct Modules : nn::Module {
    Modules() {
      register_module("list", list);
      register_module("tail", tail);
    }
    Tensor forward(Tensor x) {
      for (const nn::AnyModule& module : list) x = module(x);
      return tail(x);
    }
    nn::ModuleList list{
        nn::ConvTranspose2d(1, 2, {.kernel_size = 2, .stride = 2}),
        nn::BatchNorm2d(2, {.momentum = 0.2}),
        nn::LeakyReLU(0.1),
        nn::AvgPool2d({.kernel_size = {2, 2}, .count_include_pad = false}),
        nn::GELU("tanh"),
        nn::SiLU(),
        nn::Sigmoid(),
        nn::Tanh(),
        nn::AdaptiveAvgPool2d({4, 4}),
        nn::Identity(),
        nn::Flatten(1, -1),
        nn::LayerNorm({32}, {.eps = 1e-6}),
        nn::LogSoftmax(1),
    };
    nn::Sequential tail{nn::Softmax(-1), nn::Linear(32, 1, {.bias = false})};
  } model;
  auto inference = poptorch::inferenceModel(model);
  EXPECT_EQ(inference(images.slice(0, 2)).shape(), (Shape{2, 1}));
  nn::ModuleList twice(nn::Linear(8, 8), nn::Linear(8, 8));
  EXPECT_EQ(twice.size(), 2u);
  const bool smooth = true;
  nn::Layer activation = smooth ? nn::Layer(nn::GELU()) : nn::Layer(nn::ReLU());  // any module of Pando's
  EXPECT_TRUE(activation.parameters().empty());

  nn::Embedding words(1000, 16);
  nn::ConvPadding same = "same";
  nn::Size2 three_by_five = {3, 5};
  nn::Conv2d wide(1, 1, {.kernel_size = three_by_five, .padding = same});
  std::ostringstream printed;
  printed << wide;
  EXPECT_EQ(nn::to_string(wide), printed.str());

  //! [state_dict]
  nn::StateDict values = network.state_dict();
  nn::LoadStateDictOptions some_may_be_missing{.strict = false};
  network.load_state_dict(values, some_may_be_missing);
  for (auto& [name, parameter] : network.named_parameters()) std::printf("%s\n", name.c_str());
  //! [state_dict]
  EXPECT_EQ(values.count("linear.weight"), 1u);
}

TEST_F(PyTorch, Losses) {
  nn::NLLLoss negative({.ignore_index = -1});
  nn::MSELoss squared({.reduction = "sum"});
  nn::L1Loss absolute;
  nn::SmoothL1Loss smooth({.beta = 0.5});
  nn::BCEWithLogitsLoss yes_or_no({.pos_weight = full({1}, 3.0)});
  std::vector<nn::Loss> all = {negative, squared, absolute, smooth, yes_or_no};
  EXPECT_EQ(all.size(), 5u);
}

TEST_F(PyTorch, OptimizersAndSchedulers) {
  const std::vector<nn::Parameter> parameters = network.parameters();
  optim::SGD sgd(parameters, {.lr = 0.1, .momentum = 0.9, .weight_decay = 1e-4});
  optim::Adam adam(parameters, {.betas = {0.9, 0.99}});
  optim::AdamW adamw(parameters, {.lr = 3e-4, .weight_decay = 0.05});
  optim::RMSprop rmsprop(parameters, {.alpha = 0.9});
  optim::Adadelta adadelta(parameters, {.rho = 0.95});
  optim::Adagrad adagrad(parameters, {.lr_decay = 0.01});
  optim::NAdam nadam(parameters, {.momentum_decay = 0.01});
  optim::RAdam radam(parameters, {.weight_decay = 0.01, .decoupled_weight_decay = true});

  optim::lr_scheduler::StepLR step(sgd, {.step_size = 10, .gamma = 0.5});
  optim::lr_scheduler::MultiStepLR milestones(adam, {.milestones = {30, 80}});
  optim::lr_scheduler::ExponentialLR exponential(adamw, 0.95);
  optim::lr_scheduler::LinearLR warm_up(rmsprop, {.start_factor = 0.1, .total_iters = 3});
  optim::lr_scheduler::CosineAnnealingLR cosine(rmsprop, {.T_max = 20});
  optim::lr_scheduler::LambdaLR halves(sgd, [](std::int64_t epoch) { return epoch < 10 ? 1.0 : 0.5; });
  optim::lr_scheduler::LRScheduler& each_epoch = step;
  for (int epoch = 0; epoch < 10; ++epoch) each_epoch.step();
  EXPECT_DOUBLE_EQ(sgd.lr(), 0.05);
}

TEST_F(PyTorch, Updates) {
  //! [update]
  optim::Update adam(optim::AdamOptions{.amsgrad = true});
  TensorProgram program("update", [&](const std::vector<Tensor>& in) {
    return adam(in[0], in[1], in[2], in[3], {in[4], in[5], in[6]});
  });
  Array rate = Array::scalar(0.1F), step = Array::scalar(std::int64_t{0});
  Array weight = ones({3}), gradient = full({3}, 0.5);
  Arrays updated = program({rate, step, weight, gradient, zeros({3}), zeros({3}), zeros({3})});
  //! [update]
  EXPECT_EQ(updated.size(), 4u);
  const optim::UpdateState& last = adam.states().back();
  EXPECT_EQ(last.name, "max_exp_avg_sq");
}

}  // namespace
