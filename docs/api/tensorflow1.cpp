// SPDX-License-Identifier: Apache-2.0
// The examples of the page "TensorFlow 1 sessions": variables, computations, loops, queues, pipelines.
#include <gtest/gtest.h>
#include <pando/pando.h>
#include <unistd.h>

#include <filesystem>

namespace {

using namespace pando;
namespace tf = pando::tf1;

class TensorFlow1 : public testing::Test {
 protected:
  void SetUp() override {
    tf::reset_default_graph();
    ipu::IPUConfig config = ipu::utils::auto_select_ipus(ipu::utils::create_ipu_config(), 1);
    ipu::utils::configure_ipu_system(config);
  }
  void TearDown() override { ipu::reset_ipu_configuration(); }
  data::Dataset dataset =
      data::Dataset::from_tensor_slices({ones({64, 4}), ones({64, 1})}).repeat().batch(8, {.drop_remainder = true});
};

TEST_F(TensorFlow1, Step) {
  //! [step]
  // What trains is a function that ipu_compiler::compile traces; placeholders may be its inputs.
  Tensor x = tf::placeholder(DType::float32, {8, 4}, "x");
  Tensor y = tf::placeholder(DType::float32, {8, 1}, "y");
  auto step = [](Tensor x, Tensor y) -> tf::Outputs {
    tf::Variable weight = tf::get_variable("weight", zeros({4, 1}));
    tf::Variable bias = tf::get_variable("bias", zeros({1}));
    Tensor loss = tf::losses::mean_squared_error(y, tf::matmul(x, weight) + bias);
    return {loss, tf::train::GradientDescentOptimizer({.learning_rate = 0.1}).minimize(loss)};
  };
  tf::Compiled train;
  {
    ipu::scopes::ipu_scope device("/device:IPU:0");
    train = ipu::ipu_compiler::compile(step, {x, y});
  }
  tf::Session session;
  session.run(tf::global_variables_initializer());
  tf::Feeds feeds = {{x, ones({8, 4})}, {y, ones({8, 1})}};
  for (int i = 0; i < 20; ++i) session.run(train, feeds);
  float loss = session.run(train, feeds)[0].item<float>();
  //! [step]
  EXPECT_LT(loss, 0.01f);

  const std::string path = testing::TempDir() + "pando_docs_" + std::to_string(getpid()) + ".safetensors";
  //! [saver]
  tf::train::Saver saver;
  saver.save(session, path);
  saver.restore(session, path);
  //! [saver]
  std::filesystem::remove(path);
}

TEST_F(TensorFlow1, LoopAndQueues) {
  //! [loop]
  ipu::IPUInfeedQueue infeed(dataset);
  ipu::IPUOutfeedQueue outfeed({.outfeed_mode = ipu::IPUOutfeedMode::ALL});
  tf::Variable weight(zeros({4, 1}), {.name = "weight"});
  auto body = [&](Tensor total, Tensor x, Tensor y) -> tf::Outputs {
    Tensor loss = tf::losses::mean_squared_error(y, tf::matmul(x, weight));
    tf::Operation put = outfeed.enqueue({loss});
    return {total + loss, tf::train::AdamOptimizer({.learning_rate = 0.01}).minimize(loss), put};
  };
  tf::Compiled epoch;
  {
    ipu::scopes::ipu_scope device("/device:IPU:0");
    epoch = ipu::ipu_compiler::compile([&] { return ipu::loops::repeat(8, body, {tf::constant(0.0f)}, infeed); });
  }
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  Array total = session.run(epoch)[0];
  tf::Fetch losses = outfeed.dequeue();
  Array every_loss = session.run(losses)[0];  // [8]
  //! [loop]
  EXPECT_EQ(every_loss.shape(), (Shape{8}));
  EXPECT_GT(total.item<float>(), 0.0f);

  tf::Compiled doubled;
  {
    ipu::scopes::ipu_scope device("/device:IPU:0");
    doubled = ipu::ipu_compiler::compile([&] {
      return ipu::loops::while_loop([](Tensor v) { return tf::less(v, tf::constant(100.0f)); },
                                    [](Tensor v) { return v * 2.0; }, {tf::constant(1.0f)});
    });
  }
  EXPECT_EQ(session.run(doubled)[0].item<float>(), 128.0f);
}

TEST_F(TensorFlow1, Iterators) {
  auto iterator = tf::make_initializable_iterator(dataset.take(2));
  auto [x, y] = iterator.get_next<2>();
  tf::Iterator once = tf::make_one_shot_iterator(dataset);
  Tensor sum = tf::reduce_sum(x);
  tf::Session session;
  session.run(iterator.initializer());
  session.run(sum);
  session.run(sum);
  try {
    session.run(sum);
    FAIL();
  } catch (const tf::errors::OutOfRangeError&) {
    // The data set has ended.
  }
  (void)once.get_next<2>();
}

TEST_F(TensorFlow1, Pipeline) {
  ipu::reset_ipu_configuration();
  ipu::IPUConfig config;
  config.auto_select_ipus = 2;
  config.configure_ipu_system();
  //! [pipeline]
  tf::Variable first(full({4, 8}, 0.1), {.name = "first"}), second(full({8, 1}, 0.1), {.name = "second"});
  ipu::IPUInfeedQueue infeed(dataset);
  auto stage_0 = [&](Tensor x, Tensor y) -> tf::Outputs { return {tf::nn::relu(tf::matmul(x, first)), y}; };
  auto stage_1 = [&](Tensor x, Tensor y) -> tf::Outputs {
    return {tf::losses::mean_squared_error(y, tf::matmul(x, second))};
  };
  ipu::pipelining_ops::PipelineOptions options{
      .gradient_accumulation_count = 4, .infeed_queue = infeed, .optimizer_function = [](const tf::Outputs& outputs) {
        tf::train::MomentumOptimizer optimizer({.learning_rate = 0.01, .momentum = 0.9});
        return ipu::pipelining_ops::OptimizerFunctionOutput{optimizer, outputs.tensor(0)};
      }};
  tf::Compiled updates;
  {
    ipu::scopes::ipu_scope device("/device:IPU:0");
    std::vector<tf::TracedFunction> stages = {stage_0, stage_1};
    updates =
        ipu::ipu_compiler::compile([&]() -> tf::Outputs { return {ipu::pipelining_ops::pipeline(stages, options)}; });
  }
  //! [pipeline]
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  session.run(updates);
}

TEST_F(TensorFlow1, GradientsAndFunctions) {
  tf::VariableOptions named{.name = "w", .trainable = true};
  tf::Variable weight(full({2}, 3.0), named);
  auto step = [&]() -> tf::Outputs {
    tf::train::Optimizer optimizer = tf::train::RMSPropOptimizer({.learning_rate = 0.01, .decay = 0.95});
    Tensor loss = tf::reduce_sum(tf::square(weight));
    tf::train::MinimizeOptions only{.var_list = {weight}};
    std::vector<tf::train::GradientAndVariable> found = optimizer.compute_gradients(loss, only);
    for (auto& [gradient, variable] : found) gradient = tf::minimum(gradient, tf::constant(1.0f));
    return {loss, optimizer.apply_gradients(found)};
  };
  auto slope = [&] {
    Tensor x = weight;
    return tf::gradients(tf::reduce_sum(tf::exp(x)), {x});
  };
  tf::Compiled update, slopes;
  {
    ipu::scopes::ipu_scope device("/device:IPU:0");
    update = ipu::ipu_compiler::compile(step);
    slopes = ipu::ipu_compiler::compile(slope);
  }
  tf::Session session;
  session.run(tf::global_variables_initializer());
  EXPECT_FLOAT_EQ(session.run(update)[0].item<float>(), 18.0f);
  EXPECT_EQ(session.run(slopes)[0].shape(), (Shape{2}));

  Tensor x = tf::constant(Array::of<float>({-1, 2, 3, 4}, {2, 2}));
  Tensor classes = tf::constant(Array::of<std::int32_t>({0, 1}, {2}));
  std::vector<Tensor> values = {tf::cast(x, DType::int32),
                                tf::reshape(x, {4}),
                                tf::concat({x, x}, 0),
                                tf::sqrt(tf::abs(x)),
                                tf::log(tf::exp(x)),
                                tf::maximum(x, x),
                                tf::greater(x, x),
                                tf::equal(x, x),
                                tf::one_hot(classes, 2),
                                tf::argmax(x, 1),
                                tf::reduce_mean(x, {0}),
                                tf::reduce_max(x),
                                tf::nn::sigmoid(x),
                                tf::nn::tanh(x),
                                tf::nn::softmax(x),
                                tf::nn::log_softmax(x),
                                tf::nn::softmax_cross_entropy_with_logits(x, x),
                                tf::nn::sparse_softmax_cross_entropy_with_logits(classes, x),
                                tf::nn::sigmoid_cross_entropy_with_logits(x, x),
                                tf::losses::sparse_softmax_cross_entropy(classes, x),
                                tf::losses::softmax_cross_entropy(x, x),
                                tf::losses::sigmoid_cross_entropy(x, x),
                                tf::losses::absolute_difference(x, x),
                                tf::losses::huber_loss(x, x, 0.5)};
  for (const Tensor& value : values) session.run(value);
  ipu::utils::select_ipus(ipu::utils::create_ipu_config(), {0, 1});
}

}  // namespace
