// SPDX-License-Identifier: Apache-2.0
// What a program that is wrong is told, word for word.
#include "tests/tf1/programs.h"

namespace pando {

namespace {

using namespace tf::train;
using ipu::pipelining_ops::pipeline;

const GradientDescentOptimizer any_optimizer({.learning_rate = 0.1});

// The error of tracing and compiling the function.
std::string compile_message(const tf::TracedFunction& function, const std::vector<Tensor>& inputs = {}) {
  return message([&] { compiled(function, inputs); });
}

std::string run_message(const tf::Fetch& fetch, const tf::Feeds& feeds = {}) {
  tf::Session session;
  session.run(tf::global_variables_initializer());
  return message([&] { session.run(fetch, feeds); });
}

TEST_F(Tf1, uninitialised_variables_are_named) {
  const tf::Variable v(Array::scalar(1.0F), {.name = "v"});
  const auto step = compiled([&] { return AdamOptimizer().minimize(tf::square(v)); });
  tf::Session session;
  const char* expected =
      "run: the variable 'v' is not initialised in this session; run tf::global_variables_initializer() first";
  EXPECT_EQ(message([&] { session.run(v); }), expected);
  EXPECT_EQ(message([&] { session.run(Tensor(v) + 1.0); }), expected);
  EXPECT_EQ(message([&] { session.run(step); }), expected);
  session.run(tf::global_variables_initializer());
  session.run(step);
  const auto later = compiled([&] { return AdamOptimizer().minimize(tf::square(v)); });
  EXPECT_EQ(message([&] { session.run(later); }),
            "run: the variable 'Adam/0/learning_rate' is not initialised in this session; run "
            "tf::global_variables_initializer() first");
}

TEST_F(Tf1, iterators_say_what_is_wrong) {
  const auto iterator = tf::make_initializable_iterator(counting(2));
  const Tensor x = iterator.get_next<1>()[0];
  EXPECT_EQ(run_message(x), "run: the iterator is not initialised; run its initializer() first");
  EXPECT_EQ(message([&] { iterator.get_next<2>(); }),
            "get_next: 2 columns are wanted but the elements of the data set have 1");
  EXPECT_EQ(message([] { tf::make_one_shot_iterator(counting(0)); }), "Iterator: the data set is empty");
  const Tensor uneven = tf::make_one_shot_iterator(counting(3).batch(2)).get_next<1>()[0];
  tf::Session session;
  session.run(uneven);
  EXPECT_EQ(message([&] { session.run(uneven); }),
            "run: column 0 of the data set is float32[1] but was float32[2] in the first element; batch it with "
            "drop_remainder");
}

TEST_F(Tf1, feeds_must_be_there_and_fit) {
  const Tensor x = tf::placeholder(DType::float32, {-1, 2}, "x"), y = x * 2.0;
  const char* missing = "run: the placeholder 'x' is not fed; give its value with the run";
  EXPECT_EQ(run_message(x), missing);
  EXPECT_EQ(run_message(y), missing);
  EXPECT_EQ(run_message(y, {{x, Array(DType::int32, {3, 2})}}),
            "run: 'x' is float32[-1, 2] but is fed int32[3, 2]; cast or reshape it");
  EXPECT_EQ(run_message(y, {{x, Array(DType::float32, {3, 3})}}),
            "run: 'x' is float32[-1, 2] but is fed float32[3, 3]; cast or reshape it");
  EXPECT_EQ(run_message(y, {{x, Array(DType::float32, {2})}}),
            "run: 'x' is float32[-1, 2] but is fed float32[2]; cast or reshape it");
  EXPECT_EQ(compile_message([](Tensor a) { return a; }, {x}),
            "compile: an input has shape [-1, 2] but every size must be known; give the placeholder its batch size");
}

TEST_F(Tf1, only_what_the_session_has_can_be_run) {
  Tensor inner;
  tf::Operation operation;
  const auto computation = compiled([&]() -> tf::Outputs {
    const tf::Variable v = tf::get_variable("v", Array::scalar(1.0F));
    inner = tf::constant(1.0F) + v;
    operation = any_optimizer.minimize(inner);
    return {inner, operation};
  });
  const char* of_computation =
      "run: the tensor belongs to a computation that is compiled, not to the graph of the session; return it from the "
      "computation and fetch that";
  EXPECT_EQ(run_message(inner), of_computation);
  EXPECT_EQ(run_message(inner, {{inner, Array::scalar(1.0F)}}), of_computation);
  EXPECT_EQ(run_message(operation),
            "run: the operation is part of a computation, not of the graph of the session; run what "
            "ipu_compiler::compile returned");
  EXPECT_EQ(run_message(tf::Compiled()), "run: nothing was compiled; assign what ipu_compiler::compile returns");
  EXPECT_EQ(run_message(Tensor()), "the tensor is empty: it was default-constructed and nothing was assigned to it");
  EXPECT_EQ(run_message(keras::Input({2}, {.name = "pixels"})),
            "run: 'pixels' is the input of a Keras model and has no value here");
  EXPECT_EQ(compile_message([&]() -> tf::Outputs { return {tf::constant(1.0F) + inner}; }),
            "a tensor from within another computation, or from the body of a loop, is used; return it from there");
}

TEST_F(Tf1, computations_need_a_device) {
  EXPECT_EQ(message([] { compile([]() -> tf::Outputs { return {}; }); }),
            "compile: there is no device to compile for; make an ipu::scopes::ipu_scope(\"/device:IPU:0\") around it");
  EXPECT_EQ(message([] { ipu::scopes::ipu_scope("/device:IPU:1"); }),
            "ipu_scope: unknown device '/device:IPU:1'; did you mean '/device:IPU:0'?");
  ipu::reset_ipu_configuration();
  EXPECT_EQ(message([] { ipu::scopes::ipu_scope("/device:IPU:0"); }),
            "ipu_scope: no IPU system is configured; call configure_ipu_system() of an IPUConfig first");
}

TEST_F(Tf1, what_belongs_into_a_computation_says_so) {
  const char* text = ": it belongs in a computation that ipu_compiler::compile traces";
  const tf::Variable v(Array::scalar(1.0F), {.name = "v"});
  const ipu::IPUInfeedQueue infeed(counting(2));
  const auto body = [](Tensor x) { return x; };
  const Tensor one = tf::constant(1.0F);
  EXPECT_EQ(message([&] { repeat(2, body, {one}); }), std::string("repeat") + text);
  EXPECT_EQ(message([&] { while_loop(body, body, {one}); }), std::string("while_loop") + text);
  EXPECT_EQ(message([&] { any_optimizer.minimize(v); }), std::string("minimize") + text);
  EXPECT_EQ(message([&] {
              any_optimizer.apply_gradients({{one, v.parameter()}});
            }),
            std::string("apply_gradients") + text);
  EXPECT_EQ(message([&] { ipu::IPUOutfeedQueue().enqueue({one}); }), std::string("IPUOutfeedQueue") + text);
  EXPECT_EQ(message([&] { pipeline({body}, {.infeed_queue = infeed}); }), std::string("pipeline") + text);
  EXPECT_EQ(message([&] { tf::gradients(one, {one}); }),
            "gradients: they belong in a computation that ipu_compiler::compile traces");
  EXPECT_EQ(message([&] { v.assign(one); }), "assign: 'v' can only be assigned within a computation that is compiled");
  EXPECT_EQ(compile_message([&] {
              v.assign(Tensor(v) + 1.0);
              return v.assign(Tensor(v) + 1.0);
            }),
            "assign: 'v' is assigned twice in one step, at whose end it takes one value; assign it once");
  EXPECT_EQ(compile_message([&] { return ipu::IPUOutfeedQueue().enqueue({one}); }),
            "IPUOutfeedQueue: enqueue belongs in the body of a loop; return tensors from straight code instead");
}

TEST_F(Tf1, functions_get_as_many_tensors_as_they_take) {
  const Tensor one = tf::constant(1.0F);
  const ipu::IPUInfeedQueue infeed(points(4).batch(2));
  const auto two = [](Tensor a, Tensor b) { return a + b; };
  EXPECT_EQ(compile_message(two, {one}), "compile: the function takes 2 tensors but is given 1");
  EXPECT_EQ(compile_message([](Tensor a) { return a; }), "compile: the function takes 1 tensor but is given 0");
  EXPECT_EQ(compile_message([&] { return repeat(3, two, {one}, infeed); }),
            "repeat: the function takes 2 tensors but is given 3");
  EXPECT_EQ(compile_message([&] { return while_loop([](Tensor x) { return x; }, two, {one}); }),
            "while_loop: the function takes 2 tensors but is given 1");
  EXPECT_EQ(compile_message([&] {
              return pipeline(
                  {[](Tensor a, Tensor) { return a; }, [](Tensor a) { return a; }, [](Tensor a, Tensor) { return a; }},
                  {.infeed_queue = infeed});
            }),
            "pipeline: stage 2: the function takes 2 tensors but is given 1");
}

TEST_F(Tf1, bodies_return_what_they_were_given) {
  const Tensor one = tf::constant(1.0F);
  EXPECT_EQ(compile_message([&] {
              return repeat(3, [](Tensor a) -> tf::Outputs { return {a, a}; }, {one});
            }),
            "repeat: the body returns 2 tensors but was given 1; return a new value for each");
  EXPECT_EQ(compile_message([&] { return repeat(3, [](Tensor) -> tf::Outputs { return {}; }, {one}); }),
            "repeat: the body returns 0 tensors but was given 1; return a new value for each");
  EXPECT_EQ(compile_message([&] { return repeat(3, [](Tensor a) { return tf::cast(a, DType::int32); }, {one}); }),
            "repeat: tensor 0 of the body's is int32[] but was given as float32[]; they must be the same");
  EXPECT_EQ(compile_message([&] { return repeat(3, [](Tensor a) { return a.view({1}); }, {one}); }),
            "repeat: tensor 0 of the body's is float32[1] but was given as float32[]; they must be the same");
  EXPECT_EQ(compile_message([&] {
              return while_loop([](Tensor a) -> tf::Outputs { return {a, a}; }, [](Tensor a) { return a; }, {one});
            }),
            "while_loop: the condition must return a tensor of one bool");
  EXPECT_EQ(compile_message([&] { return repeat(-1, [](Tensor a) { return a; }, {one}); }),
            "repeat: the count is -1 but must not be negative");
}

TEST_F(Tf1, loops_and_pipelines_are_not_nested) {
  const ipu::IPUInfeedQueue infeed(counting(4));
  const auto same = [](Tensor a) { return a; };
  const auto inner_repeat = [&](Tensor a) { return repeat(2, same, {a + 1.0}); };
  const auto inner_while = [&](Tensor a) { return while_loop(same, same, {a}); };
  const auto inner_pipeline = [&](Tensor) { return pipeline({same}, {.infeed_queue = infeed}); };
  const char* text = ": nested loops and pipelines are not supported; let one loop run the product of their counts";
  const std::vector<std::pair<std::string, tf::TracedFunction>> cases = {
      {"repeat", inner_repeat}, {"while_loop", inner_while}, {"pipeline", inner_pipeline}};
  for (const auto& entry : cases) {
    const tf::TracedFunction inner = entry.second;
    const std::string expected = entry.first + text;
    EXPECT_EQ(compile_message([&] { return repeat(2, inner, {tf::constant(1.0F)}); }), expected);
    EXPECT_EQ(compile_message([&] { return while_loop(same, inner, {tf::constant(1.0F)}); }), expected);
    EXPECT_EQ(compile_message([&] { return while_loop(inner, same, {tf::constant(1.0F)}); }), expected);
    EXPECT_EQ(compile_message([&] { return pipeline({inner}, {.infeed_queue = infeed}); }), expected);
  }
}

TEST_F(Tf1, what_a_loop_makes_is_returned_from_it) {
  EXPECT_EQ(compile_message([]() -> tf::Outputs {
              Tensor leaked;
              repeat(2, [&](Tensor a) { return leaked = a + 1.0; }, {tf::constant(1.0F)});
              return {leaked};
            }),
            "a tensor from within another computation, or from the body of a loop, is used; return it from there");
}

TEST_F(Tf1, training_needs_variables_and_one_loss) {
  const tf::Variable fixed(Array::scalar(1.0F), {.name = "fixed", .trainable = false}),
      w(floats({1, 2}), {.name = "w"});
  EXPECT_EQ(compile_message([&] { return any_optimizer.minimize(fixed); }),
            "minimize: the computation uses no variable that can be trained");
  EXPECT_EQ(compile_message([&] { return any_optimizer.minimize(Tensor(w) * 2.0); }),
            "minimize: the loss has shape [2] but must be one number; use reduce_mean or reduce_sum");
  EXPECT_EQ(compile_message([&]() -> tf::Outputs { return {tf::gradients(Tensor(w) * 2.0, {w})[0]}; }),
            "gradients: y has shape [2] but must be one number; use reduce_mean or reduce_sum");
  EXPECT_EQ(compile_message([&] {
              return any_optimizer.apply_gradients({{tf::constant(1.0F), w.parameter()}});
            }),
            "apply_gradients: the gradient of 'w' has shape [] but the variable has shape [2]");
  EXPECT_EQ(message([] { AdamOptimizer({.learning_rate = -1}); }),
            "Adam: the learning rate is -1 but must not be negative");
  EXPECT_EQ(message([] { MomentumOptimizer({.learning_rate = std::nan("")}); }),
            "Momentum: the learning rate is nan but must not be negative");
}

TEST_F(Tf1, pipelines_say_what_is_wrong_with_their_options) {
  configure(2);
  const auto stage = [](Tensor a) { return a; };
  const ipu::IPUInfeedQueue infeed(counting(4));
  const auto two_stages = [&](const ipu::pipelining_ops::PipelineOptions& options) {
    return compile_message([&] { return pipeline({stage, stage}, options); });
  };
  const std::string few = " but the pipeline has 2 stages; name the IPU of each stage";
  const std::string far = " but /device:IPU:0 has 2 IPUs; name numbers from 0 to 1, or configure more IPUs";
  const std::string gap = " but IPU 0 would have no stage; name each of the IPUs 0 to 1 of a replica";
  const std::pair<std::vector<int>, std::string> mappings[] = {{{0}, "[0]" + few},
                                                               {{0, 1, 2}, "[0, 1, 2]" + few},
                                                               {{0, 2}, "[0, 2]" + far},
                                                               {{-1, 0}, "[-1, 0]" + far},
                                                               {{1, 1}, "[1, 1]" + gap}};
  for (const auto& [wrong, text] : mappings)
    EXPECT_EQ(two_stages({.infeed_queue = infeed, .device_mapping = wrong}), "pipeline: device_mapping is " + text);
  EXPECT_EQ(two_stages({}), "pipeline: there is no infeed_queue; the first stage takes its columns");
  EXPECT_EQ(two_stages({.gradient_accumulation_count = 0, .infeed_queue = infeed}),
            "pipeline: gradient_accumulation_count is 0 but must be at least 1");
  EXPECT_EQ(two_stages({.repeat_count = 0, .infeed_queue = infeed}),
            "pipeline: repeat_count is 0 but must be at least 1");
  EXPECT_EQ(compile_message([&] { return pipeline({}, {.infeed_queue = infeed}); }), "pipeline: there are no stages");
}

TEST_F(Tf1, pipelines_say_what_is_wrong_with_their_training) {
  configure(2);
  const tf::Variable v(Array::scalar(1.0F), {.name = "v"});
  const ipu::IPUInfeedQueue infeed(counting(4).batch(2));
  const auto scaled = [&](Tensor a) { return a * v; };
  const auto same = [](Tensor a) { return a; };
  const auto mean = [](const tf::Outputs& outputs) {
    return ipu::pipelining_ops::OptimizerFunctionOutput{any_optimizer, tf::reduce_mean(outputs.tensor(0))};
  };
  EXPECT_EQ(compile_message([&] {
              return pipeline({same, same}, {.infeed_queue = infeed, .optimizer_function = mean});
            }),
            "pipeline: the stages use no variable that can be trained");
  EXPECT_EQ(compile_message([&] {
              return pipeline({scaled, same},
                              {.infeed_queue = infeed, .optimizer_function = [](const tf::Outputs& outputs) {
                                 return ipu::pipelining_ops::OptimizerFunctionOutput{any_optimizer, outputs.tensor(0)};
                               }});
            }),
            "pipeline: the loss has shape [2] but must be one number; use reduce_mean or reduce_sum");
  EXPECT_EQ(compile_message([&] {
              return pipeline({[&](Tensor a) -> tf::Outputs {
                                return {a, any_optimizer.minimize(tf::reduce_mean(a * v))};
                              }},
                              {.infeed_queue = infeed});
            }),
            "minimize: it belongs in straight code or the body of a loop; give a pipeline an optimizer_function");
}

TEST_F(Tf1, queues_say_what_is_wrong) {
  const ipu::IPUInfeedQueue infeed(counting(3).batch(2));
  const auto same = [](Tensor a) { return a; };
  const auto loop = compiled([&] {
    return repeat(
        2, [](Tensor, Tensor x) { return tf::reduce_sum(x); }, {tf::constant(0.0F)}, infeed);
  });
  const auto pipelined = compiled([&] { return pipeline({same}, {.infeed_queue = infeed}); });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  const char* unready = "run: the infeed queue is not initialised; run its initializer() first";
  EXPECT_EQ(message([&] { session.run(loop); }), unready);
  EXPECT_EQ(message([&] { session.run(pipelined); }), unready);
  session.run(infeed.initializer());
  const char* uneven =
      "IPUInfeedQueue: column 0 of the data set is float32[1] but was float32[2] in the first element; batch it with "
      "drop_remainder";
  EXPECT_EQ(message([&] { session.run(loop); }), uneven);
  EXPECT_EQ(message([&] { session.run(pipelined); }), uneven);
  EXPECT_EQ(message([] { ipu::IPUInfeedQueue(counting(0)); }), "IPUInfeedQueue: the data set is empty");
  EXPECT_EQ(run_message(ipu::IPUOutfeedQueue().dequeue()),
            "dequeue: the outfeed queue is empty; first run a loop that puts something into it");
}

TEST_F(Tf1, one_outfeed_queue_takes_one_kind_of_tensors) {
  const ipu::IPUOutfeedQueue outfeed;
  const auto put = [&](const std::vector<Tensor>& tensors) {
    return compiled([&] { return repeat(2, [&] { return outfeed.enqueue(tensors); }); });
  };
  const auto one = put({tf::constant(1.0F)}), two = put({tf::constant(1.0F), tf::constant(2.0F)}),
             other = put({tf::constant(floats({1, 2}))});
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(one);
  const char* mixed = "run: two loops put different tensors into one outfeed queue; give each its own queue";
  EXPECT_EQ(message([&] { session.run(two); }), mixed);
  EXPECT_EQ(message([&] { session.run(other); }), mixed);
  EXPECT_EQ(session.run(outfeed.dequeue())[0].shape(), Shape({2}));
  session.run(two);
  EXPECT_EQ(session.run(outfeed.dequeue()).size(), 2u);
}

TEST_F(Tf1, a_tensor_that_outlived_its_computation_is_refused) {
  Tensor leaked;
  EXPECT_EQ(message([&] {
              compiled([&]() -> tf::Outputs {
                leaked = tf::constant(5.0F) * tf::constant(2.0F);
                throw Error("no");
              });
            }),
            "no");
  EXPECT_EQ(message([&] { compiled([&] { return leaked + tf::constant(1.0F); }); }),
            "a tensor from within another computation, or from the body of a loop, is used; return it from there");
  EXPECT_EQ(message([&] { leaked + 1.0; }),
            "tf.__operators__.add: a tensor is from a computation that has ended; use it while that is traced");
}

TEST_F(Tf1, outputs_are_counted) {
  const tf::Outputs outputs = {tf::constant(1.0F), tf::Operation()};
  EXPECT_EQ(message([&] { outputs.tensor(1); }), "Outputs: there is no tensor 1, there are 1");
  EXPECT_EQ(message([&] { outputs.operation(1); }), "Outputs: there is no operation 1, there are 1");
}

TEST_F(Tf1, a_graph_that_was_reset_is_gone) {
  const tf::Variable v(Array::scalar(1.0F), {.name = "v"});
  const auto step = compiled([&]() -> tf::Outputs { return {Tensor(v) + 1.0}; });
  const tf::Operation initializer = tf::global_variables_initializer();
  tf::Session session;
  session.run(initializer);
  session.run(step);
  tf::reset_default_graph();
  const char* gone = "run: the graph that it belongs to was reset by reset_default_graph(); build and compile it again";
  EXPECT_EQ(message([&] { session.run(step); }), gone);
  // Nor do the variables of the next graph stand in for those of this one.
  const std::vector<tf::Variable> others(3, tf::Variable(Array::scalar(2.0F)));
  session.run(tf::global_variables_initializer());
  session.run(initializer);
  EXPECT_EQ(message([&] { session.run(step); }), gone);
  EXPECT_EQ(session.run(others[0])[0].item<float>(), 2);
  EXPECT_EQ(message([&] { tf::Session().run(v); }),
            "run: the variable 'v' is not initialised in this session; run tf::global_variables_initializer() first");
}

}  // namespace

}  // namespace pando
