// SPDX-License-Identifier: Apache-2.0
// Trains a small model of a style, alone or as one of several workers, and writes what came out of it to a file for
// each worker: run_workers.py compares them.
//
// Usage: train_together STYLE REPLICAS OUT [CHECKPOINTS [PAUSE [SAMPLES]]]: `keras`, `pipeline`, `poptorch` or
// `session`, with that many replicas altogether. With CHECKPOINTS, a folder or "", keras writes checkpoints and
// resumes; PAUSE is in milliseconds after each execution, and the first worker then adds its process and the execution
// to OUT.progress. `loop` and `uneven` are for errors. With "worker:" before the style, a process that was started as
// the only one is a worker, too.
#include <pando/pando.h>

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>

using namespace pando;
namespace nn = pando::torch::nn;
namespace tf = pando::tf1;

namespace {

// An odd number of samples: the last batch is not full, and some replicas have no samples in the last row.
std::int64_t samples = 211;
constexpr std::int64_t micro_batch = 5, classes = 3;

// Few passes over many samples.
int epochs(int usual) { return samples > 1000 ? 1 : usual; }

Array waves(const Shape& shape) {
  Array array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i)
    array.mutable_data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i + 1) * 1.3));
  return array;
}

template <class T>
Array labels(DType dtype) {
  Array y(dtype, {samples});
  for (std::int64_t i = 0; i < samples; ++i) y.mutable_data<T>()[i] = static_cast<T>(i * 5 % classes);
  return y;
}

int workers() { return started_workers(); }
bool is_worker = false;

// The virtual IPUs of this process, and the strategy that shares them if there are several workers.
std::unique_ptr<ipu::IPUStrategy> make_strategy(int ipus) {
  ipu::IPUConfig config;
  config.auto_select_ipus = ipus / workers();
  config.tiles_per_ipu = 1;
  config.configure_ipu_system();
  if (!is_worker) return std::make_unique<ipu::IPUStrategy>();
  return std::make_unique<ipu::IPUMultiWorkerStrategy>();
}

// Every bit of the values shows.
class Report {
 public:
  explicit Report(const std::string& path) : file_(path) { file_ << std::hexfloat; }
  void add(const std::string& name, const Array& array) {
    const Array values = array.astype(DType::float32);
    file_ << name;
    for (std::int64_t i = 0; i < values.elements(); ++i) file_ << ' ' << values.data<float>()[i];
    file_ << '\n';
  }
  void add(const keras::Logs& logs) {
    for (const auto& [name, value] : logs.entries()) file_ << name << ' ' << value << '\n';
  }

 private:
  std::ofstream file_;
};

struct Pause : keras::Callback {
  Pause(int milliseconds, const std::string& progress) : milliseconds(milliseconds), progress(progress) {}
  bool sees_batches() const override { return true; }
  void on_train_batch_end(keras::Model&, std::int64_t batch, const keras::Logs&) override {
    if (is_first_worker()) std::ofstream(progress, std::ios::app) << getpid() << ' ' << batch << std::endl;
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }
  int milliseconds;
  std::string progress;
};

struct Disturbance {
  std::string checkpoints = {}, progress = {};
  int pause = 0;
};

