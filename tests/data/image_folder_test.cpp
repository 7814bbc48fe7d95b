// SPDX-License-Identifier: Apache-2.0
// Folders of the user's images: classes by name, a test split that is always the same, and refusals word for word.
#include <pando/datasets/datasets.h>

#include <gtest/gtest.h>

#include <numeric>

#include "tests/data/idx_bytes.h"
#include "tests/data/jpeg_bytes.h"
#include "tests/data/png_bytes.h"
#include "tests/data/temporary_folder.h"
#include "tests/message.h"

namespace pando {
namespace {

class ImageFolder : public testing::Test {
 protected:
  // A grey image, all of whose pixels are `value`.
  void write(const std::string& name, int value, std::uint32_t width = 2, std::uint32_t height = 3) {
    folder.write(name, grey_png(width, height, std::string(width * height, static_cast<char>(value))));
  }
  void write_colour(const std::string& name, int value) {
    folder.write(name, png_file({.width = 2, .height = 3, .kind = 2, .rows = [&] {
                                   const std::string row = '\0' + std::string(6, static_cast<char>(value));
                                   return row + row + row;
                                 }()}));
  }
  datasets::OwnData load(const datasets::OwnDataOptions& options = {}) {
    return datasets::load_own(folder.path(), options);
  }
  void write_two_classes() {
    for (int i = 0; i < 5; ++i)
      for (const char* name : {"a/", "b/"}) write(name + std::to_string(i) + ".png", i);
  }
  std::string refusal() {
    return shortened(message([&] { load(); }));
  }
  // The paths begin with the test's folder, here written "~".
  std::string shortened(std::string text) const {
    for (std::size_t at; (at = text.find(folder.path())) != std::string::npos;)
      text.replace(at, folder.path().size(), "~");
    return text;
  }
  static std::vector<int> first_pixels(const Array& x) {
    std::vector<int> values;
    const std::int64_t size = x.elements() / x.shape()[0];
    for (std::int64_t i = 0; i < x.shape()[0]; ++i) values.push_back(x.data<std::uint8_t>()[i * size]);
    return values;
  }
  static std::vector<int> labels(const Array& y) {
    return {y.data<std::int32_t>(), y.data<std::int32_t>() + y.elements()};
  }

