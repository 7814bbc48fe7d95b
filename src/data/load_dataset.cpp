#include "data/load_dataset.h"

#include <fmt/format.h>

#include "data/dataset_download.h"
#include "data/dataset_files.h"
#include "data/idx.h"
#include "data/sha256.h"

namespace pando {

namespace {

DatasetPaths find_or_download(const DatasetDescription& dataset, const std::string& directory) {
  if (!directory.empty()) return find_in_directory(dataset, directory);
  const std::optional<DatasetPaths> paths = find_dataset(dataset);
  return paths ? *paths : download_dataset(dataset);
}

// The array in a file that must be the published one.
Array read_checked(const DatasetDescription& dataset, const DatasetFile& file, const std::string& path) {
  ByteFile packed(path);
  const std::vector<std::byte> bytes = packed.read(file.bytes + 1);
  const std::string sum = sha256(bytes);
  const std::string cache = dataset_cache(dataset.name);
  if (sum != file.sha256)
    packed.fail(
        fmt::format("is not the file that was published: its content has the SHA-256 {} but must have {}", sum,
                    file.sha256),
        !cache.empty() && path.starts_with(cache) ? "remove it, and it is downloaded again" : "replace it by that one");
  ByteFile content(path, bytes);
  return data::read_idx(content);
}

datasets::Split read_split(const DatasetDescription& dataset, const DatasetPaths& paths, std::size_t images) {
  const auto read = [&](std::size_t i) { return read_checked(dataset, dataset.files[i], paths[i]); };
  return {read(images), read(images + 1)};
}

}  // namespace

datasets::Splits load_dataset(const DatasetDescription& dataset, const datasets::LoadOptions& options) {
  const DatasetPaths paths = find_or_download(dataset, options.directory);
  return {read_split(dataset, paths, 0), read_split(dataset, paths, 2)};
}

datasets::Split load_split(const DatasetDescription& dataset, bool train, const datasets::LoadOptions& options) {
  return read_split(dataset, find_or_download(dataset, options.directory), train ? 0 : 2);
}

}  // namespace pando
