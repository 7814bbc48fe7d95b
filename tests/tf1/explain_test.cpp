// SPDX-License-Identifier: Apache-2.0
// What a computation tells of its runs: explain before, a profile after; and values that cross stages of a pipeline.
#include <pando/program/profile.h>

#include "tests/contents.h"
#include "tests/tf1/programs.h"

namespace pando {

namespace {

using ipu::pipelining_ops::OptimizerFunctionOutput;
using ipu::pipelining_ops::pipeline;
using ipu::pipelining_ops::PipelineOptions;

const tf::train::GradientDescentOptimizer descent({.learning_rate = 0.1});

OptimizerFunctionOutput descend(const tf::Outputs& outputs) { return {descent, outputs.tensor(0)}; }

Tensor loss_of(const Tensor& y, const Tensor& logits) { return tf::losses::sparse_softmax_cross_entropy(y, logits); }

// A variable that both stages use, and a value of the first that the last uses.
struct Tied {
  tf::Variable both{weights(4, 4), {.name = "both"}}, last{weights(4, 3, 1.0), {.name = "last"}};

  tf::Outputs first(const Tensor& x, const Tensor& y) const {
    const Tensor hidden = tf::nn::tanh(tf::matmul(x, both));
    return {hidden, hidden * 0.5, y};
  }
  tf::Outputs middle(const Tensor& x, const Tensor& skipped, const Tensor& y) const {
    return {tf::nn::tanh(tf::matmul(x, both)), skipped, y};
  }
  tf::Outputs end(const Tensor& x, const Tensor& skipped, const Tensor& y) const {
    return {loss_of(y, tf::matmul(x + skipped, last))};
  }
  std::vector<tf::TracedFunction> stages() const {
    return {[this](Tensor x, Tensor y) { return first(x, y); },
            [this](Tensor x, Tensor skipped, Tensor y) { return middle(x, skipped, y); },
            [this](Tensor x, Tensor skipped, Tensor y) { return end(x, skipped, y); }};
  }
  Arrays values() const { return {both.parameter().value(), last.parameter().value()}; }
};

TEST_F(Tf1, a_variable_may_be_trained_by_several_stages) {
  const auto plain = [] {
    tf::reset_default_graph();
    configure(1);
    const Tied model;
    const ipu::IPUInfeedQueue infeed(batches(16));
    const auto loop = compiled([&] {
      return repeat(
          5,
          [&](Tensor x, Tensor y) -> tf::Outputs {
            const std::vector<Tensor> a = model.first(x, y).tensors();
            const std::vector<Tensor> b = model.middle(a[0], a[1], a[2]).tensors();
            return {descent.minimize(model.end(b[0], b[1], b[2]).tensor(0))};
          },
          {}, infeed);
    });
    tf::Session session;
    session.run(tf::global_variables_initializer());
    session.run(infeed.initializer());
    session.run(loop);
    return model.values();
  }();
  for (const int replicas : {1, 2}) {
    tf::reset_default_graph();
    configure(3 * replicas);
    const Tied model;
    const ipu::IPUInfeedQueue infeed(batches(4));
    const auto computation = compiled([&] {
      return pipeline(model.stages(), {.gradient_accumulation_count = 4 / replicas,
                                       .repeat_count = 5,
                                       .infeed_queue = infeed,
                                       .optimizer_function = descend,
                                       .reduction_method = ipu::GradientReduction::Mean});
    });
    tf::Session session;
    session.run(tf::global_variables_initializer());
    session.run(infeed.initializer());
    session.run(computation);
    const Arrays values = model.values();
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_TRUE(allclose(values[i], plain[i], 0, 1e-5)) << i;
  }
}

TEST_F(Tf1, a_computation_explains_and_profiles_its_pipeline) {
  configure(6);
  const Tied model;
  const ipu::IPUInfeedQueue infeed(batches(4));
  const auto computation = compiled([&] {
    return pipeline(
        model.stages(),
        {.gradient_accumulation_count = 4, .repeat_count = 5, .infeed_queue = infeed, .optimizer_function = descend});
  });
  const std::string text = computation.explain();
  for (const char* part : {"pipeline", "2 replicas", "32 samples = 4 x 4 accumulated x 2 replicas", "function 2",
                           "sum of 8 gradients: the learning rate 0.1 acts as 0.8"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  Profiler profiler("computation");
  computation.profile(profiler);
  session.run(computation);
  profiler.detach();
  const std::string path = testing::TempDir() + "tf1.html";
  profiler.save(path);
  for (const char* device : {"replica 0 stage 0", "replica 1 stage 2"})
    EXPECT_NE(contents(path).find(device), std::string::npos) << device;
}

TEST_F(Tf1, a_computation_explains_and_profiles_its_loops) {
  const tf::Variable v(Array::scalar(1.0F), {.name = "v"});
  const ipu::IPUInfeedQueue infeed(counting(64).batch(4));
  const auto computation = compiled([&] {
    return repeat(
        8, [&](Tensor x) -> tf::Outputs { return {descent.minimize(tf::reduce_mean(x * v))}; }, {}, infeed);
  });
  const std::string text = computation.explain();
  EXPECT_NE(text.find("loop"), std::string::npos) << text;
  EXPECT_NE(text.find("4 samples"), std::string::npos) << text;
  EXPECT_NE(text.find("Execution    8 updates = 8 batches"), std::string::npos) << text;
  EXPECT_EQ(text.find("straight code"), std::string::npos) << text;
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  Profiler profiler("computation");
  computation.profile(profiler);
  session.run(computation);
  profiler.detach();
  const std::vector<KernelTime> times = profiler.kernel_times();
  EXPECT_FALSE(times.empty());
}

}  // namespace

}  // namespace pando
