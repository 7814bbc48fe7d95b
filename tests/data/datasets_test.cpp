// SPDX-License-Identifier: Apache-2.0
// Data sets are found where they are said to be, checked, and refused word for word when something is wrong.
#include <pando/frontends/keras/datasets.h>

#include <gtest/gtest.h>

#include "datasets/dataset_files.h"
#include "datasets/load_dataset.h"
#include "tests/data/tiny_dataset.h"
#include "tests/message.h"

namespace pando {
namespace {

class Datasets : public DatasetTest {
 protected:
  datasets::Splits load(const std::string& directory = "") { return load_dataset(dataset, {.directory = directory}); }
  // The paths begin with the test's folder, here written "~".
  std::string refusal(const std::string& directory = "") {
    std::string text = message([&] { load(directory); });
    for (std::size_t at; (at = text.find(folder.path())) != std::string::npos;)
      text.replace(at, folder.path().size(), "~");
    return text;
  }
  std::string place(const std::string& name) { return folder.path() + "/" + name; }
};

TEST_F(Datasets, AreFoundInTheDirectoryGiven) {
  write_set("mine");
  const datasets::Splits splits = load(place("mine"));
  EXPECT_EQ(splits.train.x.shape(), (Shape{12, 28, 28}));
  EXPECT_EQ(splits.test.y.shape(), (Shape{12}));
  EXPECT_EQ(splits.train.x.data<std::uint8_t>()[784 * 11], 11);
  EXPECT_EQ(splits.test.y.data<std::uint8_t>()[11], 1);
}

TEST_F(Datasets, AreLookedForNowhereElseThanInTheDirectoryGiven) {
  write_set("data/mnist");
  write_set("mine");
  std::filesystem::remove(place("mine/t10k-labels-idx1-ubyte"));
  EXPECT_EQ(
      refusal(place("mine")),
      "mnist: there is no t10k-labels-idx1-ubyte, plain or .gz, in ~/mine; give the directory that holds the four "
      "files, or none, to have them looked for and downloaded");
  EXPECT_EQ(refusal(place("absent")),
            "mnist: there is no train-images-idx3-ubyte, plain or .gz, in ~/absent; give the directory that holds the "
            "four files, or none, to have them looked for and downloaded");
}

TEST_F(Datasets, AreFoundInTheFolderOfTheEnvironmentFirst) {
  write_set("cache/pando/mnist");
  EXPECT_EQ((*find_dataset(dataset))[3], place("cache/pando/mnist/t10k-labels-idx1-ubyte"));
  write_set("data/mnist");
  EXPECT_EQ((*find_dataset(dataset))[0], place("data/mnist/train-images-idx3-ubyte"));
  EXPECT_EQ(load().train.x.shape()[0], 12);
  EXPECT_TRUE(datasets::available("mnist"));
}

TEST_F(Datasets, AreFoundInTheCache) {
  write_set("home/.cache/pando/mnist");
  EXPECT_FALSE(find_dataset(dataset));
  set("XDG_CACHE_HOME", "");
  EXPECT_EQ((*find_dataset(dataset))[1], place("home/.cache/pando/mnist/train-labels-idx1-ubyte"));
}

TEST_F(Datasets, AreLookedForInDebiansPackageLast) {
  const std::vector<std::string> folders = dataset_folders(dataset_list()[1]);
  EXPECT_EQ(folders, (std::vector<std::string>{place("data/fashion_mnist"), place("cache/pando/fashion_mnist"),
                                               "/usr/share/datasets/fashion-mnist"}));
}

TEST_F(Datasets, SayWhichFileIsMissing) {
  write_set("data/mnist");
  std::filesystem::remove(place("data/mnist/t10k-labels-idx1-ubyte"));
  const std::string expected =
      "mnist: ~/data/mnist has t10k-images-idx3-ubyte but no t10k-labels-idx1-ubyte, plain or .gz; add it, or remove "
      "the folder";
  EXPECT_EQ(refusal(), expected);
  EXPECT_THROW(datasets::available("mnist"), Error);
}

// One that is being downloaded, or was given up half-way.
TEST_F(Datasets, MayBeIncompleteInTheCache) {
  write_set("cache/pando/mnist");
  std::filesystem::remove(place("cache/pando/mnist/t10k-labels-idx1-ubyte"));
  EXPECT_FALSE(datasets::available("mnist"));
}

TEST_F(Datasets, AreRefusedWhenAFileIsNotThePublishedOne) {
  write_set("data/mnist");
  folder.write("data/mnist/t10k-images-idx3-ubyte", idx_header(8, {1, 2, 2}) + "abcd");
  EXPECT_EQ(refusal(),
            "~/data/mnist/t10k-images-idx3-ubyte: is not the file that was published: its content has the SHA-256 "
            "d1e438de9b5e9bc5704b2c423d9d0269e9acc396f05d7597f9da4d30419a4b51 but must have " +
                dataset.files[2].sha256 + "; replace it with that one");
}

TEST_F(Datasets, AreDownloadedAgainWhenTheCacheIsDamaged) {
  write_set("cache/pando/mnist");
  folder.write("cache/pando/mnist/train-labels-idx1-ubyte", contents[1] + "more");
  const std::string text = refusal();
  EXPECT_TRUE(text.starts_with("~/cache/pando/mnist/train-labels-idx1-ubyte: is not the file that was published: "))
      << text;
  EXPECT_TRUE(text.ends_with("; remove it, and it is downloaded again")) << text;
}

TEST_F(Datasets, SayWhereTheyWereLookedFor) {
  EXPECT_FALSE(datasets::available("mnist"));
#if defined(PANDO_WITH_CURL) && defined(PANDO_WITH_ZLIB)
  const std::string why = "file://~/mirror/mnist/train-images-idx3-ubyte.gz: there is no such file";
  const std::string why_not_even = "there is no cache directory, as neither XDG_CACHE_HOME nor HOME is set";
#else
  const std::string why = "this Pando was built without libcurl (libcurl4-openssl-dev)", why_not_even = why;
#endif
  const std::string remedy =
      "; put the four files into a folder and give it as the directory, or set PANDO_DATA to the folder that holds "
      "mnist/";
  EXPECT_EQ(refusal(),
            "mnist: there is no train-images-idx3-ubyte, plain or .gz, in ~/data/mnist or ~/cache/pando/mnist, and it "
            "cannot be downloaded: " +
                why + remedy);
  set("PANDO_DATA", "");
  set("XDG_CACHE_HOME", "");
  EXPECT_EQ(refusal(),
            "mnist: there is no train-images-idx3-ubyte, plain or .gz, in ~/home/.cache/pando/mnist, and it cannot be "
            "downloaded: " +
                why + remedy);
  set("HOME", "");
  EXPECT_EQ(refusal(), "mnist: there is no train-images-idx3-ubyte, plain or .gz, and it cannot be downloaded: " +
                           why_not_even + remedy);
}

TEST_F(Datasets, HaveTheSumsThatTheScriptChecks) {
  std::ifstream stream(PANDO_SOURCE_FOLDER "/scripts/fetch_data.sh");
  const std::string script(std::istreambuf_iterator<char>(stream), {});
  const DatasetDescription& mnist = dataset_list().front();
  ASSERT_EQ(mnist.name, "mnist");
  for (const DatasetFile& file : mnist.files)
    EXPECT_NE(script.find(file.sha256 + "  " + file.name), std::string::npos) << file.name;
}

TEST_F(Datasets, HaveNames) {
  EXPECT_EQ(message([] { datasets::load("fashion-mnist"); }),
            "unknown data set 'fashion-mnist'; did you mean 'fashion_mnist'?");
  EXPECT_EQ(message([] { datasets::available("imagenet"); }),
            "unknown data set 'imagenet'; known are: mnist, fashion_mnist, synthetic_digits");
}

TEST_F(Datasets, ThatAreDrawnHaveNoDirectory) {
  EXPECT_EQ(message([] { datasets::load("synthetic_digits", {.directory = "here"}); }),
            "synthetic_digits is drawn and has no files; leave the directory 'here' out");
}

TEST_F(Datasets, AreListedWithThePlacesWhereTheyAre) {
  write_set("cache/pando/mnist");
  const std::vector<datasets::Description> list = datasets::list();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].name, "mnist");
  EXPECT_EQ(list[0].folder, place("cache/pando/mnist"));
  EXPECT_EQ(list[0].train, 60000);
  EXPECT_EQ(list[0].image, (Shape{28, 28}));
  EXPECT_EQ(list[1].class_names[9], "Ankle boot");
  EXPECT_EQ(list[2].name, "synthetic_digits");
  EXPECT_TRUE(list[2].is_drawn && list[2].folder.empty());
}

TEST_F(Datasets, AreLoadedAsKerasDoes) {
  const auto [train, test] = keras::datasets::synthetic_digits::load_data(20, 10, 3);
  EXPECT_EQ(train.x.shape(), (Shape{20, 28, 28}));
  EXPECT_EQ(test.y.shape(), (Shape{10}));
  EXPECT_EQ(message([&] { keras::datasets::mnist::load_data({.directory = place("absent")}); }),
            message([&] { datasets::load("mnist", {.directory = place("absent")}); }));
  EXPECT_EQ(message([&] { keras::datasets::fashion_mnist::load_data({.directory = place("absent")}); }),
            message([&] { datasets::load("fashion_mnist", {.directory = place("absent")}); }));
}

#ifdef PANDO_WITH_ZLIB
TEST_F(Datasets, OfDebiansPackageAreThePublishedOnes) {
  if (!datasets::available("fashion_mnist")) GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  const auto [train, test] = keras::datasets::fashion_mnist::load_data();
  EXPECT_EQ(train.x.shape(), (Shape{60000, 28, 28}));
  EXPECT_EQ(test.y.shape(), (Shape{10000}));
}
#endif

}  // namespace
}  // namespace pando
