// SPDX-License-Identifier: Apache-2.0
#include "datasets/load_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "datasets/dataset_download.h"
#include "datasets/dataset_files.h"
#include "data/formats/idx.h"
#include "io/sha256.h"

namespace pando {

namespace {

DatasetPaths find_or_download(const DatasetDescription& dataset, const std::string& directory) {
  if (!directory.empty()) return find_in_directory(dataset, directory);
  const std::optional<DatasetPaths> paths = find_dataset(dataset);
  return paths ? *paths : download_dataset(dataset);
}

struct Content {
  std::vector<std::byte> bytes;
  std::string sum;
};

// Reads at most `most` bytes. The checksum of one piece is computed while the next is inflated; both take about as
// long.
Content read_and_sum(ByteFile& file, std::uint64_t most) {
  constexpr std::uint64_t piece_size = 1 << 22;
  Content content;
  content.bytes.reserve(most);
  Sha256 sum;
  std::future<void> summing;
  while (true) {
    const std::size_t before = content.bytes.size();
    const std::vector<std::byte> piece = file.read(std::min(piece_size, most - before));
    if (summing.valid()) summing.get();
    if (piece.empty()) break;
    content.bytes.insert(content.bytes.end(), piece.begin(), piece.end());
    summing = std::async([&sum, added = std::span(content.bytes).subspan(before)] { sum.add(added); });
  }
  content.sum = sum.digits();
  return content;
}

// The array in a file that must be the published one.
Array read_checked(const DatasetDescription& dataset, const DatasetFile& file, const std::string& path) {
  ByteFile packed(path);
  const auto [bytes, sum] = read_and_sum(packed, file.bytes + 1);
  const std::string cache = dataset_cache(dataset.name);
  if (sum != file.sha256)
    packed.fail(fmt::format("is not the file that was published: its content has the SHA-256 {} but must have {}", sum,
                            file.sha256),
                !cache.empty() && path.starts_with(cache) ? "remove it, and it is downloaded again"
                                                          : "replace it with that one");
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
  std::future<datasets::Split> test = std::async([&] { return read_split(dataset, paths, 2); });
  datasets::Split train = read_split(dataset, paths, 0);
  return {std::move(train), test.get()};
}

datasets::Split load_split(const DatasetDescription& dataset, bool train, const datasets::LoadOptions& options) {
  return read_split(dataset, find_or_download(dataset, options.directory), train ? 0 : 2);
}

}  // namespace pando
