// SPDX-License-Identifier: Apache-2.0
// Pipelines of sessions: however a step is divided, the mean of its gradients gives the step of one device with a
// larger batch, and their sum, which is the default, that step with a larger learning rate.
#include "tests/tf1/programs.h"

namespace pando {

namespace {

using ipu::GradientReduction;
using ipu::pipelining_ops::OptimizerFunctionOutput;
using ipu::pipelining_ops::pipeline;
using ipu::pipelining_ops::PipelineOptions;
using ipu::pipelining_ops::PipelineSchedule;

constexpr std::int64_t micro_batch = 4;

keras::Layer first_dropout() {
  set_random_seed(11);
  return keras::layers::Dropout(0.25);
}

// A perceptron of three layers.
struct Perceptron {
  Tensor first(const Tensor& x) { return dropout(tf::nn::tanh(tf::matmul(x, a)), {.training = true}); }
  Tensor second(const Tensor& x) { return tf::nn::relu(tf::matmul(x, b)); }
  Tensor third(const Tensor& x) { return tf::matmul(x, c); }
  Arrays values() const { return {a.parameter().value(), b.parameter().value(), c.parameter().value()}; }

  // The layers in as many stages; the last returns the loss and the logits.
  std::vector<tf::TracedFunction> stages(int count) {
    const auto last = [](const Tensor& y, const Tensor& logits) -> tf::Outputs {
      return {tf::losses::sparse_softmax_cross_entropy(y, logits), logits};
    };
    if (count == 1) return {[=, this](Tensor x, Tensor y) { return last(y, third(second(first(x)))); }};
    if (count == 2)
      return {[this](Tensor x, Tensor y) -> tf::Outputs {
                return {second(first(x)), y};
              },
              [=, this](Tensor x, Tensor y) { return last(y, third(x)); }};
    return {[this](Tensor x, Tensor y) -> tf::Outputs {
              return {first(x), y};
            },
            [this](Tensor x, Tensor y) -> tf::Outputs {
              return {second(x), y};
            },
            [=, this](Tensor x, Tensor y) { return last(y, third(x)); }};
  }

