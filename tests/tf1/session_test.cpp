// SPDX-License-Identifier: Apache-2.0
// Sessions: what is fetched, fed, iterated over, and brought into computations.
#include <thread>

#include "tests/tf1/programs.h"

namespace pando {

namespace {

using Numbers = std::vector<double>;

TEST_F(Tf1, constants_and_arithmetic_are_fetched) {
  const Tensor a = tf::constant(floats({1, 2, 4})), b = tf::constant(2.0F);
  tf::Session session;
  EXPECT_EQ(numbers(session.run(a)[0]), Numbers({1, 2, 4}));
  EXPECT_EQ(numbers(session.run(a * b + 1.0)[0]), Numbers({3, 5, 9}));
  EXPECT_EQ(session.run(tf::reduce_sum(tf::square(a)))[0].item<float>(), 21);
  EXPECT_EQ(session.run(tf::constant(7))[0].dtype(), DType::int32);
}

TEST_F(Tf1, a_constant_keeps_its_value_when_the_array_changes) {
  Array values = floats({1, 2});
  const Tensor constant = tf::constant(values);
  values.mutable_data<float>()[0] = 5;
  EXPECT_EQ(numbers(tf::Session().run(constant)[0]), Numbers({1, 2}));
}

TEST_F(Tf1, placeholders_take_batches_of_any_size) {
  const Tensor x = tf::placeholder(DType::float32, {-1, 2}, "x"), y = tf::placeholder(DType::float32, {}, "y");
  const Tensor z = tf::reduce_sum(x, {1}) * y;
  tf::Session session;
  const Array scale = Array::scalar(10.0F);
  EXPECT_EQ(numbers(session.run(z, {{x, Array::of<float>({1, 2}, {1, 2})}, {y, scale}})[0]), Numbers({30}));
  EXPECT_EQ(numbers(session.run(z, {{x, Array::of<float>({1, 2, 3, 4}, {2, 2})}, {y, scale}})[0]), Numbers({30, 70}));
  EXPECT_EQ(session.run(x, {{x, Array(DType::float32, {0, 2})}})[0].shape(), Shape({0, 2}));
}

TEST_F(Tf1, runs_of_several_threads_take_turns) {
  const Tensor x = tf::placeholder(DType::float32, {2});
  const Tensor result = x * 2.0 + 1.0;
  tf::Session session;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int run = 0; run < 50; ++run)
        EXPECT_EQ(numbers(session.run(result, {{x, floats({1, 2})}})[0]), Numbers({3, 5}));
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Tf1, any_tensor_can_be_fed) {
  const Tensor x = tf::placeholder(DType::float32, {2}), doubled = x * 2.0, result = doubled + 1.0;
  tf::Session session;
  EXPECT_EQ(numbers(session.run(result, {{x, floats({1, 2})}})[0]), Numbers({3, 5}));
  EXPECT_EQ(numbers(session.run(result, {{doubled, floats({10, 20})}})[0]), Numbers({11, 21}));
  EXPECT_EQ(numbers(session.run(result, {{x, floats({1, 2})}})[0]), Numbers({3, 5}));
}

TEST_F(Tf1, variables_are_fetched_and_used_in_arithmetic) {
  const tf::Variable v(floats({1, 2}), {.name = "v"});
  tf::Session session;
  session.run(tf::global_variables_initializer());
  EXPECT_EQ(numbers(session.run(v)[0]), Numbers({1, 2}));
  EXPECT_EQ(numbers(session.run(Tensor(v) * 3.0 + v)[0]), Numbers({4, 8}));
}

TEST_F(Tf1, variables_without_a_name_get_one_of_their_own) {
  EXPECT_EQ(tf::Variable(floats({1})).name(), "Variable");
  EXPECT_EQ(tf::Variable(floats({1})).name(), "Variable_1");
  EXPECT_EQ(tf::Variable(floats({1}), {.name = "Variable"}).name(), "Variable_2");
}

TEST_F(Tf1, get_variable_shares_by_name) {
  const tf::Variable a = tf::get_variable("w", floats({1, 2})), b = tf::get_variable("w", floats({8, 9}));
  EXPECT_EQ(a.parameter(), b.parameter());
  EXPECT_EQ(message([] { tf::get_variable("w", floats({1})); }),
            "get_variable: 'w' is float32[2] already, not float32[1]");
}

TEST_F(Tf1, a_list_of_one_fetch_gives_a_list) {
  const Tensor x = tf::placeholder(DType::float32, {1}, "x");
  tf::Session session;
  const std::vector<Arrays> listed = session.run({x + 1.0}, {{x, ones({1})}});
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0][0].item<float>(), 2);
  const Arrays single = session.run(x + 1.0, {{x, ones({1})}});
  EXPECT_EQ(single[0].item<float>(), 2);
}

