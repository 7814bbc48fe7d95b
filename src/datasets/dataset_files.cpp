// SPDX-License-Identifier: Apache-2.0
#include "datasets/dataset_files.h"

#include <pando/base/error.h>

#include <fmt/format.h>

#include "base/paths.h"

namespace pando {

std::string dataset_cache(const std::string& name) {
  const std::string cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
  if (!cache.empty()) return fmt::format("{}/pando/{}", cache, name);
  return home.empty() ? "" : fmt::format("{}/.cache/pando/{}", home, name);
}

std::vector<std::string> dataset_folders(const DatasetDescription& dataset) {
  std::vector<std::string> folders;
  const std::string data = environment("PANDO_DATA"), cache = dataset_cache(dataset.name);
  if (!data.empty()) folders.push_back(fmt::format("{}/{}", data, dataset.name));
  if (!cache.empty()) folders.push_back(cache);
  if (!dataset.package_folder.empty()) folders.push_back(dataset.package_folder);
  return folders;
}

std::optional<std::string> find_file(const std::string& folder, const std::string& file) {
  for (const char* ending : {"", ".gz"}) {
    const std::string path = fmt::format("{}/{}{}", folder, file, ending);
    if (is_file(path)) return path;
  }
  return std::nullopt;
}

DatasetPaths find_in_directory(const DatasetDescription& dataset, const std::string& directory) {
  DatasetPaths paths;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::optional<std::string> path = find_file(directory, dataset.files[i].name);
    if (!path)
      throw Error(
          fmt::format("{}: there is no {}, plain or .gz, in {}; give the directory that holds the four files, or none, "
                      "to have them looked for and downloaded",
                      dataset.name, dataset.files[i].name, directory));
    paths[i] = *path;
  }
  return paths;
}

std::optional<DatasetPaths> find_dataset(const DatasetDescription& dataset) {
  for (const std::string& folder : dataset_folders(dataset)) {
    DatasetPaths paths;
    std::string present, missing;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const std::string& name = dataset.files[i].name;
      paths[i] = find_file(folder, name).value_or("");
      (paths[i].empty() ? missing : present) = name;
    }
    if (missing.empty()) return paths;
    if (!present.empty() && folder != dataset_cache(dataset.name))
      throw Error(fmt::format("{}: {} has {} but no {}, plain or .gz; add it, or remove the folder", dataset.name,
                              folder, present, missing));
  }
  return std::nullopt;
}

}  // namespace pando
