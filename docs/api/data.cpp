// SPDX-License-Identifier: Apache-2.0
// The examples of the page "Data": arrays, pipelines, loaders, transforms, files and pictures.
#include <gtest/gtest.h>
#include <pando/pando.h>
#include <unistd.h>

#include <filesystem>

namespace {

using namespace pando;
namespace transforms = pando::torchvision::transforms;

class Data : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder + name; }
  std::string folder = testing::TempDir() + "pando_docs_" + std::to_string(getpid()) + "_";
  datasets::Splits digits = datasets::synthetic_digits(40, 10);
};

TEST_F(Data, Arrays) {
  //! [arrays]
  Array a = Array::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  Array b = (a * 2.0 + 1.0).reshape({3, 2});
  Array means = mean(a, 1);              // [2]
  Array rows = take(a, {1, 0});          // the rows in another order
  float first = a.data<float>()[0];      // the elements, row by row
  double total = sum(b).item<double>();  // an array of one element as a number
  Array bytes = a.astype(DType::uint8);
  //! [arrays]
  EXPECT_EQ(total, 48.0);
  EXPECT_EQ(first, 1.0f);
  EXPECT_EQ(means.shape(), (Shape{2}));
  EXPECT_EQ(rows.shape(), (Shape{2, 3}));
  EXPECT_EQ(bytes.dtype(), DType::uint8);
}

TEST_F(Data, Pipeline) {
  //! [pipeline]
  auto dataset = data::Dataset::from_tensor_slices({digits.train.x, digits.train.y})
                     .shuffle(1000, {.seed = 1})
                     .map(
                         [](const data::Element& sample) {
                           return data::Element{sample[0].astype(DType::float32) / 255.0, sample[1]};
                         },
                         data::MapOptions{.parallel_calls = 2})
                     .batch(16, {.drop_remainder = false})
                     .prefetch(2);
  for (const data::Element& batch : dataset) std::printf("%s\n", to_string(batch[0].shape()).c_str());
  //! [pipeline]
  EXPECT_EQ(dataset.cardinality(), 3);
  data::ShuffleOptions same_order{.seed = 1, .reshuffle_each_iteration = false};
  data::BatchOptions only_whole{.drop_remainder = true};
  EXPECT_EQ(dataset.unbatch().shuffle(40, same_order).batch(16, only_whole).cardinality(), data::Dataset::unknown);
}

TEST_F(Data, Loader) {
  //! [loader]
  auto transform = transforms::Compose({transforms::RandomCrop(28, {.padding = 2, .padding_mode = "reflect"}),
                                        transforms::RandomHorizontalFlip(0.5), transforms::Resize({14, 14}),
                                        transforms::ToTensor(), transforms::Normalize({0.1307}, {0.3081})});
  torchvision::datasets::VisionDataset dataset(digits.train, transform);
  torch::utils::data::DataLoader loader(dataset, {.batch_size = 8, .shuffle = true, .num_workers = 1});
  for (auto [images, labels] : loader) EXPECT_EQ(images.shape(), (Shape{8, 1, 14, 14}));
  //! [loader]
  transforms::Transform one = transforms::ToTensor();
  EXPECT_EQ(one(digits.train.x.slice(0, 1).reshape({28, 28})).shape(), (Shape{1, 28, 28}));
  torchvision::datasets::DatasetOptions to_test_with{.train = false, .root = "none"};
  EXPECT_THROW(torchvision::datasets::MNIST(to_test_with).size(), Error);
  EXPECT_THROW(torchvision::datasets::FashionMNIST(to_test_with).size(), Error);
}

//! [own_data_set]
struct Squares {
  static constexpr std::size_t columns = 2;
  std::int64_t size() const { return 100; }
  std::array<Array, 2> get(std::int64_t i) const {
    return {Array::scalar(static_cast<float>(i)), Array::scalar(static_cast<float>(i * i))};
  }
};
//! [own_data_set]

TEST_F(Data, OwnDataSet) {
  torch::utils::data::DataLoader loader(Squares(), {.batch_size = 10});
  EXPECT_EQ(loader.size(), 10);
  torch::utils::data::DataLoaderOptions ahead{.batch_size = 10, .num_workers = 2, .prefetch_factor = 4};
  EXPECT_EQ(torch::utils::data::DataLoader(Squares(), ahead).size(), 10);
  torch::utils::data::LoaderState place = loader.state();
  loader.load_state(place);
  torch::utils::data::TensorDataset pairs(ones({4, 2}), zeros({4}));
  EXPECT_EQ(pairs.size(), 4);
}

TEST_F(Data, Files) {
  //! [files]
  data::write_npy(path("images.npy"), digits.test.x);
  data::write_npz(path("digits.npz"), {{"x", digits.test.x}, {"y", digits.test.y}});
  data::write_idx(path("labels-idx1-ubyte"), digits.test.y);
  Array labels = data::read_npz(path("digits.npz"))["y"];
  //! [files]
  EXPECT_TRUE(array_equal(labels, data::read_idx(path("labels-idx1-ubyte"))));
  EXPECT_TRUE(array_equal(data::read_npy(path("images.npy")), digits.test.x));
  for (const char* name : {"images.npy", "digits.npz", "labels-idx1-ubyte"}) std::filesystem::remove(path(name));
}

TEST_F(Data, PicturesAndProgress) {
  //! [pictures]
  plot::Picture grid = plot::image_grid(digits.test.x, digits.test.y, {.count = 10, .columns = 5});
  grid.save(path("digits.svg"));
  //! [pictures]
  std::filesystem::remove(path("digits.svg"));
  //! [progress]
  int done = 0;
  for (int epoch : tqdm(1, 4, {.desc = "Epochs", .disable = true})) done = epoch;
  //! [progress]
  EXPECT_EQ(done, 3);
}

}  // namespace