void train_keras(int replicas, int stages, const Disturbance& disturbance, Report& report) {
  const auto strategy = make_strategy(replicas * stages);
  const auto scope = strategy->scope();
  keras::Sequential model;
  model.add(keras::Input({6, 6, 1}));
  model.add(keras::layers::Conv2D(4, 3, {.activation = "relu"}));
  model.add(keras::layers::BatchNormalization());
  model.add(keras::layers::Flatten());
  model.add(keras::layers::Dropout(0.25));
  model.add(keras::layers::Dense(classes, {.activation = "softmax"}));
  model.compile({.optimizer = keras::optimizers::SGD({.learning_rate = 0.05, .momentum = 0.9}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"},
                 .steps_per_execution = 6});
  if (stages > 1) {
    model.set_pipeline_stage_assignment({0, 0, 0, 1, 1});
    model.set_pipelining_options({.gradient_accumulation_steps_per_replica = 4});
  }
  const Array x = waves({samples, 6, 6, 1}), y = labels<std::int32_t>(DType::int32);
  keras::FitOptions options{.batch_size = micro_batch, .epochs = epochs(4), .verbose = disturbance.pause > 0 ? 0 : 2};
  options.validation_data = {x.slice(0, 37), y.slice(0, 37)};
  if (!disturbance.checkpoints.empty())
    options.checkpoint = {.directory = disturbance.checkpoints, .every_executions = 1, .resume = true};
  if (disturbance.pause > 0)
    options.callbacks.push_back(std::make_shared<Pause>(disturbance.pause, disturbance.progress));
  const keras::History history = model.fit(x, y, options);
  for (const Parameter& weight : model.weights()) report.add(weight.name(), weight.value());
  for (const auto& [name, values] : history)
    for (double value : values) report.add(name, Array::scalar(static_cast<float>(value)));
  report.add(model.evaluate(x, y, {.batch_size = micro_batch, .verbose = 0}));
  report.add("prediction", model.predict({x}, {.batch_size = micro_batch, .verbose = 0}));
}

struct Network : nn::Module {
  Network() {
    register_modules({{"conv", conv}, {"hidden", hidden}, {"drop", drop}, {"output", output}, {"loss", loss}});
  }
  std::tuple<Tensor, Tensor> forward(Tensor x, Tensor y) {
    x = output(drop(relu(hidden(flatten(relu(conv(x)))))));
    return {x, loss(x, y)};
  }

  nn::Conv2d conv{1, 3, {.kernel_size = 3}};
  nn::ReLU relu;
  nn::Flatten flatten;
  nn::Linear hidden{48, 8};
  nn::Dropout drop{0.3};
  nn::Linear output{8, classes};
  nn::CrossEntropyLoss loss;
};

void train_poptorch(int replicas, Report& report) {
  poptorch::Options options;
  if (workers() > 1) options.Distributed.configureProcessId(mpi_workers()->rank(), mpi_workers()->count());
  options.deviceIterations(2).replicationFactor(replicas / workers()).randomSeed(3);
  options.Training.gradientAccumulation(2);
  Network network;
  auto training =
      poptorch::trainingModel(network, options, torch::optim::SGD(network.parameters(), {.lr = 0.1, .momentum = 0.9}));
  const Array x = waves({samples, 1, 6, 6}), y = labels<std::int64_t>(DType::int64);
  const std::int64_t call = micro_batch * 4 * replicas;
  for (int epoch = 0; epoch < epochs(3); ++epoch)
    for (std::int64_t first = 0; first < samples; first += call) {
      const std::int64_t end = std::min(samples, first + call);
      const auto [output, loss] = training(x.slice(first, end), y.slice(first, end));
      report.add("output", output);
      report.add("loss", loss);
    }
  for (const auto& [name, value] : network.state_dict()) report.add(name, value);
}

void train_session(int replicas, Report& report) {
  const auto strategy = make_strategy(2 * replicas);
  const auto scope = strategy->scope();
  const Array x = waves({samples, 6, 6, 1});
  const data::Dataset dataset = data::Dataset::from_tensor_slices({x, labels<std::int32_t>(DType::int32)})
                                    .shuffle(50, {.seed = 4})
                                    .batch(micro_batch, {.drop_remainder = true})
                                    .repeat();
  const keras::Layer conv = keras::layers::Conv2D(4, 3, {.activation = "relu"}), drop = keras::layers::Dropout(0.25);
  tf::Variable a(waves({64, 6}), {.name = "a"}), b(waves({6, classes}), {.name = "b"});
  ipu::IPUInfeedQueue infeed(dataset);
  ipu::IPUOutfeedQueue outfeed;
  constexpr int accumulated = 4, runs = 3;
  const std::int64_t updates = std::max<std::int64_t>(5, samples / (micro_batch * accumulated * replicas * runs));
  const tf::train::MomentumOptimizer optimizer({.learning_rate = 0.05, .momentum = 0.9});
  const auto run = ipu::ipu_compiler::compile([&] {
    return ipu::pipelining_ops::pipeline(
        {[&](Tensor inputs, Tensor targets) -> tf::Outputs {
           const Tensor features = drop(tf::reshape(conv(inputs), {micro_batch, 64}));
           return {tf::nn::relu(tf::matmul(features, a)), targets};
         },
         [&](Tensor inputs, Tensor targets) -> tf::Outputs {
           return {tf::losses::sparse_softmax_cross_entropy(targets, tf::matmul(inputs, b))};
         }},
        {.gradient_accumulation_count = accumulated,
         .repeat_count = updates,
         .infeed_queue = infeed,
         .outfeed_queue = outfeed,
         .optimizer_function = [&](const tf::Outputs& outputs) -> ipu::pipelining_ops::OptimizerFunctionOutput {
           return {optimizer, outputs.tensor(0)};
         }});
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  for (int i = 0; i < runs; ++i) session.run(run);
  for (const Array& losses : session.run(outfeed.dequeue())) report.add("losses", losses);
  for (const Parameter& weight : conv.weights()) report.add(weight.name(), weight.value());
  report.add("a", a.parameter().value());
  report.add("b", b.parameter().value());
}

// What is refused with a message.
void fail(const std::string& style) {
  const auto strategy = make_strategy(workers());
  const auto scope = strategy->scope();
  if (style == "loop") {
    ipu::ipu_compiler::compile(
        [&] { return ipu::loops::repeat(3, [](Tensor t) { return t + 1.0; }, {tf::constant(1.0F)}); });
    return;
  }
  if (style == "uneven" && !is_first_worker()) set_random_seed(5);
  keras::Sequential model({keras::Input({6}), keras::layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(waves({8, 6}), waves({8, 1}), {.batch_size = 2, .verbose = 0});
}

}  // namespace

int main(int count, char** arguments) {
  const std::string named = count > 1 ? arguments[1] : "", prefix = "worker:";
  is_worker = named.starts_with(prefix) || workers() > 1;
  const std::string style = named.starts_with(prefix) ? named.substr(prefix.size()) : named;
  const int replicas = count > 2 ? std::atoi(arguments[2]) : 0;
  if (count < 4 || replicas < 1) {
    std::cerr << "usage: train_together STYLE REPLICAS OUT [CHECKPOINTS [PAUSE [SAMPLES]]]\n";
    return 2;
  }
  try {
    set_random_seed(1);
    const int rank = is_worker ? mpi_workers()->rank() : 0;
    Report report(std::string(arguments[3]) + "." + std::to_string(rank));
    const Disturbance disturbance{.checkpoints = count > 4 ? arguments[4] : "",
                                  .progress = std::string(arguments[3]) + ".progress",
                                  .pause = count > 5 ? std::atoi(arguments[5]) : 0};
    if (count > 6) samples = std::atoi(arguments[6]);
    if (style == "keras" || style == "pipeline")
      train_keras(replicas, style == "pipeline" ? 2 : 1, disturbance, report);
    else if (style == "poptorch") train_poptorch(replicas, report);
    else if (style == "session") train_session(replicas, report);
    else fail(style);
  } catch (const WorkerFailure& failure) {
    // A worker that lives has told about it.
    if (failure.is_silent()) std::cerr << "train_together: " << failure.what() << '\n';
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "train_together: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
