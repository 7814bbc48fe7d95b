// SPDX-License-Identifier: Apache-2.0
// Queues: nothing of what goes into loops and comes out of them is lost.
#include <chrono>
#include <thread>

#include "tests/tf1/programs.h"

namespace pando {

namespace {

using Numbers = std::vector<double>;

TEST_F(Tf1, two_loops_that_share_a_queue_lose_no_element) {
  const ipu::IPUInfeedQueue infeed(counting(200));
  const auto add = [](Tensor sum, Tensor x) -> tf::Outputs { return {sum * 2.0 + x}; };
  const auto both = compiled([&]() -> tf::Outputs {
    const tf::Outputs first = repeat(3, add, {tf::constant(0.0F)}, infeed);
    const tf::Outputs second = repeat(2, add, {tf::constant(0.0F)}, infeed);
    return {first.tensor(0), second.tensor(0)};
  });
  const auto alone = compiled([&] { return repeat(1, add, {tf::constant(0.0F)}, infeed); });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  float next = 0;
  for (int i = 0; i < 30; ++i) {
    const Arrays sums = session.run(both);
    EXPECT_EQ(sums[0].item<float>(), 4 * next + 2 * (next + 1) + next + 2);
    EXPECT_EQ(sums[1].item<float>(), 2 * (next + 3) + next + 4);
    next += 5;
    EXPECT_EQ(session.run(alone)[0].item<float>(), next++);
  }
}

TEST_F(Tf1, a_slow_queue_keeps_its_order_between_loops) {
  const auto slow = counting(40).map([](const data::Element& element) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return element;
  });
  const ipu::IPUInfeedQueue infeed(slow);
  const auto last = [](Tensor, Tensor x) -> tf::Outputs { return {x}; };
  const auto one = compiled([&] { return repeat(1, last, {tf::constant(0.0F)}, infeed); });
  const auto three = compiled([&] { return repeat(3, last, {tf::constant(0.0F)}, infeed); });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  for (int pass = 0; pass < 2; ++pass) {
    session.run(infeed.initializer());
    for (float next = 0; next < 20; next += 4) {
      EXPECT_EQ(session.run(one)[0].item<float>(), next);
      EXPECT_EQ(session.run(three)[0].item<float>(), next + 3);
    }
  }
}

TEST_F(Tf1, a_data_set_that_ends_says_how_many_steps_ran) {
  const tf::Variable steps(Array::scalar(0.0F), {.name = "steps"});
  const ipu::IPUInfeedQueue infeed(counting(5));
  const ipu::IPUOutfeedQueue outfeed;
  const auto loop = compiled([&] {
    return repeat(
        3,
        [&](Tensor x) -> tf::Outputs {
          return {steps.assign(Tensor(steps) + 1.0), outfeed.enqueue({x})};
        },
        {}, infeed);
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  for (int pass = 0; pass < 2; ++pass) {
    session.run(infeed.initializer());
    session.run(loop);
    EXPECT_EQ(message([&] { session.run(loop); }),
              "run: the infeed queue has ended after 2 of 3 steps; repeat() the data set, or run its initializer() to "
              "begin again");
    EXPECT_EQ(message([&] { session.run(loop); }),
              "run: the infeed queue has ended after 0 of 3 steps; repeat() the data set, or run its initializer() to "
              "begin again");
    EXPECT_EQ(session.run(steps)[0].item<int>(), 5 * (pass + 1));
    EXPECT_EQ(numbers(session.run(outfeed.dequeue())[0]), Numbers({0, 1, 2, 3, 4}));
  }
}

TEST_F(Tf1, a_failing_data_set_stops_a_loop_behind_its_good_elements) {
  const tf::Variable steps(Array::scalar(0.0F), {.name = "steps"});
  const ipu::IPUInfeedQueue infeed(counting(5).map([](const data::Element& element) {
    if (element[0].item<int>() == 3) throw Error("element 3 is bad");
    return element;
  }));
  const auto loop = compiled([&] {
    return repeat(
        2, [&](Tensor) { return steps.assign(Tensor(steps) + 1.0); }, {}, infeed);
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  session.run(loop);
  for (int again = 0; again < 2; ++again) EXPECT_EQ(message([&] { session.run(loop); }), "element 3 is bad");
  EXPECT_EQ(session.run(steps)[0].item<int>(), 3);
  session.run(infeed.initializer());
  session.run(loop);
  EXPECT_EQ(session.run(steps)[0].item<int>(), 5);
}

TEST_F(Tf1, outfeeds_keep_all_or_the_last) {
  const ipu::IPUInfeedQueue infeed(counting(100).batch(2));
  const ipu::IPUOutfeedQueue all, last({.outfeed_mode = ipu::IPUOutfeedMode::LAST});
  const auto loop = compiled([&] {
    return repeat(
        3,
        [&](Tensor x) -> tf::Outputs {
          return {all.enqueue({x, tf::reduce_sum(x)}), last.enqueue({x * 10.0})};
        },
        {}, infeed);
  });
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(infeed.initializer());
  session.run(loop);
  session.run(loop);
  const Arrays kept = session.run(all.dequeue());
  EXPECT_EQ(kept[0].shape(), Shape({6, 2}));
  EXPECT_EQ(numbers(kept[0]), Numbers({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(numbers(kept[1]), Numbers({1, 5, 9, 13, 17, 21}));
  EXPECT_EQ(numbers(session.run(last.dequeue())[0]), Numbers({100, 110}));
  session.run(loop);
  EXPECT_EQ(numbers(session.run(all.dequeue())[1]), Numbers({25, 29, 33}));
  EXPECT_EQ(session.run(last.dequeue())[0].shape(), Shape({2}));
}

TEST_F(Tf1, a_queue_outlives_what_it_was_made_of) {
  tf::Compiled loop;
  tf::Operation initializer;
  tf::Fetch results = tf::Operation();
  {
    const ipu::IPUInfeedQueue infeed(counting(4));
    const ipu::IPUOutfeedQueue outfeed;
    loop = compiled([&] {
      return repeat(
          4, [&](Tensor x) { return outfeed.enqueue({x}); }, {}, infeed);
    });
    initializer = infeed.initializer();
    results = outfeed.dequeue();
  }
  tf::Session session;
  session.run(tf::global_variables_initializer());
  session.run(initializer);
  session.run(loop);
  EXPECT_EQ(numbers(session.run(results)[0]), Numbers({0, 1, 2, 3}));
}

}  // namespace

}  // namespace pando
