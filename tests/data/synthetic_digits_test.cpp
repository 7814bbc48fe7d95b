// SPDX-License-Identifier: Apache-2.0
// The drawn digits: the same bytes everywhere, varied, and each on its own.
#include <pando/datasets/datasets.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "tests/message.h"

namespace pando {
namespace {

using datasets::Split;
using datasets::synthetic_digits;

// FNV-1a.
std::uint64_t hash(const Array& array) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < array.bytes(); ++i)
    value = (value ^ std::to_integer<std::uint64_t>(array.raw()[i])) * 0x100000001b3;
  return value;
}

bool equal(const Array& a, const Array& b) { return a.shape() == b.shape() && hash(a) == hash(b); }

TEST(SyntheticDigits, AreTheSameBytesOnEveryMachine) {
  const Split train = synthetic_digits(100, 0).train;
  EXPECT_EQ(train.x.shape(), (Shape{100, 28, 28}));
  EXPECT_EQ(train.x.dtype(), DType::uint8);
  EXPECT_EQ(hash(train.x), 16379829059033893157u);
  EXPECT_EQ(hash(train.y), 6099015108836678824u);
}

TEST(SyntheticDigits, DoNotDependOnTheirNumber) {
  const datasets::Splits few = synthetic_digits(10, 20), many = synthetic_digits(50, 30);
  EXPECT_TRUE(equal(few.train.x, many.train.x.slice(0, 10)));
  EXPECT_TRUE(equal(few.train.y, many.train.y.slice(0, 10)));
  EXPECT_TRUE(equal(few.test.x, many.test.x.slice(0, 20)));
}

TEST(SyntheticDigits, DifferBetweenSplitsAndSeeds) {
  const datasets::Splits zero = synthetic_digits(50, 50), one = synthetic_digits(50, 50, 1);
  EXPECT_FALSE(equal(zero.train.x, zero.test.x));
  EXPECT_FALSE(equal(zero.train.x, one.train.x));
  EXPECT_FALSE(equal(zero.train.y, one.train.y));
}

TEST(SyntheticDigits, HaveAllLabelsAboutEquallyOften) {
  const Split train = synthetic_digits(5000, 0).train;
  std::array<int, 10> counts = {};
  for (std::int64_t i = 0; i < 5000; ++i) ++counts.at(train.y.data<std::uint8_t>()[i]);
  for (int count : counts) EXPECT_NEAR(count, 500, 100);
}

struct Extent {
  int top = 28, left = 28, ink = 0;
};

Extent extent(const std::uint8_t* pixels) {
  Extent result;
  for (int i = 0; i < 784; ++i) {
    if (pixels[i] < 100) continue;
    result.top = std::min(result.top, i / 28);
    result.left = std::min(result.left, i % 28);
    ++result.ink;
  }
  return result;
}

TEST(SyntheticDigits, VaryInPlaceSizeAndThickness) {
  const Split train = synthetic_digits(2000, 0).train;
  std::set<int> tops, lefts;
  int least = 784, most = 0;
  std::set<std::uint64_t> images;
  for (std::int64_t i = 0; i < 2000; ++i) {
    const Extent found = extent(train.x.data<std::uint8_t>() + i * 784);
    ASSERT_GT(found.ink, 8) << "image " << i << " is almost empty";
    tops.insert(found.top);
    lefts.insert(found.left);
    least = std::min(least, found.ink);
    most = std::max(most, found.ink);
    images.insert(hash(train.x.slice(i, i + 1)));
  }
  EXPECT_EQ(images.size(), 2000u);
  EXPECT_GE(tops.size(), 9u);
  EXPECT_GE(lefts.size(), 12u);
  EXPECT_LT(least, 40);
  EXPECT_GT(most, 200);
}

// The ink would be cut off there.
TEST(SyntheticDigits, StayAwayFromTheEdge) {
  const Split train = synthetic_digits(5000, 0).train;
  for (std::int64_t i = 0; i < 5000; ++i) {
    const std::uint8_t* pixels = train.x.data<std::uint8_t>() + i * 784;
    for (int at = 0; at < 28; ++at)
      for (int pixel : {at, 27 * 28 + at, at * 28, at * 28 + 27}) ASSERT_LT(pixels[pixel], 128) << "image " << i;
  }
}

TEST(SyntheticDigits, RefuseNegativeNumbers) {
  EXPECT_EQ(message([] { synthetic_digits(-1, 2); }),
            "synthetic_digits: -1 and 2 images are asked for; the numbers must not be negative");
}

}  // namespace
}  // namespace pando
