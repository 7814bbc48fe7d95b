// Data sets are found where they are said to be, and refused word for word when they are not.
#include <pando/datasets.h>

#include <gtest/gtest.h>

#include "tests/data/idx_bytes.h"
#include "tests/data/temporary_folder.h"
#include "tests/message.h"

namespace pando {
namespace {

// Points the three environment variables at an empty folder.
class Datasets : public testing::Test {
 protected:
  Datasets() {
    set("PANDO_DATA", folder.path() + "/data");
    set("XDG_CACHE_HOME", folder.path() + "/cache");
    set("HOME", folder.path() + "/home");
  }
  ~Datasets() override {
    for (auto old = before.rbegin(); old != before.rend(); ++old) setenv(old->first.c_str(), old->second.c_str(), 1);
  }

  void set(const std::string& name, const std::string& value) {
    const char* old = std::getenv(name.c_str());
    before.emplace_back(name, old == nullptr ? "" : old);
    setenv(name.c_str(), value.c_str(), 1);
  }

  // A set of `count` images at `place`; all pixels of image i are i.
  void write_set(const std::string& place, int count) {
    std::string pixels, labels;
    for (int i = 0; i < count; ++i) {
      pixels += std::string(784, static_cast<char>(i));
      labels += static_cast<char>(i % 10);
    }
    const std::uint32_t n = static_cast<std::uint32_t>(count);
    for (const char* split : {"train", "t10k"}) {
      folder.write(place + "/" + split + "-images-idx3-ubyte", idx_header(8, {n, 28, 28}) + pixels);
      folder.write(place + "/" + split + "-labels-idx1-ubyte", idx_header(8, {n}) + labels);
    }
  }

  TemporaryFolder folder;
  std::vector<std::pair<std::string, std::string>> before;
};

TEST_F(Datasets, AreFoundInTheFolderTheUserNames) {
  write_set("data/mnist", 12);
  write_set("cache/pando/mnist", 5);
  EXPECT_TRUE(datasets::available("mnist"));
  const datasets::Splits splits = datasets::load("mnist");
  EXPECT_EQ(splits.train.x.shape(), (Shape{12, 28, 28}));
  EXPECT_EQ(splits.test.y.shape(), (Shape{12}));
  EXPECT_EQ(splits.train.x.data<std::uint8_t>()[784 * 11], 11);
  EXPECT_EQ(splits.test.y.data<std::uint8_t>()[11], 1);
}

TEST_F(Datasets, AreFoundInTheCache) {
  write_set("cache/pando/mnist", 5);
  write_set("home/.cache/pando/mnist", 3);
  EXPECT_EQ(datasets::load("mnist").train.x.shape()[0], 5);
  set("XDG_CACHE_HOME", "");
  EXPECT_EQ(datasets::load("mnist").train.x.shape()[0], 3);
}

TEST_F(Datasets, SayWhereTheyWereLookedFor) {
  const std::string here = folder.path();
  EXPECT_FALSE(datasets::available("mnist"));
  EXPECT_EQ(message([] { datasets::load("mnist"); }),
            "mnist: there is no train-images-idx3-ubyte, plain or .gz, in " + here + "/data/mnist or " + here +
                "/cache/pando/mnist; run scripts/fetch_data.sh, or set PANDO_DATA to the folder that holds mnist/");
  set("PANDO_DATA", "");
  set("XDG_CACHE_HOME", "");
  EXPECT_EQ(
      message([] { datasets::load("mnist"); }),
      "mnist: there is no train-images-idx3-ubyte, plain or .gz, in " + here +
          "/home/.cache/pando/mnist; run scripts/fetch_data.sh, or set PANDO_DATA to the folder that holds mnist/");
  set("HOME", "");
  EXPECT_EQ(message([] { datasets::load("mnist"); }),
            "mnist: there is no train-images-idx3-ubyte, plain or .gz, in any folder (HOME is not set); run "
            "scripts/fetch_data.sh, or set PANDO_DATA to the folder that holds mnist/");
}

TEST_F(Datasets, SayWhichFileIsMissing) {
  write_set("data/mnist", 3);
  std::filesystem::remove(folder.path() + "/data/mnist/t10k-labels-idx1-ubyte");
  EXPECT_EQ(
      message([] { datasets::load("mnist"); }),
      "mnist: " + folder.path() +
          "/data/mnist has train-images-idx3-ubyte but no t10k-labels-idx1-ubyte, plain or .gz; remove the folder "
          "and run scripts/fetch_data.sh");
}

TEST_F(Datasets, AreRefusedWhenTheFilesHoldSomethingElse) {
  write_set("data/mnist", 3);
  const std::string images = folder.write("data/mnist/t10k-images-idx3-ubyte", idx_header(8, {1, 2, 2}) + "abcd");
  EXPECT_EQ(message([] { datasets::load("mnist"); }),
            images + ": holds uint8[1, 2, 2] but must hold uint8[n, 28, 28]; fetch it again");
  const std::string labels = folder.write("data/mnist/train-labels-idx1-ubyte", idx_header(8, {2}) + "ab");
  EXPECT_EQ(message([] { datasets::load("mnist"); }),
            labels + ": holds uint8[2] but must hold uint8[3], a label for each image; fetch it again");
  folder.write("data/mnist/train-labels-idx1-ubyte", idx_header(8, {3}) + std::string("\1\2\x0a", 3));
  EXPECT_EQ(message([] { datasets::load("mnist"); }), labels + ": label 2 is 10 but must be 0 to 9; fetch it again");
}

TEST_F(Datasets, HaveNames) {
  EXPECT_EQ(message([] { datasets::load("fashion-mnist"); }),
            "unknown data set 'fashion-mnist'; did you mean 'fashion_mnist'?");
  EXPECT_EQ(message([] { datasets::available("imagenet"); }),
            "unknown data set 'imagenet'; known are: mnist, fashion_mnist, synthetic_digits");
}

}  // namespace
}  // namespace pando
