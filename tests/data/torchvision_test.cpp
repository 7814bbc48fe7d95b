// SPDX-License-Identifier: Apache-2.0
// The transforms and data sets of torchvision give the values that Python's do.
#include <pando/base/array_functions.h>
#include <pando/data/loader.h>
#include <pando/base/random.h>
#include <pando/datasets/torchvision.h>

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <sstream>

#include "tests/message.h"

namespace pando::torchvision {
namespace {

using torch::utils::data::DataLoader;
using transforms::Compose;
using transforms::Normalize;
using transforms::RandomCrop;
using transforms::RandomHorizontalFlip;
using transforms::Resize;
using transforms::ToTensor;

using Bytes = std::vector<std::uint8_t>;

// 0, 1, ... in a shape.
Array counted(const Shape& shape) {
  Bytes values(static_cast<std::size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), std::uint8_t{0});
  return Array::of(values, shape);
}

std::vector<std::uint64_t> keys(std::int64_t count) {
  std::vector<std::uint64_t> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), std::uint64_t{7});
  return result;
}

TEST(Transforms, ToTensorMovesTheChannelsToTheFront) {
  const Array colours = ToTensor()(counted({2, 2, 3}));
  EXPECT_TRUE(allclose(colours * 255.0, Array::of<float>({0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}, {3, 2, 2})));
  EXPECT_EQ(to_string(ToTensor()(counted({2, 3})).shape()), "[1, 2, 3]");
  EXPECT_EQ(to_string(ToTensor().batch(counted({4, 2, 3}), {}).shape()), "[4, 1, 2, 3]");
  EXPECT_EQ(ToTensor()(Array::of<std::uint8_t>({255}, {1, 1})).item<float>(), 1.0f);
}

// ((uint8 / 255) - 0.1307) / 0.3081 in PyTorch.
TEST(Transforms, NormalizeGivesTheNumbersOfPyTorch) {
  const auto transform = Compose({ToTensor(), Normalize({0.1307}, {0.3081})});
  const Array result = transform(Array::of<std::uint8_t>({0, 1, 128, 255}, {2, 2}));
  const std::vector<float> wanted = {-0.424212962f, -0.411484718f, 1.20500112f, 2.82148671f};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_FLOAT_EQ(result.data<float>()[i], wanted[i]);
}

TEST(Transforms, NormalizeHasAMeanForEachChannel) {
  const Array images = Array::of<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 1, 2});
  EXPECT_TRUE(array_equal(Normalize({1, 2}, {1, 2}).batch(images, {}),
                          Array::of<float>({0, 1, 0.5f, 1, 4, 5, 2.5f, 3}, {2, 2, 1, 2})));
  EXPECT_TRUE(array_equal(Normalize({1}, {2}).batch(images, {}), (images - 1.0) / 2.0));
  EXPECT_EQ(images.data<float>()[0], 1.0f);
}

// torch.nn.functional.interpolate(x, size, mode="bilinear", align_corners=False)
TEST(Transforms, ResizeGivesTheNumbersOfPyTorch) {
  std::vector<float> squares;
  for (int i = 0; i < 12; ++i) squares.push_back(static_cast<float>(i * i));
  const Array image = Array::of(squares, {1, 3, 4});
  EXPECT_TRUE(array_equal(Resize({2, 2})(image), Array::of<float>({5.5f, 15.5f, 59.5f, 93.5f}, {1, 2, 2})));
  const std::vector<float> larger = {0,          0.5f,       1.5f,       3.5f,       6.5f,       9,
                                     6.4f,       8.5f,       11.633334f, 15.766667f, 20.900002f, 25,
                                     16,         20.5f,      26.833336f, 34.166672f, 42.5f,      49,
                                     44.800003f, 51.700005f, 61.233334f, 71.766678f, 83.300011f, 92.200005f,
                                     64,         72.5f,      84.166664f, 96.833336f, 110.5f,     121};
  EXPECT_TRUE(allclose(Resize({5, 6})(image), Array::of(larger, {1, 5, 6}), 1e-6, 1e-6));
}

TEST(Transforms, ResizeRoundsStoredImages) {
  const Array grey = Array::of<std::uint8_t>({0, 51, 102, 153, 204, 255}, {2, 3});
  const Bytes wanted = {13, 89, 89, 166, 166, 242};
  EXPECT_TRUE(array_equal(Resize({3, 2})(grey), Array::of(wanted, {3, 2})));
  Bytes colours, wanted_colours;
  for (const std::uint8_t value : Bytes{0, 51, 102, 153, 204, 255}) colours.insert(colours.end(), {value, 9});
  for (const std::uint8_t value : wanted) wanted_colours.insert(wanted_colours.end(), {value, 9});
  EXPECT_TRUE(array_equal(Resize({3, 2})(Array::of(colours, {2, 3, 2})), Array::of(wanted_colours, {3, 2, 2})));
}

