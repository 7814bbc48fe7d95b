// SPDX-License-Identifier: Apache-2.0
#include "datasets/dataset_list.h"

namespace pando {

namespace {

constexpr std::uint64_t train_count = 60000, test_count = 10000, pixels = 28 * 28;

// The four files of `train_count` and `test_count` images, by their sums.
std::array<DatasetFile, 4> mnist_like(const std::array<const char*, 4>& sums) {
  constexpr std::uint64_t images_header = 16, labels_header = 8;
  return {{{"train-images-idx3-ubyte", images_header + train_count * pixels, sums[0]},
           {"train-labels-idx1-ubyte", labels_header + train_count, sums[1]},
           {"t10k-images-idx3-ubyte", images_header + test_count * pixels, sums[2]},
           {"t10k-labels-idx1-ubyte", labels_header + test_count, sums[3]}}};
}

}  // namespace

const std::vector<DatasetDescription>& dataset_list() {
  static const std::vector<DatasetDescription> list = {
      {.name = "mnist",
       .package_folder = "",
       .mirrors = {"https://storage.googleapis.com/cvdf-datasets/mnist/",
                   "https://ossci-datasets.s3.amazonaws.com/mnist/"},
       .files = mnist_like({"ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}),
       .class_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}},
      {.name = "fashion_mnist",
       .package_folder = "/usr/share/datasets/fashion-mnist",
       .mirrors = {"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                   "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"},
       .files = mnist_like({"c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"}),
       .class_names = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
                       "Ankle boot"}},
  };
  return list;
}

}  // namespace pando
