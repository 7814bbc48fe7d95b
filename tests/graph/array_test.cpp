// SPDX-License-Identifier: Apache-2.0
// Arrays, shapes and dtypes as users hold them.
#include <pando/base/array.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/bfloat16.h"
#include "tests/message.h"

namespace pando {
namespace {

TEST(Array, SharesElementsUntilCloned) {
  Array a = Array::of<float>({1, 2, 3, 4, 5, 6}, {3, 2});
  Array same = a, copy = a.clone();
  a.mutable_data<float>()[0] = 9;
  EXPECT_EQ(same.data<float>()[0], 9);
  EXPECT_EQ(copy.data<float>()[0], 1);
}

TEST(Array, OverMemoryOfSomeoneElseKeepsItsOwnerAndCopiesNothing) {
  auto owner = std::make_shared<std::vector<float>>(6, 1.0f);
  const std::weak_ptr<const void> life = owner;
  float* data = owner->data();
  Array rows;
  {
    Array all = Array::over(data, DType::float32, {3, 2}, std::move(owner));
    EXPECT_EQ(all.data<float>(), data);
    all.mutable_data<float>()[5] = 7;
    rows = all.slice(2, 3).reshape({2});
  }
  EXPECT_FALSE(life.expired());
  EXPECT_EQ(data[5], 7);
  EXPECT_EQ(rows.data<float>(), data + 4);
  rows = Array();
  EXPECT_TRUE(life.expired());
}

TEST(Array, OverMemoryThatIsOnlyReadRefusesWriters) {
  const std::int32_t values[] = {1, 2};
  Array array = Array::over(const_cast<std::int32_t*>(values), DType::int32, {2}, nullptr, false);
  EXPECT_FALSE(array.is_writable());
  EXPECT_FALSE(array.slice(0, 1).is_writable());
  EXPECT_EQ(array.data<std::int32_t>()[1], 2);
  EXPECT_EQ(message([&] { array.mutable_raw(); }),
            "the array int32[2] is over memory that is only read; write to a clone()");
  EXPECT_EQ(message([&] { array.mutable_data<std::int32_t>(); }),
            "the array int32[2] is over memory that is only read; write to a clone()");
  Array copy = array.clone();
  copy.mutable_data<std::int32_t>()[0] = 5;
  EXPECT_EQ(values[0], 1);
}

TEST(Array, OverMemoryThatIsNotAlignedIsRefused) {
  alignas(8) std::byte bytes[16] = {};
  EXPECT_EQ(message([&] { Array::over(bytes + 2, DType::float32, {2}, nullptr); }),
            "Array::over: memory for float32 must be aligned to 4 bytes; copy it");
}

TEST(Array, SliceIsAViewOfRows) {
  const Array a = Array::of<std::int32_t>({0, 1, 2, 3, 4, 5}, {3, 2});
  const Array rows = a.slice(1, 3);
  EXPECT_EQ(rows.shape(), (Shape{2, 2}));
  EXPECT_EQ(rows.data<std::int32_t>(), a.data<std::int32_t>() + 2);
  EXPECT_EQ(a.slice(3, 3).elements(), 0);
}

TEST(Array, CastsBetweenAllTypes) {
  const Array a = Array::of<float>({0, 1.5f, -2}, {3});
  EXPECT_EQ(a.astype(DType::int32).data<std::int32_t>()[2], -2);
  EXPECT_EQ(a.astype(DType::int64).data<std::int64_t>()[1], 1);
  EXPECT_EQ(a.astype(DType::boolean).data<bool>()[1], true);
  EXPECT_EQ(a.astype(DType::bfloat16).astype(DType::float32).data<float>()[1], 1.5f);
  EXPECT_EQ(a.astype(DType::float64).data<double>()[1], 1.5);
}

TEST(Array, BFloat16RoundsToNearestEven) {
  EXPECT_EQ(to_float(to_bfloat16(1.0f + 0x1p-8f)), 1.0f);
  EXPECT_EQ(to_float(to_bfloat16(1.0f + 0x1p-8f + 0x1p-20f)), 1.0f + 0x1p-7f);
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Array, ReshapeFillsInOneSize) {
  const Array a(DType::float32, {4, 6});
  EXPECT_EQ(a.reshape({-1, 8}).shape(), (Shape{3, 8}));
  EXPECT_EQ(message([&] { a.reshape({5, -1}); }), "cannot reshape an array [4, 6] of 24 elements to [5, -1]");
  EXPECT_EQ(message([&] { a.reshape({5, 5}); }), "cannot reshape an array [4, 6] of 24 elements to [5, 5]");
}

TEST(Array, RefusesWhatCannotBe) {
  EXPECT_EQ(message([] { Array(DType::float32, {2, -3}); }), "the shape [2, -3] has a negative size");
  EXPECT_EQ(message([] {
              Array(DType::float32, {1ll << 40, 1ll << 40});
            }),
            "the shape [1099511627776, 1099511627776] has more elements than fit in 64 bits");
  EXPECT_EQ(message([] { Array(DType::float64, {1ll << 61}); }),
            "the shape [2305843009213693952] of float64 has more bytes than fit in 64 bits");
  EXPECT_EQ(message([] { Array(DType::float32, {2}).data<double>(); }),
            "the array holds float32, not float64; cast it with astype");
  EXPECT_EQ(message([] { Array(DType::float32, {2}).item<float>(); }),
            "item() needs an array of one element; this one has the shape [2]");
  EXPECT_EQ(message([] { Array(DType::float32, {2}).slice(1, 3); }),
            "slice [1, 3) is outside the 2 rows of an array [2]");
  EXPECT_EQ(message([] { Array::of<float>({1, 2}, {3}); }), "Array::of: 2 values do not fill the shape [3]");
  EXPECT_EQ(message([] { Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}); }), "a shape has at most 8 axes; reshape to fewer");
}

TEST(Array, AZeroSizeMakesAnyShapeEmpty) { EXPECT_EQ((Shape{1ll << 62, 1ll << 62, 0}).elements(), 0); }

TEST(DType, ReadsItsOwnNames) {
  for (const char* text : {"float32", "float64", "bfloat16", "int32", "int64", "uint8", "bool"})
    EXPECT_EQ(name(parse_dtype(text)), text);
  EXPECT_EQ(message([] { parse_dtype("flaot32"); }), "unknown dtype 'flaot32'; did you mean 'float32'?");
  EXPECT_EQ(message([] { parse_dtype("quaternion"); }),
            "unknown dtype 'quaternion'; known are: float32, float64, bfloat16, int32, int64, uint8, bool");
}

TEST(Shape, JoinsOuterAndInnerSizes) {
  EXPECT_EQ(joined({5}, {2, 3}), (Shape{5, 2, 3}));
  EXPECT_EQ(joined({5, 2}, {}), (Shape{5, 2}));
  EXPECT_EQ(joined({}, {}), Shape());
  EXPECT_EQ(message([] { joined({1, 2, 3, 4, 5}, {6, 7, 8, 9}); }), "a shape has at most 8 axes; reshape to fewer");
}

}  // namespace
}  // namespace pando
