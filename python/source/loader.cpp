// SPDX-License-Identifier: Apache-2.0
// torch.utils.data over data that C++ has: batches are made without Python, and ahead of time if there are workers.
#include <pando/data/loader.h>
#include <pando/datasets/torchvision.h>

#include "bind.h"

namespace pando::python {

namespace {

using torch::utils::data::BatchLoader;
using torch::utils::data::DataLoaderOptions;
using torchvision::datasets::VisionDataset;

DataLoaderOptions options_from(std::int64_t batch_size, bool shuffle, bool drop_last,
                               const std::optional<std::uint64_t>& seed, std::int64_t workers, std::int64_t ahead) {
  return {.batch_size = batch_size,
          .shuffle = shuffle,
          .drop_last = drop_last,
          .seed = seed,
          .num_workers = workers,
          .prefetch_factor = ahead};
}

// Labels are int64 in PyTorch.
Arrays with_long_labels(const std::array<Array, 2>& batch) { return {batch[0], batch[1].astype(DType::int64)}; }

// The samples of a part of the data, or of all of it.
using Indices = std::optional<std::vector<std::int64_t>>;

std::vector<std::int64_t> chosen(const std::vector<std::int64_t>& numbers, const Indices& of) {
  if (!of) return numbers;
  std::vector<std::int64_t> indices;
  for (const std::int64_t number : numbers) indices.push_back((*of)[static_cast<std::size_t>(number)]);
  return indices;
}

BatchLoader image_loader(const VisionDataset& dataset, const Indices& subset, std::int64_t batch_size, bool shuffle,
                         bool drop_last, const std::optional<std::uint64_t>& seed, std::int64_t workers,
                         std::int64_t ahead) {
  const auto count = subset ? static_cast<std::int64_t>(subset->size()) : dataset.size();
  const auto fetch = [dataset, subset](const std::vector<std::int64_t>& numbers, std::uint64_t key) {
    return with_long_labels(dataset.batch(chosen(numbers, subset), key));
  };
  return {count, fetch, options_from(batch_size, shuffle, drop_last, seed, workers, ahead)};
}

BatchLoader array_loader(const Arrays& columns, const Indices& subset, std::int64_t batch_size, bool shuffle,
                         bool drop_last, const std::optional<std::uint64_t>& seed, std::int64_t workers,
                         std::int64_t ahead) {
  torch::utils::data::check_rows("TensorDataset", columns);
  const auto count = subset ? static_cast<std::int64_t>(subset->size()) : columns.at(0).shape()[0];
  const auto fetch = [columns, subset](const std::vector<std::int64_t>& numbers, std::uint64_t) {
    const std::vector<std::int64_t> indices = chosen(numbers, subset);
    Arrays batch;
    for (const Array& column : columns) batch.push_back(take(column, indices));
    return batch;
  };
  return {count, fetch, options_from(batch_size, shuffle, drop_last, seed, workers, ahead)};
}

}  // namespace

void bind_loaders(py::module_& module) {
  py::module_ part = module.def_submodule("data", "Loaders of samples that C++ has.");
  py::class_<BatchLoader::Epoch, EndsWithoutGil<BatchLoader::Epoch>>(part, "Epoch")
      .def("next", &BatchLoader::Epoch::next, WithoutGil());
  py::class_<BatchLoader>(part, "BatchLoader")
      .def("__len__", &BatchLoader::size)
      .def(
          "epoch", [](const BatchLoader& self) { return BatchLoader::Epoch(self); }, WithoutGil());
  const auto define = [&part](const char* name, const char* what, auto* function) {
    part.def(name, function, py::arg(what), py::arg("subset"), py::arg("batch_size"), py::arg("shuffle"),
             py::arg("drop_last"), py::arg("seed"), py::arg("workers"), py::arg("ahead"));
  };
  define("image_loader", "dataset", &image_loader);
  define("array_loader", "columns", &array_loader);
}

}  // namespace pando::python
