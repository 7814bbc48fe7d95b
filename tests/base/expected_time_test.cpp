// SPDX-License-Identifier: Apache-2.0
// A thread that waits for work wakes up before it is over, also after it slept too long.
#include "base/machine/expected_time.h"

#include <gtest/gtest.h>

namespace pando {
namespace {

using Seconds = ExpectedTime::Seconds;

// Waits for work that takes `time`; returns when the thread sees its end.
Seconds wait_for(ExpectedTime& expected, double work, Seconds time) {
  const Seconds slept = expected.sleep(work, Seconds(0));
  const bool was_over = slept > time;
  const Seconds seen = was_over ? slept : time;
  expected.learn(work, seen, was_over);
  return seen;
}

TEST(ExpectedTime, SleepsOnlyIfItKnowsEnough) {
  ExpectedTime expected;
  EXPECT_EQ(expected.sleep(100, Seconds(0)), Seconds(0));
  expected.learn(100, Seconds(0.005), false);
  EXPECT_GT(expected.sleep(100, Seconds(0)), Seconds(0.004));
  EXPECT_LT(expected.sleep(100, Seconds(0)), Seconds(0.005));
  EXPECT_GT(expected.sleep(200, Seconds(0)), Seconds(0.009));
  // Most of it has passed.
  EXPECT_EQ(expected.sleep(100, Seconds(0.0049)), Seconds(0));
  expected.forget();
  EXPECT_EQ(expected.sleep(100, Seconds(0)), Seconds(0));
}

TEST(ExpectedTime, RecoversFromATurnThatTookLong) {
  ExpectedTime expected;
  expected.learn(100, Seconds(1), false);
  int turns = 0;
  while (wait_for(expected, 100, Seconds(0.004)) > Seconds(0.004)) ASSERT_LT(++turns, 12);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(wait_for(expected, 100, Seconds(0.004)), Seconds(0.004));
}

TEST(ExpectedTime, ShortWorkIsWaitedForAwake) {
  ExpectedTime expected;
  expected.learn(10, Seconds(0.0001), false);
  EXPECT_EQ(expected.sleep(10, Seconds(0)), Seconds(0));
  EXPECT_GE(expected.awake(10), Seconds(0.0002));
  // Long work does not keep a core.
  expected.learn(10, Seconds(10), false);
  EXPECT_LT(expected.awake(10), Seconds(0.001));
}

}  // namespace
}  // namespace pando