  TemporaryFolder folder;
};

#ifdef PANDO_WITH_ZLIB

TEST_F(ImageFolder, NumbersTheClassesInTheOrderOfTheirNames) {
  for (const char* split : {"train", "test"})
    for (const char* name : {"/dog/1.png", "/cat/1.png", "/cat/2.PNG"})
      write(std::string(split) + name, name[1] == 'c' ? 10 : 20);
  const datasets::OwnData images = load();
  EXPECT_EQ(images.class_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_FALSE(images.test_was_split_off);
  EXPECT_EQ(images.train.x.shape(), (Shape{3, 3, 2}));
  // A cat, a dog, and the other cat: the first few are of all classes.
  EXPECT_EQ(labels(images.train.y), (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(first_pixels(images.test.x), (std::vector<int>{10, 20, 10}));
}

TEST_F(ImageFolder, TestsWithEveryFifthImageOfAClassWhereThereIsNoTestFolder) {
  for (int i = 0; i < 10; ++i) write("a/" + std::to_string(i) + ".png", i);
  for (int i = 0; i < 5; ++i) write("b/" + std::to_string(i) + ".png", 100 + i);
  const datasets::OwnData images = load();
  EXPECT_TRUE(images.test_was_split_off);
  EXPECT_EQ(first_pixels(images.test.x), (std::vector<int>{4, 104, 9}));
  EXPECT_EQ(labels(images.test.y), (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(first_pixels(images.train.x), (std::vector<int>{0, 100, 1, 101, 2, 102, 3, 103, 5, 6, 7, 8}));
}

TEST_F(ImageFolder, IsColouredIfOneImageIs) {
  for (const char* name : {"train/a/1.png", "test/a/1.png", "test/b/1.png"}) write(name, 7);
  write_colour("train/b/1.png", 9);
  const datasets::OwnData images = load();
  EXPECT_EQ(images.train.x.shape(), (Shape{2, 3, 2, 3}));
  EXPECT_EQ(images.test.x.shape(), (Shape{2, 3, 2, 3}));
  EXPECT_EQ(images.test.x.data<std::uint8_t>()[2], 7);
}

TEST_F(ImageFolder, TellsWhatIsLeftOutBecauseItIsNotAnImage) {
  write_two_classes();
  for (const char* name : {".git/config", "a/.hidden.png", "a/notes.txt", "README"}) folder.write(name, "");
  const datasets::OwnData images = load();
  EXPECT_EQ(images.train.x.shape(), (Shape{8, 3, 2}));
  ASSERT_EQ(images.notices.size(), 1);
  EXPECT_EQ(shortened(images.notices[0]), "~: what is not an image of a class is left out: ~/README, ~/a/notes.txt.");
  for (const char* name : {"b/more/1.png", "b/x", "b/y"}) folder.write(name, "");
  EXPECT_EQ(shortened(load().notices.at(0)),
            "~: what is not an image of a class is left out: ~/README, ~/a/notes.txt, ~/b/x and 2 more.");
}

TEST_F(ImageFolder, BringsImagesOfDifferentSizesToTheMedian) {
  write_two_classes();
  write("b/2.png", 9, 4, 7);
  const datasets::OwnData images = load();
  EXPECT_EQ(images.train.x.shape(), (Shape{8, 3, 2}));
  ASSERT_EQ(images.notices.size(), 1);
  EXPECT_EQ(shortened(images.notices[0]), "~: 1 of 10 images is resized to a height of 3 and a width of 2 pixels.");
}

TEST_F(ImageFolder, BringsLargeImagesToAtMost64Pixels) {
  write_two_classes();
  write("a/0.png", 9, 300, 20);
  for (const char* name : {"a/1.png", "a/2.png", "a/3.png", "a/4.png", "b/0.png"}) write(name, 9, 200, 20);
  EXPECT_EQ(load().train.x.shape(), (Shape{8, 20, 64}));
  for (const char* name : {"a/", "b/"})
    for (int i = 0; i < 5; ++i) write(name + std::to_string(i) + ".png", 200, 257, 100);
  const datasets::OwnData images = load();
  EXPECT_EQ(images.train.x.shape(), (Shape{8, 64, 64}));
  EXPECT_EQ(first_pixels(images.test.x), (std::vector<int>{200, 200}));
}

TEST_F(ImageFolder, BringsImagesToTheSizeAndChannelsThatAreAskedFor) {
  write_two_classes();
  EXPECT_EQ(load({.image_size = {5, 4}}).test.x.shape(), (Shape{2, 5, 4}));
  EXPECT_EQ(load({.image_size = {5, 4}, .channels = 3}).test.x.shape(), (Shape{2, 5, 4, 3}));
  write_colour("b/1.png", 90);
  EXPECT_EQ(load({.channels = 1}).train.x.shape(), (Shape{8, 3, 2}));
}

TEST_F(ImageFolder, UsesAllImagesForTheTestIfNoneAreSplitOff) {
  write_two_classes();
  const datasets::OwnData images = load({.split_off_test = false});
  EXPECT_EQ(images.train.x.shape(), (Shape{0, 3, 2}));
  EXPECT_EQ(images.test.x.shape(), (Shape{10, 3, 2}));
  EXPECT_FALSE(images.test_was_split_off);
}

TEST_F(ImageFolder, RefusesABadImageByItsName) {
  write_two_classes();
  folder.write("a/3.png", "no image");
  EXPECT_EQ(refusal(), "~/a/3.png: is not a PNG or JPEG image; convert it to one of them");
  folder.write("a/3.png", "GIF89a");
  EXPECT_EQ(refusal(), "~/a/3.png: is a GIF image; convert it to PNG or JPEG");
  write("a/3.png", 0);
  folder.write("b/9.webp", "RIFF....WEBP");
  EXPECT_EQ(refusal(), "~/b/9.webp: is a WebP image; convert it to PNG or JPEG");
}

TEST_F(ImageFolder, LeavesBadImagesOutAndListsThemIfAskedTo) {
  write_two_classes();
  folder.write("a/3.png", "no image");
  // The header is whole, but not the pixels.
  folder.write("b/1.png", png_file({.width = 2, .height = 3, .rows = "\0ab"}));
  const datasets::OwnData images = load({.skip_bad = true});
  EXPECT_EQ(images.train.x.shape(), (Shape{7, 3, 2}));
  EXPECT_EQ(images.train.y.shape(), (Shape{7}));
  ASSERT_EQ(images.skipped.size(), 2);
  EXPECT_EQ(shortened(images.skipped[0]), "~/a/3.png: is not a PNG or JPEG image; convert it to one of them");
  EXPECT_EQ(shortened(images.skipped[1]),
            "~/b/1.png: has fewer pixels than its header announces; fetch it again, or save it again as PNG");
}

TEST_F(ImageFolder, NamesTheFirstBadImageHoweverManyThreadsRead) {
  write_two_classes();
  for (const char* name : {"a/2.png", "b/2.png", "b/3.png"})
    folder.write(name, png_file({.width = 2, .height = 3, .rows = "\0ab"}));
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(refusal(),
              "~/a/2.png: has fewer pixels than its header announces; fetch it again, or save it again as PNG");
}

TEST_F(ImageFolder, TellsHowFarReadingIs) {
  write_two_classes();
  std::vector<std::int64_t> told, of;
  load({.progress = [&](std::int64_t read, std::int64_t all) {
    told.push_back(read);
    of.push_back(all);
  }});
  std::vector<std::int64_t> expected(told.size());
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(told, expected);
  EXPECT_EQ(of, std::vector<std::int64_t>(told.size(), std::ssize(told)));
}

TEST_F(ImageFolder, RefusesClassesOfLessThanFiveImagesWithoutATestFolder) {
  for (const char* name : {"a/1.png", "b/1.png"}) write(name, 0);
  EXPECT_EQ(refusal(), "~: has no class of five images; add images, or a folder train and a folder test");
}

#ifdef PANDO_WITH_JPEG
TEST_F(ImageFolder, ReadsJpegImagesBesidePngImages) {
  write_two_classes();
  folder.write("a/5.jpg", jpeg_file({.width = 2, .height = 3, .blocks = {77}}));
  // The bytes decide, not the name.
  folder.write("b/5.png", jpeg_file({.width = 2, .height = 3, .blocks = {78}}));
  const datasets::OwnData images = load();
  EXPECT_EQ(first_pixels(images.train.x), (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3, 77, 78}));
}
#endif

#endif

TEST_F(ImageFolder, RefusesWhatIsNoFolderOfClasses) {
  EXPECT_EQ(refusal(),
            "~: has 0 class folders; give a folder that holds a folder of PNG or JPEG images for each of two or more "
            "classes, or "
            "train and test folders that do, or the IDX files of MNIST's format, or train.csv and test.csv");
  write("a/1.png", 0);
  EXPECT_EQ(refusal().substr(0, 24), "~: has 1 class folder; g");
  EXPECT_EQ(message([] { datasets::load_own("/nowhere"); }),
            "/nowhere: is not a folder or a CSV file; give a folder that holds a folder of PNG or JPEG images for each "
            "class, or a file NAME.csv");
}

TEST_F(ImageFolder, RefusesLinksThatLeadNowhere) {
  std::filesystem::create_symlink("train", folder.path() + "/train");
  EXPECT_EQ(
      refusal(),
      "~: has 0 class folders; give a folder that holds a folder of PNG or JPEG images for each of two or more "
      "classes, or train and test folders that do, or the IDX files of MNIST's format, or train.csv and test.csv");
}

TEST_F(ImageFolder, RefusesClassesWithoutImages) {
  write("a/1.png", 0);
  std::filesystem::create_directories(folder.path() + "/b");
  EXPECT_EQ(refusal(), "~/b: has no images; put the PNG or JPEG images of a class into it, or remove it");
  folder.write("b/1.txt", "");
  EXPECT_EQ(refusal(), "~/b: has no images, but 1.txt; put the PNG or JPEG images of a class into it, or remove it");
}

TEST_F(ImageFolder, RefusesClassesThatWereNotTrainedOn) {
  for (const char* name : {"train/cat/1.png", "train/dog/1.png", "test/cat/1.png", "test/dogs/1.png"}) write(name, 0);
  EXPECT_EQ(refusal(), "~/test: unknown class 'dogs'; did you mean 'dog'?");
  std::filesystem::remove_all(folder.path() + "/train");
  EXPECT_EQ(refusal(), "~: has a folder test but no folder train; add it");
}

class IdxFolder : public ImageFolder {
 protected:
  void write_all(std::uint32_t test_width = 2) {
    folder.write("train-images-idx3-ubyte", idx_header(8, {3, 1, 2}) + "abcdef");
    folder.write("train-labels-idx1-ubyte", idx_header(8, {3}) + std::string("\0\2\1", 3));
    folder.write("t10k-images-idx3-ubyte", idx_header(8, {1, 1, test_width}) + std::string(test_width, 'x'));
    folder.write("t10k-labels-idx1-ubyte", idx_header(8, {1}) + std::string("\3", 1));
  }
};

TEST_F(IdxFolder, IsReadUnderTheNamesOfMnist) {
  write_all();
  const datasets::OwnData images = load();
  EXPECT_EQ(images.train.x.shape(), (Shape{3, 1, 2}));
  EXPECT_EQ(images.test.y.data<std::uint8_t>()[0], 3);
  EXPECT_EQ(images.class_names, (std::vector<std::string>{"0", "1", "2", "3"}));
}

TEST_F(IdxFolder, IsRefusedWhereTheFilesDoNotFit) {
  write_all(3);
  EXPECT_EQ(refusal(), "~: has images [3, 1, 2] to train on, but [1, 1, 3] to test with; bring them to one size");
  write_all();
  folder.write("t10k-labels-idx1-ubyte", idx_header(8, {2}) + "ab");
  EXPECT_EQ(refusal(), "~: the t10k labels are uint8 [2], of 1 images; give one uint8 or int32 number per image");
  folder.write("t10k-labels-idx1-ubyte", idx_header(12, {1}) + std::string("\xff\xff\xff\xff", 4));
  EXPECT_EQ(refusal(), "~: has the label -1; number the classes from 0, 65536 at most");
  std::filesystem::remove(folder.path() + "/t10k-labels-idx1-ubyte");
  EXPECT_EQ(refusal(), "~: has IDX files, but no t10k-labels-idx1-ubyte, plain or .gz; add it, under this name");
}

}  // namespace
}  // namespace pando
