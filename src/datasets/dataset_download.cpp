// SPDX-License-Identifier: Apache-2.0
#include "datasets/dataset_download.h"

#include <pando/base/error.h>
#include <pando/report/progress.h>

#include <fmt/format.h>

#include <filesystem>

#include "base/notice.h"
#include "base/text.h"
#include "io/byte_file.h"
#include "io/compression.h"
#include "datasets/download.h"
#include "io/file_writer.h"
#include "io/sha256.h"

namespace pando {

namespace {

std::vector<std::string> mirrors_of(const DatasetDescription& dataset) {
  std::string mirror = environment("PANDO_MIRROR");
  if (mirror.empty()) return dataset.mirrors;
  if (!mirror.ends_with('/')) mirror += '/';
  return {fmt::format("{}{}/", mirror, dataset.name)};
}

// Downloads with a progress bar, which appears with the first byte.
std::vector<std::byte> download_visibly(const std::string& address, std::uint64_t limit) {
  std::optional<ProgressBar> bar;
  const auto kibibytes = [](std::uint64_t bytes) { return static_cast<std::int64_t>((bytes + 1023) / 1024); };
  const std::vector<std::byte> bytes = download(address, limit, [&](std::uint64_t done, std::uint64_t total) {
    if (!bar) {
      notify("datasets", fmt::format("Downloading {}", address));
      bar.emplace(kibibytes(total), ProgressOptions{.stream = stderr, .unit = "KiB"});
    }
    bar->update(kibibytes(done));
  });
  if (bar) bar->finish();
  return bytes;
}

// The gzipped file at `address`, if it is the published one.
std::vector<std::byte> download_checked(const DatasetFile& file, const std::string& address) {
  // Bytes that do not compress become a little longer.
  constexpr std::uint64_t gzip_overhead = 1 << 16;
  std::vector<std::byte> bytes = download_visibly(address, file.bytes + gzip_overhead);
  ByteFile packed(address, bytes);
  if (sha256(packed.read(file.bytes + 1)) != file.sha256)
    throw Error(fmt::format("{}: it is not the file that was published, by its SHA-256", address));
  return bytes;
}

// Why nothing can be downloaded, whatever the mirrors; empty if it can.
std::string obstacle(const std::string& cache) {
  if (!can_download()) return "this Pando was built without libcurl (libcurl4-openssl-dev)";
  if (!can_compress()) return "this Pando was built without zlib (zlib1g-dev)";
  return cache.empty() ? "there is no cache directory, as neither XDG_CACHE_HOME nor HOME is set" : "";
}

[[noreturn]] void throw_missing(const DatasetDescription& dataset, const DatasetFile& file, const std::string& why) {
  const std::vector<std::string> folders = dataset_folders(dataset);
  const std::string looked = folders.empty() ? "" : fmt::format(" in {}", join(folders, " or "));
  throw Error(
      fmt::format("{}: there is no {}, plain or .gz,{}{} and it cannot be downloaded: {}; put the four files into a "
                  "folder and give it as the directory, or set PANDO_DATA to the folder that holds {}/",
                  dataset.name, file.name, looked, looked.empty() ? "" : ",", why, dataset.name));
}

// From the first mirror that has the right file to `path`.
void fetch(const DatasetDescription& dataset, const DatasetFile& file, const std::string& path) {
  std::vector<std::string> problems;
  for (const std::string& mirror : mirrors_of(dataset)) {
    std::vector<std::byte> bytes;
    try {
      bytes = download_checked(file, fmt::format("{}{}.gz", mirror, file.name));
    } catch (const Error& error) {
      problems.push_back(error.what());
      continue;
    }
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    FileWriter writer(path);
    writer.write(bytes);
    return writer.commit();
  }
  throw_missing(dataset, file, join(problems, ", "));
}

}  // namespace

DatasetPaths download_dataset(const DatasetDescription& dataset) {
  const std::string cache = dataset_cache(dataset.name);
  DatasetPaths paths;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const DatasetFile& file = dataset.files[i];
    if (!cache.empty()) paths[i] = find_file(cache, file.name).value_or("");
    if (!paths[i].empty()) continue;
    const std::string why = obstacle(cache);
    if (!why.empty()) throw_missing(dataset, file, why);
    paths[i] = fmt::format("{}/{}.gz", cache, file.name);
    fetch(dataset, file, paths[i]);
  }
  return paths;
}

}  // namespace pando
