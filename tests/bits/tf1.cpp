// SPDX-License-Identifier: Apache-2.0
// Computations of TensorFlow 1: steps, loops and pipelines.
#include "run.h"

namespace bits {

namespace {

// A perceptron of three layers, with or without layers of Keras between them.
struct Perceptron {
  explicit Perceptron(bool has_layers = true) : has_layers(has_layers) {}
  Tensor first(const Tensor& x) {
    const Tensor y = tf::nn::tanh(tf::matmul(x, a));
    return has_layers ? dropout(normalise(y, {.training = true}), {.training = true}) : y;
  }
  Tensor second(const Tensor& x) { return tf::nn::relu(tf::matmul(x, b)); }
  Tensor third(const Tensor& x) { return tf::matmul(x, c); }
  Tensor logits(const Tensor& x) { return third(second(first(x))); }
  Arrays values() const {
    Arrays list = {a.parameter().value(), b.parameter().value(), c.parameter().value()};
    if (has_layers)
      for (const Array& value : normalise.get_weights()) list.push_back(value);
    return list;
  }
  std::vector<tf::TracedFunction> stages(int count);

  bool has_layers;
  tf::Variable a{noise_array({10, 8}, 10, 0.5F), {.name = "a"}}, b{noise_array({8, 6}, 200, 0.5F), {.name = "b"}},
      c{noise_array({6, classes}, 300, 0.5F), {.name = "c"}};
  keras::Layer dropout = layers::Dropout(0.2), normalise = layers::BatchNormalization({.momentum = 0.7});
};

tf::Outputs loss_and_logits(const Tensor& y, const Tensor& logits) {
  return {tf::losses::sparse_softmax_cross_entropy(y, logits), logits};
}

// The layers in that many stages; the last returns the loss and the logits.
std::vector<tf::TracedFunction> Perceptron::stages(int count) {
  const auto last = [this](Tensor x, Tensor y) { return loss_and_logits(y, third(x)); };
  if (count == 1) return {[this](Tensor x, Tensor y) { return loss_and_logits(y, logits(x)); }};
  if (count == 2) return {[this](Tensor x, Tensor y) -> tf::Outputs { return {second(first(x)), y}; }, last};
  return {[this](Tensor x, Tensor y) -> tf::Outputs {
            return {first(x), y};
          },
          [this](Tensor x, Tensor y) -> tf::Outputs {
            return {second(x), y};
          },
          last};
}

tf::Compiled compiled(const tf::TracedFunction& function, const std::vector<Tensor>& inputs = {}) {
  const ipu::scopes::ipu_scope scope("/device:IPU:0");
  return ipu::ipu_compiler::compile(function, inputs);
}

Dataset batches(std::int64_t size) {
  const Data data = vectors(96);
  return Dataset::from_tensor_slices({data.x, data.y}).repeat().batch(size, {.drop_remainder = true});
}

// A step for each run of the session.
Hash train_steps(const tf::train::Optimizer& optimizer) {
  configure(1, 1);
  Perceptron model;
  const auto [x, y] = tf::make_one_shot_iterator(batches(16)).get_next<2>();
  const auto step = compiled(
      [&](Tensor batch_x, Tensor batch_y) -> tf::Outputs {
        const tf::Outputs outputs = loss_and_logits(batch_y, model.logits(batch_x));
        return {outputs.tensor(0), outputs.tensor(1), optimizer.minimize(outputs.tensor(0))};
      },
      {x, y});
  tf::Session session;
  session.run(tf::global_variables_initializer());
  Hash hash;
  for (int i = 0; i < 12; ++i) hash.add(session.run(step));
  return hash.add(model.values());
}

// Steps in loops on the device.
Hash train_loops(const tf::train::Optimizer& optimizer, const ipu::OutfeedOptions& mode = {}) {
  configure(1, 1);
  Perceptron model;
  const ipu::IPUInfeedQueue infeed(batches(16));
  const ipu::IPUOutfeedQueue outfeed(mode);
  const auto loop = compiled([&] {
    return ipu::loops::repeat(
        6,
        [&](Tensor total, Tensor x, Tensor y) -> tf::Outputs {
          const tf::Outputs outputs = loss_and_logits(y, model.logits(x));
          return {total + outputs.tensor(0), optimizer.minimize(outputs.tensor(0)), outfeed.enqueue(outputs.tensors())};
        },
        {tf::constant(0.0F)}, infeed);
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  Hash hash;
  for (int i = 0; i < 2; ++i) {
    hash.add(session.run(loop));
    hash.add(session.run(outfeed.dequeue()));
  }
  return hash.add(model.values());
}

// The data are variables, and the gradients are clipped by hand.
Hash train_loop_without_infeed() {
  configure(1, 1);
  Perceptron model;
  const Data data = vectors(32);
  const tf::Variable x(data.x, {.name = "x", .trainable = false});
  const tf::train::AdamOptimizer adam({.learning_rate = 0.02});
  const auto loop = compiled([&] {
    return ipu::loops::repeat(10,
                              [&](Tensor) -> tf::Outputs {
                                const Tensor loss = loss_and_logits(tf::constant(data.y), model.logits(x)).tensor(0);
                                auto gradients = adam.compute_gradients(loss);
                                for (auto& entry : gradients)
                                  entry.gradient = tf::maximum(tf::minimum(entry.gradient, tf::constant(0.05F)),
                                                               tf::constant(-0.05F));
                                return {loss, adam.apply_gradients(gradients)};
                              },
                              {tf::constant(0.0F)});
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  Hash hash;
  for (int i = 0; i < 2; ++i) hash.add(session.run(loop));
  return hash.add(model.values());
}

Hash train_while_loop() {
  configure(1, 1);
  Perceptron model;
  const ipu::IPUInfeedQueue infeed(batches(16));
  const tf::train::MomentumOptimizer momentum({.learning_rate = 0.05});
  const auto loop = compiled([&] {
    return ipu::loops::while_loop([](Tensor count, Tensor) { return tf::less(count, tf::constant(7.0F)); },
                                  [&](Tensor count, Tensor, Tensor x, Tensor y) -> tf::Outputs {
                                    const Tensor loss = loss_and_logits(y, model.logits(x)).tensor(0);
                                    return {count + 1.0, loss, momentum.minimize(loss)};
                                  },
                                  {tf::constant(0.0F), tf::constant(0.0F)}, infeed);
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  Hash hash;
  for (int i = 0; i < 2; ++i) hash.add(session.run(loop));
  return hash.add(model.values());
}

struct PipelineRun {
  int ipus = 2;
  int stages = 2;
  ipu::pipelining_ops::PipelineOptions options = {.gradient_accumulation_count = 4, .repeat_count = 3};
  bool has_layers = true;
  bool trains = true;
};

Hash train_pipeline(const PipelineRun& run) {
  configure(run.ipus, 1);
  Perceptron model(run.has_layers);
  const ipu::IPUInfeedQueue infeed(batches(4));
  const ipu::IPUOutfeedQueue outfeed;
  ipu::pipelining_ops::PipelineOptions options = run.options;
  options.infeed_queue = infeed;
  options.outfeed_queue = outfeed;
  const tf::train::AdamOptimizer adam({.learning_rate = 0.02});
  if (run.trains)
    options.optimizer_function = [&](const tf::Outputs& outputs) {
      return ipu::pipelining_ops::OptimizerFunctionOutput{adam, outputs.tensor(0)};
    };
  const auto computation = compiled([&] { return ipu::pipelining_ops::pipeline(model.stages(run.stages), options); });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  Hash hash;
  for (int i = 0; i < 2; ++i) {
    session.run(computation);
    hash.add(session.run(outfeed.dequeue()));
  }
  return hash.add(model.values());
}

Run pipeline_run(const std::string& name, const PipelineRun& run) {
  return {name, [run] { return train_pipeline(run); }};
}

Runs session_runs() {
  namespace train = tf::train;
  return {
      {"tf1_steps_adam", [] { return train_steps(train::AdamOptimizer({.learning_rate = 0.02})); }},
      {"tf1_steps_sgd", [] { return train_steps(train::GradientDescentOptimizer({.learning_rate = 0.1})); }},
      {"tf1_loop_adam", [] { return train_loops(train::AdamOptimizer({.learning_rate = 0.02})); }},
      {"tf1_loop_nesterov",
       [] { return train_loops(train::MomentumOptimizer({.learning_rate = 0.05, .use_nesterov = true})); }},
      {"tf1_loop_rmsprop", [] { return train_loops(train::RMSPropOptimizer({.momentum = 0.5, .centered = true})); }},
      {"tf1_loop_outfeed_last",
       [] {
         return train_loops(train::AdamOptimizer({.learning_rate = 0.02}), {.outfeed_mode = ipu::IPUOutfeedMode::LAST});
       }},
      {"tf1_loop_without_infeed", train_loop_without_infeed},
      {"tf1_while_loop", train_while_loop},
  };
}

Runs session_pipeline_runs() {
  using Options = ipu::pipelining_ops::PipelineOptions;
  constexpr auto mean = GradientReduction::Mean;
  const Options four{.gradient_accumulation_count = 4, .repeat_count = 3};
  Options meaned = four, interleaved = four, sequential = four, recomputed = four, mapped = four, two = four;
  meaned.reduction_method = mean;
  interleaved.pipeline_schedule = PipelineSchedule::Interleaved;
  sequential.pipeline_schedule = PipelineSchedule::Sequential;
  recomputed.recomputation = true;
  recomputed.reduction_method = mean;
  mapped.device_mapping = {0, 1, 0};
  two.gradient_accumulation_count = 2;
  return {
      pipeline_run("tf1_accumulation", {.ipus = 1, .stages = 1, .options = four}),
      pipeline_run("tf1_accumulation_mean", {.ipus = 1, .stages = 1, .options = meaned}),
      pipeline_run("tf1_replicas", {.ipus = 2, .stages = 1, .options = two}),
      pipeline_run("tf1_pipeline_2", {.options = four}),
      pipeline_run("tf1_pipeline_2_mean", {.options = meaned}),
      pipeline_run("tf1_pipeline_3_interleaved", {.ipus = 3, .stages = 3, .options = interleaved}),
      pipeline_run("tf1_pipeline_3_sequential", {.ipus = 3, .stages = 3, .options = sequential}),
      pipeline_run("tf1_pipeline_recomputation", {.ipus = 3, .stages = 3, .options = recomputed}),
      pipeline_run("tf1_pipeline_mapped", {.ipus = 2, .stages = 3, .options = mapped}),
      pipeline_run("tf1_pipeline_replicas", {.ipus = 4, .stages = 2, .options = two}),
      pipeline_run("tf1_pipeline_inference", {.options = four, .has_layers = false, .trains = false}),
  };
}

}  // namespace

Runs tf1_runs() { return joined({session_runs(), session_pipeline_runs()}); }

}  // namespace bits
