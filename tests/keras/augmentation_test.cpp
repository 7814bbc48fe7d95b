// SPDX-License-Identifier: Apache-2.0
// Layers that draw at random: what holds whatever they draw.
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <algorithm>
#include <cmath>

using namespace pando;
using namespace pando::keras;
using namespace pando::keras::layers;

namespace {

constexpr std::int64_t samples = 64;

// What the layer makes of it in training.
Array in_training(const Layer& layer, const Array& x) {
  const Tensor input = Input(x.shape().part(1, x.shape().rank()));
  return Model(input, layer(input, {.training = true})).predict(x);
}

// As many samples with the same image, of numbers that are all different.
Array copies(const Shape& image) {
  Shape shape = {samples};
  for (std::int64_t size : image) shape.append(size);
  Array x(DType::float32, shape);
  for (std::int64_t i = 0; i < x.elements(); ++i)
    x.mutable_data<float>()[i] = 1.0f + static_cast<float>(i % image.elements());
  return x;
}

float pixel(const Array& x, std::int64_t sample, std::int64_t row, std::int64_t column, std::int64_t channel = 0) {
  const Shape& s = x.shape();
  return x.data<float>()[((sample * s[1] + row) * s[2] + column) * s[3] + channel];
}

bool is_mirrored(const Array& y, const Array& x, std::int64_t sample, bool rows, bool columns) {
  const Shape& s = x.shape();
  for (std::int64_t i = 0; i < s[1]; ++i)
    for (std::int64_t j = 0; j < s[2]; ++j)
      for (std::int64_t c = 0; c < s[3]; ++c)
        if (pixel(y, sample, i, j, c) != pixel(x, sample, rows ? s[1] - 1 - i : i, columns ? s[2] - 1 - j : j, c))
          return false;
  return true;
}

std::vector<Layer> random_layers() {
  return {Dropout(0.5), RandomFlip(), RandomTranslation(0.3, 0.3), RandomRotation(0.2)};
}

TEST(RandomLayers, DoNothingOutsideTraining) {
  const Array x = copies({5, 4, 2});
  for (const Layer& layer : random_layers()) {
    const Tensor input = Input({5, 4, 2});
    EXPECT_TRUE(array_equal(Model(input, layer(input)).predict(x), x)) << layer.kind();
    EXPECT_FALSE(array_equal(in_training(layer, x), x)) << layer.kind();
  }
}

TEST(RandomLayers, DrawTheSameFromTheSameSeed) {
  const Array x = copies({5, 4, 2});
  const auto draw = [&](std::uint64_t seed) {
    set_random_seed(seed);
    std::vector<Array> drawn;
    for (const Layer& layer : random_layers()) drawn.push_back(in_training(layer, x));
    return drawn;
  };
  const std::vector<Array> first = draw(3), again = draw(3), other = draw(4);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(array_equal(first[i], again[i])) << random_layers()[i].kind();
    EXPECT_FALSE(array_equal(first[i], other[i])) << random_layers()[i].kind();
  }
}

TEST(Dropout, KeepsTheMeanByScalingWhatIsLeft) {
  const Array y = in_training(Dropout(0.25), ones({samples, 200}));
  std::int64_t dropped = 0;
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const float value = y.data<float>()[i];
    if (value == 0) ++dropped;
    else ASSERT_NEAR(value, 1 / 0.75, 1e-6);
  }
  EXPECT_NEAR(static_cast<double>(dropped) / static_cast<double>(y.elements()), 0.25, 0.02);
}

TEST(RandomFlip, GivesTheImageOrItsMirrorImage) {
  const Array x = copies({5, 4, 2});
  const Array horizontal = in_training(RandomFlip("horizontal"), x), vertical = in_training(RandomFlip("vertical"), x);
  const Array both = in_training(RandomFlip(), x);
  int flipped[2] = {}, combinations[4] = {};
  for (std::int64_t i = 0; i < samples; ++i) {
    const bool left = is_mirrored(horizontal, x, i, false, true), up = is_mirrored(vertical, x, i, true, false);
    EXPECT_TRUE(left || is_mirrored(horizontal, x, i, false, false));
    EXPECT_TRUE(up || is_mirrored(vertical, x, i, false, false));
    flipped[0] += left;
    flipped[1] += up;
    for (int k = 0; k < 4; ++k) combinations[k] += is_mirrored(both, x, i, k / 2 == 1, k % 2 == 1);
  }
  // Half of them, give or take four deviations.
  for (int count : flipped) EXPECT_NEAR(count, samples / 2, 16);
  EXPECT_EQ(combinations[0] + combinations[1] + combinations[2] + combinations[3], samples);
  for (int count : combinations) EXPECT_GT(count, 0);
}

TEST(RandomTransforms, OfFactorZeroDoNothing) {
  const Array x = copies({5, 4, 2});
  for (const char* mode : {"reflect", "nearest", "constant"}) {
    EXPECT_TRUE(allclose(in_training(RandomTranslation(0, 0, {.fill_mode = mode}), x), x, 0, 1e-4)) << mode;
    EXPECT_TRUE(allclose(in_training(RandomRotation(0, {.fill_mode = mode}), x), x, 0, 1e-4)) << mode;
  }
}