TEST(Transforms, RandomCropTakesEveryPlace) {
  const Array images = concatenate({counted({1, 3, 4})});
  std::set<std::string> seen;
  for (std::uint64_t key = 0; key < 200; ++key) {
    const Array crop = RandomCrop(2).batch(images, {key});
    const int first = crop.data<std::uint8_t>()[0];
    const Bytes wanted = {static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(first + 1),
                          static_cast<std::uint8_t>(first + 4), static_cast<std::uint8_t>(first + 5)};
    EXPECT_TRUE(array_equal(crop, Array::of(wanted, {1, 2, 2})));
    seen.insert(std::to_string(first));
  }
  EXPECT_EQ(seen, (std::set<std::string>{"0", "1", "2", "4", "5", "6"}));
}

// With a padding of 2 the whole padded image is the only place.
TEST(Transforms, RandomCropPadsInFourWays) {
  const Array row = counted({1, 3, 3}).slice(0, 1);
  const auto padded_row = [&](const std::string& mode, std::int64_t index) {
    const Array crop = RandomCrop(7, {.padding = 2, .fill = 99, .padding_mode = mode}).batch(row, {1});
    const std::uint8_t* data = crop.data<std::uint8_t>() + index * 7;
    return Bytes(data, data + 7);
  };
  EXPECT_EQ(padded_row("constant", 0), (Bytes{99, 99, 99, 99, 99, 99, 99}));
  EXPECT_EQ(padded_row("constant", 2), (Bytes{99, 99, 0, 1, 2, 99, 99}));
  EXPECT_EQ(padded_row("edge", 0), (Bytes{0, 0, 0, 1, 2, 2, 2}));
  EXPECT_EQ(padded_row("reflect", 0), (Bytes{8, 7, 6, 7, 8, 7, 6}));
  EXPECT_EQ(padded_row("symmetric", 0), (Bytes{4, 3, 3, 4, 5, 5, 4}));
}

// Stored with interleaved channels or as planes: the same pixels.
TEST(Transforms, CropsAndFlipsKeepTheChannelsTogether) {
  const Array images = counted({8, 4, 5, 3});
  for (const transforms::Transform& moved :
       {transforms::Transform(RandomCrop({3, 2}, {.padding = 1})), transforms::Transform(RandomHorizontalFlip())}) {
    const Array before = ToTensor().batch(moved.batch(images, keys(8)), {});
    const Array after = moved.batch(ToTensor().batch(images, {}), keys(8));
    EXPECT_TRUE(array_equal(before, after)) << moved;
  }
}

TEST(Transforms, RandomHorizontalFlipMirrorsSomeImages) {
  const Array images = counted({40, 1, 3});
  const Array flipped = RandomHorizontalFlip().batch(images, keys(40));
  int count = 0;
  for (std::int64_t i = 0; i < 40; ++i) {
    const std::uint8_t* data = flipped.data<std::uint8_t>() + 3 * i;
    const int first = static_cast<int>(3 * i), step = data[0] == first ? 1 : -1;
    if (step < 0) ++count;
    EXPECT_EQ(data[0], step > 0 ? first : first + 2);
    EXPECT_EQ(data[1], first + 1);
    EXPECT_EQ(data[2], data[0] + 2 * step);
  }
  EXPECT_GT(count, 10);
  EXPECT_LT(count, 30);
  EXPECT_TRUE(array_equal(RandomHorizontalFlip(0).batch(images, keys(40)), images));
  EXPECT_TRUE(array_equal(RandomHorizontalFlip(1)(counted({1, 3})), Array::of<std::uint8_t>({2, 1, 0}, {1, 3})));
}

TEST(Transforms, OneAfterTheOtherDrawsApart) {
  const Array images = counted({50, 1, 2});
  const auto twice = Compose({RandomHorizontalFlip(), RandomHorizontalFlip()});
  // Were both to draw the same, all images would be as before.
  EXPECT_FALSE(array_equal(twice.batch(images, keys(50)), images));
  EXPECT_TRUE(twice.is_random());
  EXPECT_FALSE(Compose({ToTensor(), Resize({2, 2})}).is_random());
}