TEST_F(Tf1, fetches_of_one_run_share_one_element) {
  const auto iterator = tf::make_one_shot_iterator(points(6).batch(2));
  const auto [x, y] = iterator.get_next<2>();
  const auto [later_x, later_y] = iterator.get_next<2>();
  tf::Session session;
  const auto first = session.run({x, y, x + 1.0});
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(numbers(first[1][0]), Numbers({0, 1}));
  EXPECT_EQ(numbers(first[2][0])[0], first[0][0].data<float>()[0] + 1.0F);
  // Another get_next() is another element, in the same run, too.
  const auto second = session.run({later_y, y});
  EXPECT_EQ(numbers(second[0][0]), Numbers({2, 0}));
  EXPECT_EQ(numbers(second[1][0]), Numbers({1, 2}));
}

TEST_F(Tf1, an_iterator_ends_and_begins_again) {
  const auto iterator = tf::make_initializable_iterator(counting(3));
  const Tensor x = iterator.get_next<1>()[0];
  tf::Session session;
  for (int pass = 0; pass < 2; ++pass) {
    session.run(iterator.initializer());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(session.run(x)[0].item<int>(), i);
    for (int again = 0; again < 2; ++again) {
      EXPECT_THROW(session.run(x), tf::errors::OutOfRangeError);
      EXPECT_EQ(message([&] { session.run(x); }), "run: the iterator has ended; run its initializer() to begin again");
    }
  }
  session.run(iterator.initializer());
  session.run(x);
  session.run(iterator.initializer());
  EXPECT_EQ(session.run(x)[0].item<int>(), 0);
}

TEST_F(Tf1, a_computation_takes_placeholders_and_what_the_host_computes) {
  const Tensor x = tf::placeholder(DType::float32, {2}), y = tf::placeholder(DType::float32, {2});
  const auto computation = compiled([](Tensor a, Tensor b) -> tf::Outputs { return {a + b, a * b}; }, {x, y * 2.0});
  tf::Session session;
  session.run(tf::global_variables_initializer());
  const Arrays results = session.run(computation, {{x, floats({1, 2})}, {y, floats({5, 7})}});
  EXPECT_EQ(numbers(results[0]), Numbers({11, 16}));
  EXPECT_EQ(numbers(results[1]), Numbers({10, 28}));
}

TEST_F(Tf1, a_computation_returns_the_same_tensor_twice_and_its_inputs) {
  const Tensor x = tf::placeholder(DType::float32, {2});
  const auto computation = compiled(
      [](Tensor a) -> tf::Outputs {
        const Tensor b = a + 1.0;
        return {b, a, b};
      },
      {x});
  tf::Session session;
  session.run(tf::global_variables_initializer());
  const Arrays results = session.run(computation, {{x, floats({1, 2})}});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(numbers(results[0]), Numbers({2, 3}));
  EXPECT_EQ(numbers(results[1]), Numbers({1, 2}));
  EXPECT_EQ(numbers(results[2]), Numbers({2, 3}));
}

TEST_F(Tf1, what_has_no_variables_needs_no_initializer) {
  const Tensor x = tf::placeholder(DType::float32, {});
  const auto power =
      compiled([](Tensor a) { return repeat(3, [&](Tensor y) { return y * a; }, {tf::constant(1.0F)}); }, {x});
  EXPECT_EQ(tf::Session().run(power, {{x, Array::scalar(5.0F)}})[0].item<float>(), 125);
}

