// SPDX-License-Identifier: Apache-2.0
// poptorch.DataLoader: batches as large as a call of a model takes.
#pragma once
#include <pando/data/loader.h>
#include <pando/frontends/torch/poptorch/options.h>

namespace pando::poptorch {

// The samples of a call: micro-batches of `micro_batch_size` for all its device iterations, accumulated gradients and
// replicas.
PANDO_API torch::utils::data::DataLoaderOptions combined(torch::utils::data::DataLoaderOptions options,
                                                         const Options& model_options);

// options.batch_size is the size of a micro-batch; the loader's batches are those of a whole call.
template <std::size_t columns>
class DataLoader : public torch::utils::data::DataLoader<columns> {
 public:
  template <torch::utils::data::MapDataset Dataset>
  requires(Dataset::columns == columns) DataLoader(const Options& model_options, const Dataset& dataset,
                                                   const torch::utils::data::DataLoaderOptions& options = {})
      : torch::utils::data::DataLoader<columns>(dataset, combined(options, model_options)) {}
};

template <torch::utils::data::MapDataset Dataset>
DataLoader(const Options&, const Dataset&, const torch::utils::data::DataLoaderOptions& = {})
    -> DataLoader<Dataset::columns>;

}  // namespace pando::poptorch
