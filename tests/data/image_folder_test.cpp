// Folders of the user's images: classes by name, a test split that is always the same, and refusals word for word.
#include <pando/data/files.h>
#include <pando/datasets/datasets.h>

#include <gtest/gtest.h>

#include "tests/data/idx_bytes.h"
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
  datasets::Directory load() { return datasets::load_directory(folder.path()); }
  // The paths begin with the test's folder, here written "~".
  std::string refusal() {
    std::string text = message([&] { load(); });
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
  const datasets::Directory images = load();
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
  const datasets::Directory images = load();
  EXPECT_TRUE(images.test_was_split_off);
  EXPECT_EQ(first_pixels(images.test.x), (std::vector<int>{4, 104, 9}));
  EXPECT_EQ(labels(images.test.y), (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(first_pixels(images.train.x), (std::vector<int>{0, 100, 1, 101, 2, 102, 3, 103, 5, 6, 7, 8}));
}

TEST_F(ImageFolder, IsColouredIfOneImageIs) {
  for (const char* name : {"train/a/1.png", "test/a/1.png", "test/b/1.png"}) write(name, 7);
  write_colour("train/b/1.png", 9);
  const datasets::Directory images = load();
  EXPECT_EQ(images.train.x.shape(), (Shape{2, 3, 2, 3}));
  EXPECT_EQ(images.test.x.shape(), (Shape{2, 3, 2, 3}));
  EXPECT_EQ(images.test.x.data<std::uint8_t>()[2], 7);
}

TEST_F(ImageFolder, LeavesHiddenFilesAndOthersAlone) {
  for (int i = 0; i < 5; ++i)
    for (const char* name : {"a/", "b/"}) write(name + std::to_string(i) + ".png", i);
  folder.write(".git/config", "");
  folder.write("a/.hidden.png", "");
  folder.write("a/notes.txt", "");
  folder.write("README", "");
  EXPECT_EQ(load().train.x.shape(), (Shape{8, 3, 2}));
}

TEST_F(ImageFolder, RefusesImagesOfDifferentSizes) {
  for (int i = 0; i < 5; ++i)
    for (const char* name : {"a/", "b/"}) write(name + std::to_string(i) + ".png", i);
  write("b/2.png", 0, 4, 3);
  EXPECT_EQ(refusal(),
            "~/b/2.png: has 4 x 3 pixels, but ~/a/0.png has 2 x 3; bring all images to one size, for example with "
            "ImageMagick's mogrify -resize 2x3!");
}

TEST_F(ImageFolder, RefusesADamagedImageByItsName) {
  for (int i = 0; i < 5; ++i)
    for (const char* name : {"a/", "b/"}) write(name + std::to_string(i) + ".png", i);
  folder.write("a/3.png", "no image");
  EXPECT_EQ(refusal(), "~/a/3.png: is not a PNG image; convert it to PNG");
}

#endif

TEST_F(ImageFolder, RefusesWhatIsNoFolderOfClasses) {
  EXPECT_EQ(
      refusal(),
      "~: has 0 class folders; give a folder that holds a folder of PNG images for each of two or more classes, or "
      "train and test folders that do, or the IDX files of MNIST's format");
  write("a/1.png", 0);
  EXPECT_EQ(refusal().substr(0, 24), "~: has 1 class folder; g");
  EXPECT_EQ(message([] { datasets::load_directory("/nowhere"); }),
            "/nowhere: is not a folder; give one that holds a folder of PNG images for each class");
}

TEST_F(ImageFolder, RefusesLinksThatLeadNowhere) {
  std::filesystem::create_symlink("train", folder.path() + "/train");
  EXPECT_EQ(refusal(),
            "~: has 0 class folders; give a folder that holds a folder of PNG images for each of two or more "
            "classes, or train and test folders that do, or the IDX files of MNIST's format");
}

TEST_F(ImageFolder, RefusesClassesWithoutImages) {
  write("a/1.png", 0);
  std::filesystem::create_directories(folder.path() + "/b");
  EXPECT_EQ(refusal(), "~/b: has no images; put the PNG images of a class into it, or remove it");
  folder.write("b/1.jpg", "");
  EXPECT_EQ(refusal(), "~/b: has no PNG images, but 1.jpg; convert its images to PNG");
  write("b/1.png", 0);
  EXPECT_EQ(refusal(), "~: has no class of five images; add images, or a folder train and a folder test");
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
  const datasets::Directory images = load();
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