TEST_F(Tf1, tensors_that_are_used_again_and_again_are_computed_once) {
  const Tensor x = tf::placeholder(DType::float32, {});
  Tensor y = x;
  for (int i = 0; i < 40; ++i) y = (y + y) * 0.5;
  const auto computation = compiled([&]() -> tf::Outputs { return {tf::constant(1.0F) + y}; });
  tf::Session session;
  EXPECT_EQ(session.run(y, {{x, Array::scalar(5.0F)}})[0].item<float>(), 5);
  EXPECT_EQ(session.run(computation, {{x, Array::scalar(5.0F)}})[0].item<float>(), 6);
}

TEST_F(Tf1, compiling_within_a_computation_leaves_it_as_it_was) {
  tf::Compiled inner;
  const auto outer = compiled([&]() -> tf::Outputs {
    const Tensor two = tf::constant(2.0F);
    inner = compiled([]() -> tf::Outputs { return {tf::constant(3.0F)}; });
    EXPECT_EQ(message([&] { compiled([&]() -> tf::Outputs { return {tf::constant(1.0F) + two}; }); }),
              "a tensor from within another computation, or from the body of a loop, is used; return it from there");
    return {two * tf::constant(5.0F)};
  });
  tf::Session session;
  EXPECT_EQ(session.run(outer)[0].item<float>(), 10);
  EXPECT_EQ(session.run(inner)[0].item<float>(), 3);
}

