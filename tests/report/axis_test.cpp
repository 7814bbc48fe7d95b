// SPDX-License-Identifier: Apache-2.0
// Axes have round numbers, whatever is drawn on them.
#include "report/pictures/axis.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pando::plot {
namespace {

std::string ticks(const Axis& axis) {
  std::string text;
  for (const Tick& tick : axis.ticks) text += (text.empty() ? "" : " ") + tick.text;
  return text;
}

TEST(Axis, CountsEpochsInWholeNumbers) {
  EXPECT_EQ(ticks(epoch_axis(1)), "1");
  EXPECT_EQ(ticks(epoch_axis(2)), "1 2");
  EXPECT_EQ(ticks(epoch_axis(4)), "1 2 3 4");
  EXPECT_EQ(ticks(epoch_axis(12)), "2 4 6 8 10 12");
  EXPECT_EQ(ticks(epoch_axis(20)), "5 10 15 20");
  EXPECT_EQ(ticks(epoch_axis(1000)), "200 400 600 800 1000");
}

TEST(Axis, HasRoundValues) {
  EXPECT_EQ(ticks(value_axis(0.05, 1.93)), "0.0 0.5 1.0 1.5 2.0");
  EXPECT_EQ(ticks(value_axis(0.45, 0.995)), "0.5 0.6 0.7 0.8 0.9 1.0");
  EXPECT_EQ(ticks(value_axis(-3, 4)), "-3 -2 -1 0 1 2 3 4");
  EXPECT_EQ(ticks(value_axis(1e-5, 1e-3)), "0.0000 0.0002 0.0004 0.0006 0.0008 0.0010");
  EXPECT_EQ(ticks(value_axis(1e-7, 3e-7)), "1e-07 1.5e-07 2e-07 2.5e-07 3e-07");
  EXPECT_EQ(ticks(value_axis(1e6, 3e6)), "1e+06 1.5e+06 2e+06 2.5e+06 3e+06");
}

TEST(Axis, HasRoomAroundEqualValues) {
  EXPECT_EQ(ticks(value_axis(0, 0)), "-1.0 -0.5 0.0 0.5 1.0");
  EXPECT_EQ(ticks(value_axis(2, 2)), "1.8 1.9 2.0 2.1 2.2");
  // Rounding alone makes no axis.
  EXPECT_EQ(ticks(value_axis(2, 2 + 1e-12)), "1.8 1.9 2.0 2.1 2.2");
}

TEST(Axis, HoldsWhatItIsGivenAndAFewTicks) {
  for (double size = 1e-300; size < 1e299; size *= 17) {
    for (const double smallest : {-size, -size / 3, 0.0, size / 2}) {
      const Axis axis = value_axis(smallest, size);
      EXPECT_LT(axis.low, smallest);
      EXPECT_GT(axis.high, size);
      EXPECT_GE(axis.ticks.size(), 3u) << smallest << " to " << size;
      EXPECT_LE(axis.ticks.size(), 9u) << smallest << " to " << size;
    }
  }
}

}  // namespace
}  // namespace pando::plot