TEST(RandomTransforms, LeaveAConstantImageConstant) {
  const Array x = ones({samples, 6, 5, 1});
  for (const char* mode : {"reflect", "nearest", "constant"}) {
    const RandomTransformOptions options = {.fill_mode = mode, .fill_value = 1.0};
    EXPECT_TRUE(allclose(in_training(RandomTranslation(0.8, 0.8, options), x), x, 0, 1e-5)) << mode;
    EXPECT_TRUE(allclose(in_training(RandomRotation(0.5, options), x), x, 0, 1e-5)) << mode;
  }
}

struct Mass {
  double total = 0, row = 0, column = 0;
};

// Where the light of a sample is.
Mass mass_of(const Array& y, std::int64_t sample) {
  Mass mass;
  for (std::int64_t i = 0; i < y.shape()[1]; ++i)
    for (std::int64_t j = 0; j < y.shape()[2]; ++j) {
      const double value = pixel(y, sample, i, j);
      mass.total += value;
      mass.row += value * static_cast<double>(i);
      mass.column += value * static_cast<double>(j);
    }
  return mass;
}

Array bright_pixel(std::int64_t size, std::int64_t row, std::int64_t column) {
  Array x(DType::float32, {samples, size, size, 1});
  for (std::int64_t i = 0; i < samples; ++i) x.mutable_data<float>()[(i * size + row) * size + column] = 1;
  return x;
}

TEST(RandomTranslation, MovesEverySampleByItsOwnWay) {
  const Array y = in_training(RandomTranslation(0.25, 0.1, {.fill_mode = "constant"}), bright_pixel(12, 6, 5));
  double highest = 6, lowest = 6, leftmost = 5, rightmost = 5;
  std::vector<double> rows;
  for (std::int64_t i = 0; i < samples; ++i) {
    const Mass mass = mass_of(y, i);
    EXPECT_NEAR(mass.total, 1, 1e-5);
    rows.push_back(mass.row);
    highest = std::min(highest, mass.row);
    lowest = std::max(lowest, mass.row);
    leftmost = std::min(leftmost, mass.column);
    rightmost = std::max(rightmost, mass.column);
  }
  // By up to 3 rows and 1.2 columns, and nearly so far in one of 64 samples.
  EXPECT_GE(highest, 3 - 1e-4);
  EXPECT_LT(highest, 3.5);
  EXPECT_LE(lowest, 9 + 1e-4);
  EXPECT_GT(lowest, 8.5);
  EXPECT_NEAR(leftmost, 3.9, 0.2);
  EXPECT_NEAR(rightmost, 6.1, 0.2);
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end());
}

TEST(RandomRotation, TurnsAboutTheMiddle) {
  const RandomTransformOptions black = {.fill_mode = "constant"};
  const Array still = in_training(RandomRotation(0.5, black), bright_pixel(9, 4, 4));
  for (std::int64_t i = 0; i < samples; ++i) EXPECT_NEAR(pixel(still, i, 4, 4), 1, 1e-5);
  const Array y = in_training(RandomRotation(0.125, black), bright_pixel(9, 4, 7));
  double largest = 0, smallest = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    const Mass mass = mass_of(y, i);
    const double down = mass.row / mass.total - 4, right = mass.column / mass.total - 4;
    EXPECT_NEAR(std::hypot(down, right), 3, 0.2);
    const double angle = std::atan2(down, right);
    EXPECT_LT(std::abs(angle), 0.125 * 2 * M_PI + 0.05);
    largest = std::max(largest, angle);
    smallest = std::min(smallest, angle);
  }
  EXPECT_GT(largest, 0.6);
  EXPECT_LT(smallest, -0.6);
}

// What the ramp of the columns' numbers, `width` of them, shows at a place left or right of it.
double expected_ramp(double place, double width, const std::string& mode, double fill) {
  if (mode == "constant") {
    const double part = std::clamp(std::min(place + 1, width - place), 0.0, 1.0);
    return part * std::clamp(place, 0.0, width - 1) + (1 - part) * fill;
  }
  if (mode == "reflect" && place < -0.5) place = -1 - place;
  if (mode == "reflect" && place > width - 0.5) place = 2 * width - 1 - place;
  return std::clamp(place, 0.0, width - 1);
}

TEST(RandomTranslation, FillsWhatComesFromOutsideAsTold) {
  constexpr std::int64_t width = 8;
  Array ramp(DType::float32, {samples, 1, width, 1});
  for (std::int64_t i = 0; i < ramp.elements(); ++i) ramp.mutable_data<float>()[i] = static_cast<float>(i % width);
  const auto moved = [&](const std::string& mode) {
    set_random_seed(9);
    return in_training(RandomTranslation(0, 0.7, {.fill_mode = mode, .fill_value = -7.0}), ramp);
  };
  const Array nearest = moved("nearest");
  for (const std::string mode : {"reflect", "nearest", "constant"}) {
    const Array y = moved(mode);
    for (std::int64_t i = 0; i < samples; ++i) {
      // The same seed moves all alike; a column that shows the inside of the ramp tells by how much.
      std::int64_t inside = 0;
      while (pixel(nearest, i, 0, inside) <= 0) ++inside;
      const double shift = static_cast<double>(inside) - pixel(nearest, i, 0, inside);
      for (std::int64_t j = 0; j < width; ++j)
        EXPECT_NEAR(pixel(y, i, 0, j), expected_ramp(static_cast<double>(j) - shift, width, mode, -7.0), 1e-4)
            << mode << ", sample " << i << ", column " << j;
    }
  }
}

}  // namespace
