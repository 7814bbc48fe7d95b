// SPDX-License-Identifier: Apache-2.0
// torchvision.datasets: images and their labels, for a DataLoader.
#pragma once
#include <pando/datasets/datasets.h>
#include <pando/data/transforms.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace pando::torchvision::datasets {

// Images and labels, transformed when they are fetched. Cheap to copy; copies share everything.
class PANDO_API VisionDataset {
 public:
  static constexpr std::size_t columns = 2;

  // Images uint8 [n, h, w] or [n, h, w, c], and as many labels. Throws Error for anything else.
  VisionDataset(const pando::datasets::Split& split, const transforms::Transform& transform = {},
                const std::vector<std::string>& classes = {});

  std::int64_t size() const;
  // The image, as the transform leaves it, and its label, an int32 scalar. Throws Error if there is no such sample.
  std::array<Array, 2> get(std::int64_t index) const;
  // The images along axis 0, and their labels, int32 [n]. Random transforms of an image depend on the key and its
  // index.
  std::array<Array, 2> batch(const std::vector<std::int64_t>& indices, std::uint64_t key) const;

  // All images as they are stored, and all labels, int32.
  const Array& data() const;
  const Array& targets() const;
  // The names of the labels, label 0 first.
  const std::vector<std::string>& classes() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

struct DatasetOptions {
  // The images to train on, or those to test with.
  bool train = true;
  transforms::Transform transform = {};
  // The folder of the files; if it is empty, the files are looked for as pando::datasets::LoadOptions says.
  std::string root = {};
};

// 28 x 28 grey images. The constructors throw as pando::datasets::load does.
class PANDO_API MNIST : public VisionDataset {
 public:
  explicit MNIST(const DatasetOptions& options = {});
};

// 28 x 28 grey images of clothes.
class PANDO_API FashionMNIST : public VisionDataset {
 public:
  explicit FashionMNIST(const DatasetOptions& options = {});
};

}  // namespace pando::torchvision::datasets
