// SPDX-License-Identifier: Apache-2.0
// PyTorch modules that PopTorch trains and infers.
#include <algorithm>
#include <tuple>

#include "run.h"

namespace bits {

namespace {

struct NetworkOptions {
  // Of IPUs: 1, 2 or 3.
  int blocks = 1;
  bool normalises = false;
  bool drops = false;
};

struct Network : nn::Module {
  explicit Network(const NetworkOptions& options) : options(options) {
    register_modules({{"conv", conv},
                      {"norm", norm},
                      {"pool", pool},
                      {"flatten", flatten},
                      {"hidden", hidden},
                      {"drop", drop},
                      {"output", output}});
  }
  Tensor forward(Tensor x) {
    x = conv(x);
    if (options.normalises) x = norm(x);
    x = relu(pool(x));
    if (options.blocks > 1) poptorch::BeginBlock(1);
    x = tanh(hidden(flatten(x)));
    if (options.drops) x = drop(x);
    if (options.blocks > 2) poptorch::BeginBlock(2);
    return output(x);
  }

  NetworkOptions options;
  nn::Conv2d conv{1, 4, {.kernel_size = 3}};
  nn::BatchNorm2d norm{4};
  nn::MaxPool2d pool{{.kernel_size = 2}};
  nn::Flatten flatten;
  nn::Linear hidden{36, 8};
  nn::Dropout drop{0.3};
  nn::Linear output{8, classes};
  nn::ReLU relu;
  nn::Tanh tanh;
};

struct WithLoss : nn::Module {
  explicit WithLoss(Network& network) : network(network) { register_modules({{"network", network}, {"loss", loss}}); }
  std::tuple<Tensor, Tensor> forward(Tensor x, Tensor y) {
    const Tensor logits = network.forward(x);
    return {logits, loss(logits, y)};
  }
  Network& network;
  nn::CrossEntropyLoss loss;
};

using MakeOptimizer = std::function<torch::optim::Optimizer(const nn::Module& module)>;

torch::optim::Optimizer torch_sgd(const nn::Module& module) {
  return torch::optim::SGD(module.parameters(), {.lr = 0.1, .momentum = 0.9});
}

struct TorchRun {
  NetworkOptions network = {};
  int replicas = 1;
  std::int64_t accumulation = 1;
  std::int64_t iterations = 1;
  std::int64_t micro_batch = 8;
  std::int64_t samples = 128;
  OutputMode mode = OutputMode::Default;
  std::int64_t period = 1;
  PipelineOrder order = PipelineOrder::grouped;
  bool sharded = false;
  poptorch::ReductionType reduction = poptorch::ReductionType::Mean;
  MakeOptimizer optimizer = torch_sgd;
};

poptorch::Options torch_options(const TorchRun& run) {
  poptorch::Options options;
  options.deviceIterations(run.iterations).replicationFactor(run.replicas).outputMode(run.mode, run.period);
  if (run.sharded) options.setExecutionStrategy(poptorch::ShardedExecution{});
  else options.setExecutionStrategy(poptorch::PipelinedExecution{run.order});
  options.Training.gradientAccumulation(run.accumulation).accumulationAndReplicationReductionType(run.reduction);
  return options;
}

Data torch_images(std::int64_t count) {
  const Data data = samples(count, {1, 8, 8});
  return {data.x, data.y.astype(DType::int64)};
}

// Two epochs; the last call of each has fewer samples if they do not divide.
Hash train_torch(const TorchRun& run) {
  Network network(run.network);
  WithLoss model(network);
  auto training = poptorch::trainingModel(model, torch_options(run), run.optimizer(network));
  const Data data = torch_images(run.samples);
  const std::int64_t call = run.micro_batch * run.accumulation * run.replicas * run.iterations;
  Hash hash;
  for (int epoch = 0; epoch < 2; ++epoch)
    for (std::int64_t first = 0; first < run.samples; first += call) {
      const Data batch = data.part(first, std::min(first + call, run.samples));
      const auto [logits, loss] = training(batch.x, batch.y);
      hash.add(logits).add(loss);
    }
  hash.add(network.state_dict());
  poptorch::Options options;
  options.deviceIterations(4);
  auto inference = poptorch::inferenceModel(network, options);
  // The second call has fewer samples.
  hash.add(inference(data.x.slice(0, 96)));
  return hash.add(inference(data.x.slice(96, 119)));
}

Run torch_run(const std::string& name, const TorchRun& run) {
  return {name, [run] { return train_torch(run); }};
}

// A rate that a scheduler changes, then another optimizer.
Hash train_torch_with_several_optimizers() {
  Network network({});
  WithLoss model(network);
  const torch::optim::SGD sgd(network.parameters(), {.lr = 0.2, .momentum = 0.9});
  torch::optim::lr_scheduler::StepLR scheduler(sgd, {.step_size = 2, .gamma = 0.5});
  auto training = poptorch::trainingModel(model, {}, sgd);
  const Data data = torch_images(16);
  Hash hash;
  for (int i = 0; i < 6; ++i) {
    hash.add(std::get<1>(training(data.x, data.y)));
    scheduler.step();
  }
  training.setOptimizer(torch::optim::Adam(network.parameters(), {.lr = 0.01}));
  for (int i = 0; i < 3; ++i) hash.add(std::get<1>(training(data.x, data.y)));
  return hash.add(network.state_dict());
}

Hash infer_torch(const TorchRun& run) {
  Network network(run.network);
  auto inference = poptorch::inferenceModel(network, torch_options(run));
  const Data data = torch_images(run.samples);
  return Hash().add(inference(data.x)).add(inference(data.x.slice(5, run.samples - 6)));
}

Runs torch_runs() {
  namespace optim = torch::optim;
  const auto with = [](const std::string& name, const MakeOptimizer& optimizer) {
    return torch_run(name, {.optimizer = optimizer});
  };
  return {
      torch_run("torch_sgd", {}),
      with("torch_nesterov_decay",
           [](const nn::Module& module) {
             return optim::SGD(module.parameters(),
                               {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true});
           }),
      with("torch_adam", [](const nn::Module& module) { return optim::Adam(module.parameters(), {.lr = 0.01}); }),
      with("torch_adamw", [](const nn::Module& module) { return optim::AdamW(module.parameters(), {.lr = 0.01}); }),
      with("torch_rmsprop",
           [](const nn::Module& module) {
             return optim::RMSprop(module.parameters(), {.momentum = 0.5, .centered = true});
           }),
      {"torch_several_optimizers", train_torch_with_several_optimizers},
      torch_run("torch_partial", {.samples = 125}),
      torch_run("torch_batch_norm", {.network = {.normalises = true}}),
      torch_run("torch_batch_norm_partial", {.network = {.normalises = true}, .iterations = 3, .samples = 125}),
      torch_run("torch_device_iterations", {.iterations = 4, .mode = OutputMode::Final}),
      torch_run("torch_output_all", {.iterations = 4, .samples = 123, .mode = OutputMode::All}),
      torch_run("torch_output_sum", {.iterations = 4, .mode = OutputMode::Sum}),
      torch_run("torch_output_every_2", {.iterations = 4, .mode = OutputMode::EveryN, .period = 2}),
      torch_run("torch_one_torch_dropout", {.network = {.drops = true}, .iterations = 2}),
      {"torch_inference_all", [] { return infer_torch({.iterations = 16}); }},
      {"torch_inference_sum", [] { return infer_torch({.iterations = 16, .mode = OutputMode::Sum}); }},
      {"torch_inference_replicas_of_blocks",
       [] { return infer_torch({.network = {.blocks = 3}, .replicas = 2, .iterations = 8}); }},
  };
}

Runs divided_torch_runs() {
  constexpr auto sum = poptorch::ReductionType::Sum;
  return {
      torch_run("torch_replicas_2", {.replicas = 2, .iterations = 2}),
      torch_run("torch_replicas_3_partial", {.replicas = 3, .iterations = 2, .mode = OutputMode::All}),
      torch_run("torch_replicas_batch_norm", {.network = {.normalises = true}, .replicas = 2, .iterations = 2}),
      torch_run("torch_replicas_sum", {.replicas = 2, .reduction = sum}),
      torch_run("torch_replicas_torch_dropout", {.network = {.drops = true}, .replicas = 2, .iterations = 2}),
      torch_run("torch_accumulation", {.accumulation = 4, .iterations = 2, .micro_batch = 4}),
      torch_run("torch_accumulation_sum", {.accumulation = 4, .micro_batch = 4, .reduction = sum}),
      torch_run("torch_accumulation_partial",
                {.accumulation = 4, .micro_batch = 4, .samples = 119, .mode = OutputMode::All}),
      torch_run("torch_accumulation_replicas",
                {.replicas = 2, .accumulation = 2, .iterations = 2, .micro_batch = 4, .mode = OutputMode::Sum}),
      torch_run("torch_blocks_2", {.network = {.blocks = 2}, .accumulation = 4, .micro_batch = 4}),
      torch_run("torch_blocks_3_interleaved",
                {.network = {.blocks = 3}, .accumulation = 8, .micro_batch = 4, .order = PipelineOrder::interleaved}),
      torch_run("torch_blocks_3_sequential",
                {.network = {.blocks = 3}, .accumulation = 4, .micro_batch = 4, .order = PipelineOrder::sequential}),
      torch_run("torch_blocks_sharded",
                {.network = {.blocks = 2}, .accumulation = 2, .micro_batch = 4, .sharded = true}),
      torch_run("torch_blocks_partial",
                {.network = {.blocks = 2, .normalises = true}, .accumulation = 4, .micro_batch = 4, .samples = 119}),
      torch_run("torch_blocks_replicas",
                {.network = {.blocks = 2, .normalises = true}, .replicas = 2, .accumulation = 2, .micro_batch = 4}),
      torch_run("torch_blocks_torch_dropout",
                {.network = {.blocks = 3, .drops = true}, .accumulation = 4, .iterations = 2, .micro_batch = 4}),
  };
}

}  // namespace

Runs poptorch_runs() { return joined({torch_runs(), divided_torch_runs()}); }

}  // namespace bits