TEST_F(Tf1, functions_use_tensors_from_outside) {
  const Tensor fed = tf::placeholder(DType::float32, {}, "fed"), constant = tf::constant(100.0F);
  const tf::Variable variable(Array::scalar(1000.0F), {.name = "v"});
  const Tensor recorded = variable;
  const auto iterator = tf::make_one_shot_iterator(counting(10));
  const Tensor column = iterator.get_next<1>()[0];
  const auto straight =
      compiled([&]() -> tf::Outputs { return {tf::constant(0.5F) + fed + constant + recorded + column}; });
  const auto loop = compiled([&]() -> tf::Outputs {
    const Tensor before = tf::constant(0.5F) + fed;
    return repeat(3, [&](Tensor sum) { return sum + fed + constant + variable + column + before; },
                  {tf::constant(0.0F)});
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  const tf::Feeds feeds = {{fed, Array::scalar(10.0F)}};
  EXPECT_EQ(session.run(straight, feeds)[0].item<float>(), 1110.5F);
  EXPECT_EQ(session.run(straight, feeds)[0].item<float>(), 1111.5F);
  EXPECT_EQ(session.run(loop, feeds)[0].item<float>(), 3 * (10 + 100 + 1000 + 2 + 10.5F));
}

TEST_F(Tf1, what_was_built_of_variables_outside_follows_them_inside) {
  const tf::Variable v(Array::scalar(3.0F), {.name = "v"});
  const Tensor square = tf::square(v), loss = square + 1.0;
  const auto training = compiled([&]() -> tf::Outputs {
    repeat(4, [&]() -> tf::Outputs {
      return {tf::train::GradientDescentOptimizer({.learning_rate = 0.25}).minimize(loss)};
    });
    return {tf::constant(0.0F) + square};
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  // v - 0.25 * 2 v is half of v.
  EXPECT_EQ(session.run(training)[0].item<float>(), std::pow(3.0F / 16, 2.0F));
}

TEST_F(Tf1, batches_of_three_are_computed_with) {
  const auto iterator = tf::make_one_shot_iterator(counting(6).batch(3));
  const Tensor doubled = iterator.get_next<1>()[0] * 2.0;
  const auto computation = compiled([&]() -> tf::Outputs { return {tf::constant(1.0F) + doubled}; });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  EXPECT_EQ(numbers(session.run(computation)[0]), Numbers({1, 3, 5}));
}

TEST_F(Tf1, variables_are_assigned_at_the_end_of_a_step) {
  const tf::Variable v(Array::scalar(1.0F), {.name = "v"});
  const auto step = compiled([&]() -> tf::Outputs {
    const tf::Operation doubling = v.assign(Tensor(v) * 2.0);
    return {Tensor(v), doubling};
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  EXPECT_EQ(session.run(step)[0].item<float>(), 1);
  EXPECT_EQ(session.run(step)[0].item<float>(), 2);
  EXPECT_EQ(session.run(v)[0].item<float>(), 4);
  session.run(tf::global_variables_initializer());
  EXPECT_EQ(session.run(v)[0].item<float>(), 1);
}

TEST_F(Tf1, devices_share_variables) {
  configure({1, 1});
  const tf::Variable v(Array::scalar(1.0F), {.name = "v"});
  const auto add = compiled([&] { return v.assign(Tensor(v) + 1.0); }, {}, "/device:IPU:0");
  const auto twice = compiled(
      [&]() -> tf::Outputs {
        return {Tensor(v) * 2.0, v.assign(Tensor(v) * 2.0)};
      },
      {}, "/device:IPU:1");
  tf::Session session;
  session.run(tf::global_variables_initializer());
  const auto results = session.run(std::vector<tf::Fetch>{add, twice, v});
  EXPECT_TRUE(results[0].empty());
  EXPECT_EQ(results[1][0].item<float>(), 4);
  EXPECT_EQ(results[2][0].item<float>(), 4);
}

TEST_F(Tf1, a_later_initializer_does_not_undo_an_earlier_one) {
  const tf::Variable a(Array::scalar(1.0F), {.name = "a"});
  const tf::Operation early = tf::global_variables_initializer();
  const tf::Variable b(Array::scalar(2.0F), {.name = "b"});
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(early);
  EXPECT_EQ(session.run(b)[0].item<float>(), 2);
}

TEST_F(Tf1, keras_models_learn_digits_in_sessions) {
  const auto digits = datasets::synthetic_digits(512, 1).train;
  const auto dataset =
      Dataset::from_tensor_slices({digits.x.astype(DType::float32) / 255.0, digits.y.astype(DType::int32)})
          .repeat()
          .batch(32, {.drop_remainder = true});
  set_random_seed(3);
  keras::Sequential model(
      {keras::layers::Flatten(), keras::layers::Dense(32, {.activation = "relu"}), keras::layers::Dense(10)});
  const auto [x, y] = tf::make_one_shot_iterator(dataset).get_next<2>();
  const auto step = compiled(
      [&](Tensor images, Tensor labels) -> tf::Outputs {
        const Tensor loss = tf::losses::sparse_softmax_cross_entropy(labels, model(images, {.training = true}));
        return {loss, tf::train::AdamOptimizer({.learning_rate = 0.01}).minimize(loss)};
      },
      {x, y});
  tf::Session session;
  session.run(tf::global_variables_initializer());
  const double first = session.run(step)[0].item<float>();
  double last = first;
  for (int i = 0; i < 64; ++i) last = session.run(step)[0].item<float>();
  EXPECT_GT(first, 2.0);
  EXPECT_LT(last, 0.5);
}

TEST_F(Tf1, a_run_after_a_failed_one_is_good) {
  const Tensor x = tf::placeholder(DType::float32, {2}, "x");
  const tf::Variable v(Array::scalar(0.0F), {.name = "v"});
  const auto step = compiled([&](Tensor a) -> tf::Outputs { return {a + v, v.assign(Tensor(v) + 1.0)}; }, {x});
  tf::Session session;
  session.run(tf::global_variables_initializer());
  EXPECT_EQ(message([&] { session.run(step); }), "run: the placeholder 'x' is not fed; give its value with the run");
  EXPECT_EQ(numbers(session.run(step, {{x, floats({1, 2})}})[0]), Numbers({1, 2}));
  EXPECT_EQ(numbers(session.run(step, {{x, floats({1, 2})}})[0]), Numbers({2, 3}));
}

TEST_F(Tf1, tracing_after_a_failure_begins_anew) {
  EXPECT_THROW(compiled([]() -> tf::Outputs { throw Error("midst of tracing"); }), Error);
  EXPECT_THROW(compiled([]() -> tf::Outputs {
                 return repeat(2, [](Tensor) -> tf::Outputs { throw Error("midst of a body"); }, {tf::constant(1.0F)});
               }),
               Error);
  // Nothing is being traced now: these are tensors of the session.
  tf::Session session;
  EXPECT_EQ(session.run(tf::constant(1.0F) + tf::constant(2.0F))[0].item<float>(), 3);
  EXPECT_EQ(message([] { repeat(1, []() -> tf::Outputs { return {}; }); }),
            "repeat: it belongs in a computation that ipu_compiler::compile traces");
  EXPECT_EQ(message([] { compile([]() -> tf::Outputs { return {}; }); }),
            "compile: there is no device to compile for; make an ipu::scopes::ipu_scope(\"/device:IPU:0\") around it");
  const auto good = compiled([]() -> tf::Outputs {
    const Tensor one = tf::constant(1.0F);
    const auto failing = [&](Tensor x) -> tf::Outputs { throw Error(to_string((x + one).shape())); };
    EXPECT_THROW(repeat(2, failing, {one}), Error);
    EXPECT_THROW(while_loop([&](Tensor x) { return tf::less(x, one); }, failing, {one}), Error);
    return repeat(2, [&](Tensor x) { return x + one; }, {one});
  });
  session.run(tf::global_variables_initializer());
  EXPECT_EQ(session.run(good)[0].item<float>(), 3);
}

TEST_F(Tf1, the_older_helpers_configure_the_same_system) {
  using namespace ipu::utils;
  configure_ipu_system(auto_select_ipus(create_ipu_config(), {1, 2}));
  const std::vector<DeviceInfo> selected = devices();
  ASSERT_EQ(selected.size(), 3u);
  EXPECT_EQ(selected[1].name, "/device:IPU:0");
  EXPECT_EQ(selected[2].ipus, 2);
  ipu::reset_ipu_configuration();
  configure_ipu_system(select_ipus(create_ipu_config(), {0, 3}));
  EXPECT_EQ(devices().size(), 3u);
  EXPECT_EQ(message([] { configure_ipu_system(create_ipu_config()); }),
            "IPUConfig: no IPU is selected; set auto_select_ipus to the number you want");
}

TEST_F(Tf1, functions_may_have_any_number_of_arguments_and_outputs) {
  const std::vector<Tensor> columns =
      tf::make_one_shot_iterator(Dataset::from_tensor_slices({floats({1, 2}), floats({10, 20})})).get_next();
  ASSERT_EQ(columns.size(), 2);
  const tf::TracedFunction sum(columns.size(), [](const std::vector<Tensor>& x) {
    const std::vector<tf::Outputs::Output> outputs = {x[0] + x[1], tf::Operation(), x[0] * 2.0};
    return tf::Outputs(outputs);
  });
  const tf::Compiled run = compiled(sum, columns);
  tf::Session session;
  const Arrays first = session.run(run);
  ASSERT_EQ(first.size(), 2);
  EXPECT_EQ(first[0].item<float>(), 11);
  EXPECT_EQ(first[1].item<float>(), 2);
  EXPECT_EQ(session.run(run)[0].item<float>(), 22);
  EXPECT_EQ(message([&] { compiled(sum, {columns[0]}); }), "compile: the function takes 2 tensors but is given 1");
}

TEST_F(Tf1, the_tutorials_model_has_its_parameters) {
  const auto conv = [] { return keras::layers::Conv2D(8, {3, 3}, {.activation = "relu", .padding = "same"}); };
  const keras::Sequential model(
      {keras::layers::Reshape({28, 28, 1}), conv(), conv(), keras::layers::Flatten(), keras::layers::Dense(10)});
  compiled([&](Tensor x) { return model(x, {.training = true}); }, {tf::placeholder(DType::float32, {32, 28, 28})});
  EXPECT_EQ(model.count_params(), 63'394);
}

}  // namespace

}  // namespace pando
