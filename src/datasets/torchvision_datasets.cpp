// SPDX-License-Identifier: Apache-2.0
#include <pando/base/array_functions.h>
#include <pando/base/random.h>
#include <pando/datasets/torchvision.h>

#include <fmt/format.h>

#include "base/philox.h"
#include "datasets/load_dataset.h"
#include "data/transforms/transforms.h"

namespace pando::torchvision::datasets {

namespace {

const DatasetDescription& described(const std::string& name) {
  for (const DatasetDescription& dataset : dataset_list())
    if (dataset.name == name) return dataset;
  throw InternalError("there is no data set " + name);
}

pando::datasets::Split split_of(const std::string& name, const DatasetOptions& options) {
  return load_split(described(name), options.train, {.directory = options.root});
}

// A key for each image, which depends only on the epoch's key and the image's index.
std::vector<std::uint64_t> image_keys(const std::vector<std::int64_t>& indices, std::uint64_t key) {
  std::vector<std::uint64_t> keys;
  keys.reserve(indices.size());
  for (const std::int64_t index : indices) {
    const philox::Block block = philox::block({.seed = key,
                                               .stream = 0,
                                               .update = static_cast<std::uint32_t>(index >> 32),
                                               .sample = static_cast<std::uint32_t>(index)},
                                              0);
    keys.push_back(std::uint64_t{block.word[0]} << 32 | block.word[1]);
  }
  return keys;
}

}  // namespace

struct VisionDataset::State {
  Array images, labels;
  transforms::Transform transform;
  std::vector<std::string> classes;
};

VisionDataset::VisionDataset(const pando::datasets::Split& split, const transforms::Transform& transform,
                             const std::vector<std::string>& classes) {
  const Array &x = split.x, &y = split.y;
  const bool are_images = x.dtype() == DType::uint8 && (x.shape().rank() == 3 || x.shape().rank() == 4);
  if (!are_images || y.shape() != Shape{x.shape()[0]})
    throw Error(
        fmt::format("VisionDataset: the images are {} and the labels {}; give uint8 [n, h, w] or [n, h, w, c], "
                    "and labels [n]",
                    transforms::array_text(x), transforms::array_text(y)));
  state_ = std::make_shared<const State>(State{x, y.astype(DType::int32), transform, classes});
}

std::int64_t VisionDataset::size() const { return state_->images.shape()[0]; }
const Array& VisionDataset::data() const { return state_->images; }
const Array& VisionDataset::targets() const { return state_->labels; }
const std::vector<std::string>& VisionDataset::classes() const { return state_->classes; }

std::array<Array, 2> VisionDataset::get(std::int64_t index) const {
  if (index < 0 || index >= size())
    throw Error(
        fmt::format("get: there is no sample {}; the data set has {}, from 0 to {}", index, size(), size() - 1));
  const std::array<Array, 2> rows = batch({index}, state_->transform.is_random() ? next_random_key() : 0);
  return {squeeze(rows[0], 0), squeeze(rows[1], 0)};
}

std::array<Array, 2> VisionDataset::batch(const std::vector<std::int64_t>& indices, std::uint64_t key) const {
  std::vector<std::uint64_t> keys;
  if (state_->transform.is_random()) keys = image_keys(indices, key);
  return {state_->transform.batch(take(state_->images, indices), keys), take(state_->labels, indices)};
}

MNIST::MNIST(const DatasetOptions& options)
    : VisionDataset(split_of("mnist", options), options.transform,
                    {"0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six", "7 - seven",
                     "8 - eight", "9 - nine"}) {}

FashionMNIST::FashionMNIST(const DatasetOptions& options)
    : VisionDataset(split_of("fashion_mnist", options), options.transform, described("fashion_mnist").class_names) {}

}  // namespace pando::torchvision::datasets