  tf::Variable a{weights(4, 8), {.name = "a"}}, b{weights(8, 6, 1.0), {.name = "b"}},
      c{weights(6, 3, 2.0), {.name = "c"}};
  keras::Layer dropout = first_dropout();
};

const tf::train::AdamOptimizer adam({.learning_rate = 0.02});

OptimizerFunctionOutput minimise(const tf::Outputs& outputs) { return {adam, outputs.tensor(0)}; }

struct Result {
  Arrays weights;
  // Of the last run: the loss and the logits of every micro-batch.
  Arrays outputs;
};

// Two runs of the plain loop, `updates` each.
Result train_plain(std::int64_t batch, int updates) {
  tf::reset_default_graph();
  configure(1);
  Perceptron model;
  const ipu::IPUInfeedQueue infeed(batches(batch));
  const ipu::IPUOutfeedQueue outfeed;
  const auto loop = compiled([&] {
    return repeat(
        updates,
        [&](Tensor x, Tensor y) -> tf::Outputs {
          const Tensor logits = model.third(model.second(model.first(x)));
          const Tensor loss = tf::losses::sparse_softmax_cross_entropy(y, logits);
          return {adam.minimize(loss), outfeed.enqueue({loss, logits})};
        },
        {}, infeed);
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  session.run(loop);
  session.run(outfeed.dequeue());
  session.run(loop);
  return {model.values(), session.run(outfeed.dequeue())};
}

Result train_pipeline(int ipus, int stages, PipelineOptions options) {
  tf::reset_default_graph();
  configure(ipus);
  Perceptron model;
  const ipu::IPUInfeedQueue infeed(batches(micro_batch));
  const ipu::IPUOutfeedQueue outfeed;
  options.infeed_queue = infeed;
  options.outfeed_queue = outfeed;
  if (!options.optimizer_function) options.optimizer_function = minimise;
  const auto computation = compiled([&] { return pipeline(model.stages(stages), options); });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  session.run(computation);
  session.run(outfeed.dequeue());
  session.run(computation);
  return {model.values(), session.run(outfeed.dequeue())};
}

void expect_near(const Arrays& a, const Arrays& b, double tolerance = 1e-5) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(allclose(a[i], b[i], 0, tolerance)) << i;
}

struct Setup {
  std::string name;
  int ipus, stages;
  PipelineOptions options;
};

void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.name; }

std::vector<Setup> setups() {
  std::vector<Setup> list;
  const std::pair<const char*, PipelineSchedule> schedules[] = {{"grouped", PipelineSchedule::Grouped},
                                                                {"interleaved", PipelineSchedule::Interleaved},
                                                                {"sequential", PipelineSchedule::Sequential}};
  for (const auto& schedule : schedules)
    for (int stages = 1; stages <= 3; ++stages)
      list.push_back({std::string(schedule.first) + std::to_string(stages),
                      stages,
                      stages,
                      {.gradient_accumulation_count = 4, .repeat_count = 3, .pipeline_schedule = schedule.second}});
  PipelineOptions options{.gradient_accumulation_count = 4, .repeat_count = 3, .recomputation = true};
  list.push_back({"recomputation", 3, 3, options});
  options = {.gradient_accumulation_count = 4, .repeat_count = 3, .device_mapping = {2, 0, 1}};
  list.push_back({"mapped", 3, 3, options});
  options.device_mapping = {0, 1, 0};
  list.push_back({"shared_by_stages", 2, 3, options});
  options.device_mapping = {0, 0, 0};
  list.push_back({"all_on_one", 1, 3, options});
  // Two replicas make half of the micro-batches each.
  options = {.gradient_accumulation_count = 2, .repeat_count = 3};
  list.push_back({"replicas_of_two", 4, 2, options});
  list.push_back({"replicas_of_one", 2, 1, options});
  for (Setup& setup : list) setup.options.reduction_method = GradientReduction::Mean;
  return list;
}

class Pipelines : public testing::TestWithParam<Setup> {};
INSTANTIATE_TEST_SUITE_P(all, Pipelines, testing::ValuesIn(setups()), [](const auto& info) { return info.param.name; });

TEST_P(Pipelines, train_as_one_device_with_a_larger_batch) {
  static const Result plain = train_plain(4 * micro_batch, 3);
  const Result divided = train_pipeline(GetParam().ipus, GetParam().stages, GetParam().options);
  expect_near(divided.weights, plain.weights);
  EXPECT_FALSE(allclose(divided.weights[0], weights(4, 8), 0, 1e-2));
  // Every micro-batch in the order of the data set.
  ASSERT_EQ(divided.outputs.size(), 2u);
  EXPECT_EQ(divided.outputs[0].shape(), Shape({12}));
  EXPECT_EQ(divided.outputs[1].shape(), Shape({12, micro_batch, 3}));
  expect_near({divided.outputs[1].reshape({3, 4 * micro_batch, 3})}, {plain.outputs[1]});
  expect_near({mean(divided.outputs[0].reshape({3, 4}), 1)}, {plain.outputs[0]});
}

TEST_F(Tf1, stages_that_share_an_ipu_give_the_bits_of_stages_that_do_not) {
  PipelineOptions options{.gradient_accumulation_count = 2, .repeat_count = 3};
  const Result apart = train_pipeline(6, 3, options);
  options.device_mapping = {0, 1, 0};
  const Result shared = train_pipeline(4, 3, options);
  for (std::size_t i = 0; i < apart.weights.size(); ++i) EXPECT_TRUE(array_equal(apart.weights[i], shared.weights[i]));
  for (std::size_t i = 0; i < apart.outputs.size(); ++i) EXPECT_TRUE(array_equal(apart.outputs[i], shared.outputs[i]));
}

TEST_F(Tf1, a_pipeline_adds_the_gradients_unless_told) {
  const auto descent = [](double rate) {
    return [rate](const tf::Outputs& outputs) -> OptimizerFunctionOutput {
      return {tf::train::GradientDescentOptimizer({.learning_rate = rate}), outputs.tensor(0)};
    };
  };
  // 4 micro-batches, or 2 of each of 2 replicas.
  for (const int replicas : {1, 2}) {
    const PipelineOptions summed{
        .gradient_accumulation_count = 4 / replicas, .repeat_count = 2, .optimizer_function = descent(0.05)};
    PipelineOptions mean = summed;
    mean.optimizer_function = descent(0.2);
    mean.reduction_method = GradientReduction::Mean;
    expect_near(train_pipeline(2 * replicas, 2, summed).weights, train_pipeline(2 * replicas, 2, mean).weights);
  }
}

TEST_F(Tf1, a_pipeline_without_an_optimizer_computes_only) {
  for (const int ipus : {2, 4}) {
    tf::reset_default_graph();
    configure(ipus);
    const tf::Variable v(Array::scalar(2.0F), {.name = "v"}), w(Array::scalar(1.0F), {.name = "w"});
    const ipu::IPUInfeedQueue infeed(counting(64).batch(2));
    const ipu::IPUOutfeedQueue outfeed;
    const int replicas = ipus / 2;
    const auto computation = compiled([&] {
      return pipeline({[&](Tensor x) { return x * v; }, [&](Tensor x) { return x + w; }},
                      {.gradient_accumulation_count = 2 / replicas,
                       .repeat_count = 3,
                       .infeed_queue = infeed,
                       .outfeed_queue = outfeed});
    });
    tf::Session session;
    session.run(tf::global_variables_initializer());
    session.run(infeed.initializer());
    for (int run = 0; run < 2; ++run) {
      session.run(computation);
      const Array results = session.run(outfeed.dequeue())[0];
      ASSERT_EQ(results.shape(), Shape({6, 2}));
      for (int i = 0; i < 12; ++i) EXPECT_EQ(results.data<float>()[i], 2 * (run * 12 + i) + 1);
    }
    EXPECT_EQ(session.run(v)[0].item<float>(), 2);
  }
}

TEST_F(Tf1, stages_without_variables_and_values_from_outside) {
  configure(3);
  const tf::Variable w(Array::scalar(1.0F), {.name = "w"});
  const Tensor fed = tf::placeholder(DType::float32, {}), constant = tf::constant(2.0F);
  const ipu::IPUInfeedQueue infeed(counting(64));
  const ipu::IPUOutfeedQueue outfeed;
  const auto computation = compiled([&]() -> tf::Outputs {
    const Tensor before = tf::constant(1.0F) + fed;
    pipeline({[&](Tensor x) { return x * constant; }, [&](Tensor x) { return x * w + before; },
              [&](Tensor x) { return x + fed; }},
             {.gradient_accumulation_count = 2,
              .infeed_queue = infeed,
              .outfeed_queue = outfeed,
              .optimizer_function = [](const tf::Outputs& outputs) -> OptimizerFunctionOutput {
                return {tf::train::GradientDescentOptimizer({.learning_rate = 0.25}), outputs.tensor(0)};
              }});
    return {Tensor(w) * 10.0};
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  // The gradient of w is the sum of 2 x.
  EXPECT_EQ(session.run(computation, {{fed, Array::scalar(3.0F)}})[0].item<float>(), 10 * (1 - 0.5F));
  EXPECT_EQ(numbers(session.run(outfeed.dequeue())[0]), (std::vector<double>{7, 9}));
  EXPECT_EQ(session.run(computation, {{fed, Array::scalar(5.0F)}})[0].item<float>(), 10 * (0.5F - 2.5F));
  EXPECT_EQ(numbers(session.run(outfeed.dequeue())[0]), (std::vector<double>{13, 14}));
}

TEST_F(Tf1, all_replicas_see_what_other_computations_assigned) {
  configure(2);
  const tf::Variable weight(Array::scalar(1.0F), {.name = "weight"});
  const ipu::IPUInfeedQueue infeed(counting(64));
  const ipu::IPUOutfeedQueue outfeed;
  const tf::Compiled inference = compiled([&] {
    return pipeline({[&](Tensor x) { return x * 0.0 + weight; }}, {.infeed_queue = infeed, .outfeed_queue = outfeed});
  });
  const tf::Compiled grow = compiled([&] { return weight.assign(Tensor(weight) + 1.0); });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  for (int round = 1; round <= 3; ++round) {
    session.run(inference);
    for (double value : numbers(session.run(outfeed.dequeue())[0])) EXPECT_EQ(value, round);
    session.run(grow);
  }
}

// The mean over the replicas of a float32 variable is taken before each update, of others there is none.
TEST_F(Tf1, replicas_agree_on_what_they_assign) {
  configure(2);
  const tf::Variable weight(Array::scalar(0.0F), {.name = "weight"}),
      total(Array::scalar(0.0F), {.name = "total", .trainable = false});
  const tf::Variable count(Array::scalar<std::int32_t>(0), {.name = "count", .trainable = false});
  const ipu::IPUInfeedQueue infeed(counting(64));
  const auto optimizer = [](const tf::Outputs& outputs) -> OptimizerFunctionOutput {
    return {tf::train::GradientDescentOptimizer({.learning_rate = 0.0}), outputs.tensor(0)};
  };
  const auto run_of = [&](const tf::TracedFunction& stage, bool trains) {
    ipu::pipelining_ops::PipelineOptions options{.gradient_accumulation_count = 1, .infeed_queue = infeed};
    if (trains) options.optimizer_function = optimizer;
    return compiled([=] { return pipeline({stage}, options); });
  };
  const auto add_up = [&](Tensor x) {
    total.assign(Tensor(total) + x);
    return x * weight;
  };
  const tf::Compiled training = run_of(add_up, true);
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  session.run(training);
  session.run(training);
  EXPECT_EQ(session.run(total)[0].item<float>(), (0 + 1) / 2.0F + (2 + 3) / 2.0F);
  EXPECT_EQ(message([&] { run_of(add_up, false); }),
            "the variable 'total' takes a value of each micro-batch and would differ between 2 replicas, which are "
            "averaged by updates only; use one replica, or train");
  EXPECT_EQ(message([&] {
              run_of(
                  [&](Tensor x) {
                    count.assign(Tensor(count) + tf::cast(x, DType::int32));
                    return x * weight;
                  },
                  true);
            }),
            "the variable 'count' takes a value of each micro-batch and would differ between 2 replicas; assign a "
            "floating-point variable the replica_mean of the value, or use one replica");
}

TEST_F(Tf1, a_pipeline_says_how_many_micro_batches_ran) {
  configure(2);
  const tf::Variable w(Array::scalar(1.0F), {.name = "w"});
  const ipu::IPUInfeedQueue infeed(counting(12));
  const auto computation = compiled([&] {
    return pipeline(
        {[&](Tensor x) { return x * w; }, [](Tensor x) { return x; }},
        {.gradient_accumulation_count = 2, .repeat_count = 4, .infeed_queue = infeed, .optimizer_function = minimise});
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  for (int pass = 0; pass < 2; ++pass) {
    session.run(infeed.initializer());
    session.run(computation);
    EXPECT_EQ(message([&] { session.run(computation); }),
              "run: the infeed queue has ended after 4 of 8 micro-batches; repeat() the data set, or run its "
              "initializer() to begin again");
  }
}

TEST_F(Tf1, the_initializer_begins_a_pipeline_anew) {
  configure(4);
  Perceptron model;
  const ipu::IPUInfeedQueue infeed(batches(micro_batch));
  const auto computation = compiled([&] {
    return pipeline(
        model.stages(2),
        {.gradient_accumulation_count = 2, .repeat_count = 3, .infeed_queue = infeed, .optimizer_function = minimise});
  });
  tf::Session session;
  const auto train = [&] {
    session.run(tf::global_variables_initializer());
    session.run(infeed.initializer());
    session.run(computation);
    session.run(computation);
    return model.values();
  };
  const Arrays first = train(), second = train();
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(array_equal(first[i], second[i])) << i;
}

}  // namespace

}  // namespace pando