TEST(Transforms, SingleImagesDrawFromTheSeed) {
  const Array image = counted({15, 15});
  const RandomCrop crop(4);
  set_random_seed(5);
  const Array first = crop(image), second = crop(image);
  set_random_seed(5);
  EXPECT_TRUE(array_equal(crop(image), first));
  EXPECT_FALSE(array_equal(second, first));
  set_random_seed(0);
}

TEST(Transforms, PrintAsTorchvisionDoes) {
  std::ostringstream text;
  text << Compose({Resize({14, 20}), RandomCrop(24, {.padding = 4}), RandomCrop({3, 2}), RandomHorizontalFlip(),
                   ToTensor(), Normalize({0.1307}, {0.3081}), Normalize({0.5, 0.25, 0}, {1, 1e-5, 2})});
  EXPECT_EQ(text.str(),
            "Compose(\n"
            "    Resize(size=(14, 20), interpolation=bilinear, max_size=None, antialias=False)\n"
            "    RandomCrop(size=(24, 24), padding=4)\n"
            "    RandomCrop(size=(3, 2), padding=None)\n"
            "    RandomHorizontalFlip(p=0.5)\n"
            "    ToTensor()\n"
            "    Normalize(mean=(0.1307,), std=(0.3081,))\n"
            "    Normalize(mean=(0.5, 0.25, 0.0), std=(1.0, 1e-05, 2.0))\n"
            ")");
}

TEST(Transforms, RefuseWhatTheyCannotTransform) {
  EXPECT_EQ(message([] {
              ToTensor().batch(Array(DType::float32, {2, 3, 4, 5}), {});
            }),
            "ToTensor: the images are float32[2, 3, 4, 5]; give uint8 [n, h, w] or [n, h, w, c]");
  EXPECT_EQ(message([] {
              Normalize({0}, {1}).batch(Array(DType::uint8, {2, 4, 5}), {});
            }),
            "Normalize: the images are uint8[2, 4, 5]; call ToTensor first");
  EXPECT_EQ(
      message([] {
        Normalize({0, 0, 0}, {1, 1, 1}).batch(Array(DType::float32, {2, 1, 4, 5}), {});
      }),
      "Normalize: there are 3 means for images of float32[2, 1, 4, 5]; give one for each channel, 1, or one for all");
  EXPECT_EQ(message([] {
              Resize({2, 2}).batch(Array(DType::float32, {4, 5}), {});
            }),
            "Resize: the images are float32[4, 5]; give uint8 [n, h, w] or [n, h, w, c], or float32 [n, c, h, w]");
  EXPECT_EQ(message([] {
              Resize({2, 2})(Array(DType::float32, {4, 5}));
            }),
            "transforms: the image is float32[4, 5]; give uint8 [h, w] or [h, w, c], or float32 [c, h, w]");
  EXPECT_EQ(message([] {
              RandomCrop(32, {.padding = 1})(Array(DType::uint8, {28, 28}));
            }),
            "RandomCrop: 32 x 32 is larger than the images, which are 28 x 28 with a padding of 1; take a smaller size "
            "or more padding");
  EXPECT_EQ(message([] {
              RandomCrop(2, {.padding = 3, .padding_mode = "reflect"})(Array(DType::uint8, {3, 9}));
            }),
            "RandomCrop: the padding is 3, but 'reflect' finds only 2 pixels to repeat in uint8[1, 3, 9]");
  EXPECT_EQ(message([] {
              RandomHorizontalFlip().batch(Array(DType::uint8, {2, 4, 5}), {1});
            }),
            "transforms: there are 2 images and 1 keys; give each image one");
}

TEST(Transforms, RefuseSettingsThatCannotWork) {
  EXPECT_EQ(message([] {
              Normalize({0.5, 0.5}, {0.5});
            }),
            "Normalize: mean has 2 values and std 1; give one of each for every channel");
  EXPECT_EQ(message([] { Normalize({0.5}, {0}); }), "Normalize: std[0] is 0, and nothing can be divided by it");
  EXPECT_EQ(message([] { RandomCrop(0); }), "RandomCrop: the size is 0 x 0; both must be at least 1");
  EXPECT_EQ(message([] { RandomCrop(4, {.padding = -1}); }), "RandomCrop: the padding is -1; it must not be negative");
  EXPECT_EQ(message([] { RandomCrop(4, {.padding_mode = "reflct"}); }),
            "RandomCrop: unknown padding_mode 'reflct'; did you mean 'reflect'?");
  EXPECT_EQ(message([] { RandomHorizontalFlip(1.5); }), "RandomHorizontalFlip: p is 1.5; a probability is from 0 to 1");
  EXPECT_EQ(message([] { Resize({0, 2}); }), "Resize: the size is 0 x 2; both must be at least 1");
}

