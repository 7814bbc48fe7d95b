// SPDX-License-Identifier: Apache-2.0
// NumPy-like functions of Arrays give NumPy's values, types and shapes.
#include <pando/base/array_functions.h>

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <limits>
#include <locale>
#include <sstream>

#include "tests/message.h"

namespace pando {
namespace {

const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();

template <class T>
void expect_array(const Array& array, const std::vector<T>& values, const Shape& shape) {
  EXPECT_EQ(name(array.dtype()), name(dtype_of<T>));
  EXPECT_EQ(to_string(array.shape()), to_string(shape));
  ASSERT_EQ(array.elements(), static_cast<std::int64_t>(values.size()));
  if (array.dtype() != dtype_of<T>) return;
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(array.data<T>()[i], values[i]) << "element " << i;
}

Array floats(const std::vector<float>& values) { return Array::of(values, {static_cast<std::int64_t>(values.size())}); }

Array integers(const std::vector<std::int32_t>& values) {
  return Array::of(values, {static_cast<std::int64_t>(values.size())});
}

Array bytes(const std::vector<std::uint8_t>& values) {
  return Array::of(values, {static_cast<std::int64_t>(values.size())});
}

TEST(ArrayFunctions, MakeNewArrays) {
  expect_array<float>(zeros({2}), {0, 0}, {2});
  expect_array<float>(ones({1, 2}), {1, 1}, {1, 2});
  expect_array<std::uint8_t>(full({3}, 7, DType::uint8), {7, 7, 7}, {3});
  expect_array<double>(full({}, 0.1, DType::float64), {0.1}, {});
  expect_array<std::int64_t>(arange(4), {0, 1, 2, 3}, {4});
  expect_array<float>(arange(2, DType::float32), {0, 1}, {2});
  expect_array<std::int64_t>(arange(5, -1, -2), {5, 3, 1}, {3});
  expect_array<double>(arange(0, 1, 0.25), {0, 0.25, 0.5, 0.75}, {4});
  expect_array<std::int64_t>(arange(3, 1), {}, {0});
  expect_array<float>(eye(2), {1, 0, 0, 1}, {2, 2});
  EXPECT_EQ(message([] { arange(-1); }), "arange: the count is -1; it must not be negative");
  EXPECT_EQ(message([] { arange(0, 1, 0); }),
            "arange: from 0 to 1 in steps of 0 has no end; give a finite step towards the end");
  EXPECT_EQ(message([] { eye(-2); }), "eye: the size is -2; it must not be negative");
}

TEST(ArrayFunctions, AddAndRemoveAxesWithoutCopying) {
  const Array a = zeros({2, 3});
  EXPECT_EQ(expand_dims(a, -1).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(expand_dims(a, 0).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(expand_dims(a, 1).raw(), a.raw());
  EXPECT_EQ(expand_dims(zeros({}), 0).shape(), (Shape{1}));
  EXPECT_EQ(squeeze(zeros({1, 2, 1})).shape(), (Shape{2}));
  EXPECT_EQ(squeeze(zeros({1, 2, 1}), -1).shape(), (Shape{1, 2}));
  EXPECT_EQ(squeeze(zeros({1, 0})).shape(), (Shape{0}));
  EXPECT_EQ(message([&] { expand_dims(a, 3); }),
            "expand_dims: axis 3 is out of range for 3 axes; it must be in [-3, 2]");
  EXPECT_EQ(message([&] { squeeze(a, 1); }),
            "squeeze: axis 1 of float32[2, 3] has the size 3; only axes of size 1 can be removed");
}

TEST(ArrayFunctions, ConcatenateAndStack) {
  const Array weights = concatenate({ones({3}), zeros({2})});
  expect_array<float>(weights, {1, 1, 1, 0, 0}, {5});
  const Array a = arange(4).reshape({2, 2});
  expect_array<std::int64_t>(concatenate({a, a.slice(0, 1)}), {0, 1, 2, 3, 0, 1}, {3, 2});
  expect_array<std::int64_t>(concatenate({a, a}, 1), {0, 1, 0, 1, 2, 3, 2, 3}, {2, 4});
  expect_array<std::int64_t>(concatenate({a, Array(DType::int64, {0, 2})}), {0, 1, 2, 3}, {2, 2});
  expect_array<float>(concatenate({bytes({200}), floats({0.5f})}), {200, 0.5f}, {2});
  expect_array<std::int64_t>(stack({arange(2), arange(2)}), {0, 1, 0, 1}, {2, 2});
  expect_array<std::int64_t>(stack({arange(2), arange(2)}, -1), {0, 0, 1, 1}, {2, 2});
  expect_array<float>(stack({zeros({}), ones({})}), {0, 1}, {2});
  EXPECT_EQ(message([] {
              concatenate({zeros({2, 5}), zeros({3, 4})});
            }),
            "concatenate: array 1 is float32[3, 4] but array 0 is float32[2, 5]; all sizes but that of axis 0 must be "
            "equal");
  EXPECT_EQ(message([] { concatenate({}); }), "concatenate: there are no arrays; give at least one");
  EXPECT_EQ(message([] {
              concatenate({zeros({}), zeros({})});
            }),
            "concatenate: array 0 is a scalar; stack makes an axis for scalars");
  EXPECT_EQ(message([] {
              stack({zeros({2}), zeros({3})});
            }),
            "stack: array 1 is float32[3] but array 0 is float32[2]; all shapes must be equal");
  EXPECT_EQ(message([] { stack({}); }), "stack: there are no arrays; give at least one");
}

TEST(ArrayFunctions, TransposeEveryElementSize) {
  const Array a = arange(6).reshape({2, 3});
  for (DType dtype : {DType::uint8, DType::bfloat16, DType::float32, DType::int64})
    expect_array<std::int64_t>(transpose(a.astype(dtype)).astype(DType::int64), {0, 3, 1, 4, 2, 5}, {3, 2});
  const Array cube = arange(24).reshape({2, 3, 4});
  const Array turned = transpose(cube, {2, 0, -2});
  EXPECT_EQ(turned.shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(turned.data<std::int64_t>()[(3 * 2 + 1) * 3 + 2], (1 * 3 + 2) * 4 + 3);
  EXPECT_EQ(transpose(zeros({})).shape(), Shape{});
  EXPECT_EQ(transpose(zeros({0, 3})).shape(), (Shape{3, 0}));
  EXPECT_EQ(message([&] {
              transpose(cube, {0, 1, 1});
            }),
            "transpose: [0, 1, 1] is not a permutation of the 3 axes of int64[2, 3, 4]; name each axis once");
}

TEST(ArrayFunctions, TakeRows) {
  const Array a = arange(6).reshape({3, 2});
  expect_array<std::int64_t>(take(a, {2, 0, -1}), {4, 5, 0, 1, 4, 5}, {3, 2});
  expect_array<std::int64_t>(take(arange(3), Array::of<std::uint8_t>({2, 1, 0, 2}, {2, 2})), {2, 1, 0, 2}, {2, 2});
  EXPECT_EQ(take(a, integers({})).shape(), (Shape{0, 2}));
  EXPECT_EQ(message([&] {
              take(a, {0, 3});
            }),
            "take: index 1 is 3, outside the 3 rows of int64[3, 2]; it must be in [-3, 2]");
  EXPECT_EQ(message([&] { take(a, floats({1})); }),
            "take: the indices are float32[1]; they must be integers: cast them with astype");
  EXPECT_EQ(message([&] { take(zeros({}), {0}); }), "take: a scalar has no rows; expand_dims makes it an array of one");
}

TEST(ArrayFunctions, SumAndMeanChooseTypesThatHoldThem) {
  const Array a = floats({1, 2, 3, 4, 5, 6}).reshape({2, 3});
  expect_array<float>(sum(a), {21}, {});
  expect_array<float>(sum(a, 0), {5, 7, 9}, {3});
  expect_array<float>(sum(a, -1, true), {6, 15}, {2, 1});
  expect_array<float>(sum(a, {}, true), {21}, {1, 1});
  expect_array<float>(mean(a, 1), {2, 5}, {2});
  expect_array<double>(mean(a.astype(DType::float64)), {3.5}, {});
  expect_array<float>(mean(a.astype(DType::bfloat16)), {3.5}, {});
  expect_array<std::int64_t>(sum(full({300}, 255, DType::uint8)), {76500}, {});
  expect_array<double>(mean(bytes({1, 2})), {1.5}, {});
  expect_array<std::int64_t>(sum(equal(a, 2)), {1}, {});
  expect_array<float>(sum(zeros({0, 2}), 0), {0, 0}, {2});
  EXPECT_TRUE(std::isnan(mean(zeros({0})).item<float>()));
  expect_array<float>(sum(full({1 << 25}, 1)), {1 << 25}, {});
  EXPECT_EQ(message([&] { sum(a, 2); }), "sum: axis 2 is out of range for 2 axes; it must be in [-2, 1]");
}

TEST(ArrayFunctions, StandardDeviationIsOfThePopulation) {
  const Array a = floats({2, 4, 4, 4, 5, 5, 7, 9});
  expect_array<float>(standard_deviation(a), {2}, {});
  expect_array<float>(standard_deviation(a.reshape({2, 4}), 0), {1.5f, 0.5f, 1.5f, 2.5f}, {4});
  expect_array<double>(standard_deviation(a.astype(DType::int32).reshape({4, 2}), 1, true), {1, 0, 0, 1}, {4, 1});
}

TEST(ArrayFunctions, FindTheLargestAndTheSmallest) {
  const Array a = Array::of<std::int32_t>({3, -1, 3, 0, 7, 2}, {2, 3});
  expect_array<std::int32_t>(max(a), {7}, {});
  expect_array<std::int32_t>(min(a, 0), {0, -1, 2}, {3});
  expect_array<std::int32_t>(max(a, 1, true), {3, 7}, {2, 1});
  expect_array<std::int64_t>(argmax(a), {4}, {});
  expect_array<std::int64_t>(argmax(a, 1), {0, 1}, {2});
  expect_array<std::int64_t>(argmin(a, -2), {1, 0, 1}, {3});
  expect_array<bool>(min(equal(a, 3), 1), {false, false}, {2});
  expect_array<std::int64_t>(argmax(floats({1, nan, 5, nan})), {1}, {});
  EXPECT_TRUE(std::isnan(min(floats({1, nan, -infinity})).item<float>()));
  EXPECT_EQ(max(floats({1, 2}).astype(DType::bfloat16)).dtype(), DType::bfloat16);
  EXPECT_EQ(argmax(zeros({0, 2}), 1).shape(), (Shape{0}));
  EXPECT_EQ(message([] {
              argmax(zeros({2, 0}), 1);
            }),
            "argmax: float32[2, 0] has no elements to choose from; give an array that is not empty");
}

TEST(ArrayFunctions, CompareByValueWhateverTheTypes) {
  expect_array<bool>(equal(arange(3), bytes({0, 2, 2})), {true, false, true}, {3});
  expect_array<bool>(less(arange(2).reshape({2, 1}), floats({0.5f, 1.5f})), {true, true, false, true}, {2, 2});
  const Array large = Array::of<std::int32_t>({(1 << 24) + 1}, {1});
  expect_array<bool>(equal(large, floats({1 << 24})), {false}, {1});
  expect_array<bool>(equal(floats({0.1f}), 0.1), {true}, {1});
  expect_array<bool>(equal(bytes({1}), 1.5), {false}, {1});
  expect_array<bool>(less(bytes({0, 255}), 300), {true, true}, {2});
  const Array a = integers({1, 2, 3});
  expect_array<bool>(not_equal(a, 2), {true, false, true}, {3});
  expect_array<bool>(less(a, 2), {true, false, false}, {3});
  expect_array<bool>(less_equal(a, 2), {true, true, false}, {3});
  expect_array<bool>(greater(a, 2), {false, false, true}, {3});
  expect_array<bool>(greater_equal(a, 2), {false, true, true}, {3});
  expect_array<bool>(isnan(floats({1, nan}).astype(DType::bfloat16)), {false, true}, {2});
  EXPECT_EQ(equal(zeros({0, 1}), zeros({3})).shape(), (Shape{0, 3}));
  EXPECT_EQ(message([] {
              equal(zeros({2, 3}), zeros({4}));
            }),
            "equal: the shapes [2, 3] and [4] do not broadcast: sizes 3 and 4 differ and neither is 1; reshape one of "
            "them");
}

TEST(ArrayFunctions, AccuracyIsExact) {
  const Array chosen = argmax(Array::of<float>({0, 1, 1, 0, 0, 1}, {3, 2}), 1);
  EXPECT_EQ(mean(equal(chosen, bytes({1, 1, 1}))).item<double>() * 100.0, 2.0 / 3.0 * 100.0);
}

TEST(ArrayFunctions, TellWhetherArraysAreEqualOrClose) {
  EXPECT_TRUE(array_equal(arange(3), floats({0, 1, 2})));
  EXPECT_FALSE(array_equal(arange(3), arange(3).reshape({3, 1})));
  EXPECT_FALSE(array_equal(floats({nan}), floats({nan})));
  EXPECT_TRUE(array_equal(zeros({0}), zeros({0})));
  EXPECT_TRUE(allclose(floats({1, 100}), floats({1.000001f, 100.0001f})));
  EXPECT_FALSE(allclose(floats({1}), floats({1.1f})));
  EXPECT_TRUE(allclose(floats({1}), floats({1.1f}), 0, 0.2));
  EXPECT_TRUE(allclose(floats({infinity, 1}), floats({infinity, 1})));
  EXPECT_FALSE(allclose(floats({1}), floats({infinity})));
  EXPECT_FALSE(allclose(floats({nan}), floats({nan})));
  EXPECT_TRUE(allclose(ones({2, 3}), ones({})));
}

TEST(ArrayFunctions, ArithmeticBroadcasts) {
  const Array column = floats({1, 2}).reshape({2, 1}), row = floats({10, 20, 30});
  expect_array<float>(column + row, {11, 21, 31, 12, 22, 32}, {2, 3});
  expect_array<float>(row - column, {9, 19, 29, 8, 18, 28}, {2, 3});
  expect_array<float>(row * Array::scalar(2.0f), {20, 40, 60}, {3});
  expect_array<float>(Array::scalar(60.0f) / row, {6, 3, 2}, {3});
  expect_array<float>(zeros({}) + ones({}), {1}, {});
  const Array cube = arange(8).reshape({2, 2, 2});
  expect_array<std::int64_t>(cube - cube.slice(0, 1), {0, 0, 0, 0, 4, 4, 4, 4}, {2, 2, 2});
  expect_array<std::int64_t>(cube * arange(2).reshape({2, 1}), {0, 0, 2, 3, 0, 0, 6, 7}, {2, 2, 2});
  EXPECT_EQ((zeros({0, 3}) + ones({1})).shape(), (Shape{0, 3}));
  EXPECT_EQ(message([&] { column.reshape({2}) + row; }),
            "a + b: the shapes [2] and [3] do not broadcast: sizes 2 and 3 differ and neither is 1; reshape one of "
            "them");
}

TEST(ArrayFunctions, ArithmeticPromotesTypes) {
  const auto promoted = [](DType a, DType b) { return (ones({1}, a) + ones({1}, b)).dtype(); };
  EXPECT_EQ(promoted(DType::uint8, DType::int32), DType::int32);
  EXPECT_EQ(promoted(DType::int64, DType::int32), DType::int64);
  EXPECT_EQ(promoted(DType::int64, DType::float32), DType::float32);
  EXPECT_EQ(promoted(DType::int32, DType::bfloat16), DType::float32);
  EXPECT_EQ(promoted(DType::bfloat16, DType::bfloat16), DType::bfloat16);
  EXPECT_EQ(promoted(DType::uint8, DType::float64), DType::float64);
  EXPECT_EQ(promoted(DType::float32, DType::float64), DType::float64);
  EXPECT_EQ(promoted(DType::boolean, DType::uint8), DType::uint8);
  EXPECT_EQ(promoted(DType::boolean, DType::boolean), DType::int64);
  expect_array<float>(integers({1, 3}) / integers({2, 2}), {0.5f, 1.5f}, {2});
  expect_array<std::uint8_t>(bytes({250}) + bytes({10}), {4}, {1});
  expect_array<std::int32_t>(integers({std::numeric_limits<std::int32_t>::max()}) + integers({1}),
                             {std::numeric_limits<std::int32_t>::min()}, {1});
}

TEST(ArrayFunctions, ScalarsTakeTheTypeOfTheirArray) {
  expect_array<float>(floats({255, 51}) / 255.0, {1, 51.0f / 255.0f}, {2});
  expect_array<float>(bytes({255, 51}) / 255.0, {1, 51.0f / 255.0f}, {2});
  expect_array<float>(1 / floats({4}), {0.25f}, {1});
  expect_array<std::uint8_t>(bytes({3}) * 2, {6}, {1});
  expect_array<std::int32_t>(10 - integers({3}), {7}, {1});
  expect_array<float>(integers({3}) + 0.5, {3.5f}, {1});
  expect_array<double>(2 * ones({1}, DType::float64), {2}, {1});
  EXPECT_EQ((ones({1}, DType::bfloat16) + 0.1).dtype(), DType::bfloat16);
  expect_array<std::int64_t>(equal(integers({1, 2}), 1) + 1, {2, 1}, {2});
  EXPECT_EQ(message([] { bytes({3}) * 300; }),
            "a * b: 300 does not fit uint8, the type of an array [1]; cast the array with astype");
}

TEST(ArrayFunctions, ApplyFunctionsToElements) {
  expect_array<float>(-floats({1, -2}), {-1, 2}, {2});
  expect_array<std::int32_t>(-integers({5}), {-5}, {1});
  expect_array<std::int32_t>(abs(integers({-5, 5})), {5, 5}, {2});
  expect_array<float>(abs(floats({-0.5f})), {0.5f}, {1});
  expect_array<std::int32_t>(square(integers({-3})), {9}, {1});
  expect_array<float>(sqrt(integers({9})), {3}, {1});
  expect_array<double>(exp(zeros({1}, DType::float64)), {1}, {1});
  expect_array<float>(log(floats({1, 0})), {0, -infinity}, {2});
  expect_array<float>(maximum(floats({1, 5}), floats({3})), {3, 5}, {2});
  EXPECT_TRUE(std::isnan(minimum(floats({nan}), 1).item<float>()));
  EXPECT_TRUE(std::isnan(minimum(floats({1}), floats({nan})).item<float>()));
  expect_array<bool>(maximum(equal(arange(2), 0), equal(arange(2), 1)), {true, true}, {2});
  expect_array<float>(clip(floats({-1, 0.5f, 2}), 0, 1), {0, 0.5f, 1}, {3});
  expect_array<std::uint8_t>(clip(bytes({1, 9}), 2, 8), {2, 8}, {2});
  expect_array<float>(sqrt(zeros({0, 2})), {}, {0, 2});
}

TEST(ArrayFunctions, WhereChoosesBetweenArrays) {
  const Array a = floats({1, -2, 3});
  expect_array<float>(where(less(a, 0), Array::scalar(0.0f), a), {1, 0, 3}, {3});
  expect_array<std::int64_t>(where(integers({0, 1}).reshape({2, 1}), arange(2), bytes({8, 9})), {8, 9, 0, 1}, {2, 2});
  EXPECT_EQ(message([&] { where(a, a, zeros({2})); }),
            "where: the shapes [3] and [2] do not broadcast: sizes 3 and 2 differ and neither is 1; reshape one of "
            "them");
}

// NumPy prints the same everywhere, whatever the decimal sign and the grouping of the locale.
TEST(ArrayFunctions, PrintTheSameInEveryLocale) {
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const auto texts = [] {
    return to_string(floats({0.1f, 1234567.f, 2.5e-3f})) + to_string(floats({0.1f, 12.5f})) + to_string(arange(3000));
  };
  const std::string expected = texts();
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Comma));
  EXPECT_EQ(texts(), expected);
  std::locale::global(before);
  // Those that are installed, and have a comma.
  const std::string numbers = std::setlocale(LC_NUMERIC, nullptr);
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "tr_TR.UTF-8"}) {
    if (std::setlocale(LC_NUMERIC, name) == nullptr) continue;
    EXPECT_EQ(texts(), expected) << name;
  }
  std::setlocale(LC_NUMERIC, numbers.c_str());
}

TEST(ArrayFunctions, PrintAsNumPyDoes) {
  EXPECT_EQ(to_string(floats({1, 2.5f, -3}).reshape({3, 1})), "[[ 1. ]\n [ 2.5]\n [-3. ]]");
  EXPECT_EQ(to_string(floats({0.1f, 1, nan, infinity})), "[0.1 1.  nan inf]");
  EXPECT_EQ(to_string(floats({-nan})), "[nan]");
  EXPECT_EQ(to_string(Array::scalar(-nan)), "nan");
  EXPECT_EQ(to_string(floats({1e10f, 1.5f})), "[1.0e+10 1.5e+00]");
  EXPECT_EQ(to_string(ones({1}, DType::float64) / 3), "[0.33333333]");
  EXPECT_EQ(to_string(arange(12).reshape({2, 2, 3})), "[[[ 0  1  2]\n  [ 3  4  5]]\n\n [[ 6  7  8]\n  [ 9 10 11]]]");
  EXPECT_EQ(to_string(equal(arange(2), 0)), "[ True False]");
  EXPECT_EQ(to_string(Array::scalar(1.0f)), "1.0");
  EXPECT_EQ(to_string(Array::scalar(std::uint8_t{7})), "7");
  EXPECT_EQ(to_string(zeros({0, 3})), "[]");
  EXPECT_EQ(to_string(arange(2000)), "[   0    1    2 ... 1997 1998 1999]");
  EXPECT_EQ(to_string(arange(2000).reshape({500, 4})),
            "[[   0    1    2    3]\n [   4    5    6    7]\n [   8    9   10   11]\n ...\n [1988 1989 1990 1991]\n"
            " [1992 1993 1994 1995]\n [1996 1997 1998 1999]]");
  EXPECT_EQ(to_string(arange(30)),
            "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n 24 25 26 27 28 29]");
  std::ostringstream stream;
  stream << arange(2).astype(DType::bfloat16);
  EXPECT_EQ(stream.str(), "[0. 1.]");
}

}  // namespace
}  // namespace pando
