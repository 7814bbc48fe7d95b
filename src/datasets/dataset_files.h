// SPDX-License-Identifier: Apache-2.0
// Where the files of the data sets are on this machine.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "datasets/dataset_list.h"

namespace pando {

// The paths of a data set's files, in the order of its description, plain or gzipped.
using DatasetPaths = std::array<std::string, 4>;

// The folder of the cache directory ($XDG_CACHE_HOME/pando, or ~/.cache/pando) that is for `name`; empty if there is no
// cache directory.
std::string dataset_cache(const std::string& name);

// The folders in which the files may be if the user names none, in the order in which they are searched.
std::vector<std::string> dataset_folders(const DatasetDescription& dataset);

// The path of `file`, plain or .gz, in `folder`; nothing if there is neither.
std::optional<std::string> find_file(const std::string& folder, const std::string& file);

// The files in `directory`. Throws Error if one is missing.
DatasetPaths find_in_directory(const DatasetDescription& dataset, const std::string& directory);

// The files in the first of the folders that has them; nothing if none has. Throws Error for a folder that has some of
// them, unless it is the cache, where the others are still to come.
std::optional<DatasetPaths> find_dataset(const DatasetDescription& dataset);

}  // namespace pando