datasets::VisionDataset digits(const transforms::Transform& transform = {}) {
  return {pando::datasets::synthetic_digits(50, 0).train, transform};
}

TEST(VisionDataset, GivesImagesAndLabels) {
  const datasets::VisionDataset dataset = digits(Compose({ToTensor(), Normalize({0.1307}, {0.3081})}));
  EXPECT_EQ(dataset.size(), 50);
  EXPECT_EQ(to_string(dataset.data().shape()), "[50, 28, 28]");
  EXPECT_EQ(dataset.targets().dtype(), DType::int32);
  const auto [images, labels] = dataset.batch({4, 2}, 0);
  EXPECT_EQ(to_string(images.shape()), "[2, 1, 28, 28]");
  EXPECT_EQ(images.dtype(), DType::float32);
  EXPECT_EQ(labels.dtype(), DType::int32);
  const auto [image, label] = dataset.get(2);
  EXPECT_EQ(to_string(image.shape()), "[1, 28, 28]");
  EXPECT_TRUE(array_equal(image, squeeze(images.slice(1, 2), 0)));
  EXPECT_EQ(label.item<int>(), labels.data<std::int32_t>()[1]);
  EXPECT_TRUE(array_equal(digits().get(2)[0], squeeze(dataset.data().slice(2, 3), 0)));
  EXPECT_EQ(message([&] { dataset.get(50); }), "get: there is no sample 50; the data set has 50, from 0 to 49");
}

TEST(VisionDataset, AugmentationDoesNotDependOnBatchesOrWorkers) {
  const datasets::VisionDataset dataset = digits(Compose({RandomCrop(28, {.padding = 4}), ToTensor()}));
  const auto epochs = [&](const torch::utils::data::DataLoaderOptions& options) {
    const DataLoader loader(dataset, options);
    Arrays images;
    for (int epoch = 0; epoch < 2; ++epoch)
      for (const auto& batch : loader) images.push_back(batch[0]);
    return concatenate(images);
  };
  const Array plain = epochs({.batch_size = 7, .shuffle = true, .seed = 3});
  EXPECT_TRUE(array_equal(epochs({.batch_size = 16, .shuffle = true, .seed = 3, .num_workers = 3}), plain));
  const Array ordered = epochs({.batch_size = 50, .seed = 3});
  EXPECT_FALSE(array_equal(ordered.slice(0, 50), ordered.slice(50, 100)));
}

TEST(VisionDataset, RefusesWhatAreNoImages) {
  EXPECT_EQ(
      message([] {
        datasets::VisionDataset({Array(DType::float32, {2, 4}), Array(DType::uint8, {3})});
      }),
      "VisionDataset: the images are float32[2, 4] and the labels uint8[3]; give uint8 [n, h, w] or [n, h, w, c], "
      "and labels [n]");
}

// The files are gzipped.
#ifdef PANDO_WITH_ZLIB

TEST(VisionDataset, MnistIsThatOfTorchvision) {
  if (!pando::datasets::available("mnist")) GTEST_SKIP() << "the files are not here";
  const auto transform = Compose({ToTensor(), Normalize({0.1307}, {0.3081})});
  const datasets::MNIST test({.train = false, .transform = transform});
  EXPECT_EQ(test.size(), 10000);
  EXPECT_EQ(test.classes()[7], "7 - seven");
  const auto [image, label] = test.get(0);
  EXPECT_EQ(label.item<int>(), 7);
  EXPECT_EQ(to_string(image.shape()), "[1, 28, 28]");
  // MNIST's mean and deviation are what it is normalised with, those of the images to train on.
  const auto [images, labels] = test.batch(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 0);
  EXPECT_NEAR(mean(images).item<double>(), 0, 0.2);
  EXPECT_EQ(labels.elements(), 10);
}

TEST(VisionDataset, FashionMnistHasItsNames) {
  if (!pando::datasets::available("fashion_mnist")) GTEST_SKIP() << "the files are not here";
  const datasets::FashionMNIST test({.train = false});
  EXPECT_EQ(test.get(0)[1].item<int>(), 9);
  EXPECT_EQ(test.classes()[9], "Ankle boot");
}

#endif

TEST(VisionDataset, SaysWhereFilesAreMissing) {
  EXPECT_NE(message([] { datasets::MNIST({.root = "/nowhere"}); }).find("/nowhere"), std::string::npos);
}

}  // namespace
}  // namespace pando::torchvision
