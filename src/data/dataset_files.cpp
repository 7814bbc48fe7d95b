#include "data/dataset_files.h"

#include <pando/error.h>

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

namespace pando {

namespace {

std::string environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

// The path of `file`, or of `file`.gz, in `folder`; nothing if there is neither.
std::optional<std::string> find_file(const std::string& folder, const std::string& file) {
  for (const char* ending : {"", ".gz"}) {
    const std::string path = fmt::format("{}/{}{}", folder, file, ending);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) return path;
  }
  return std::nullopt;
}

std::string require_file(const std::string& name, const std::string& folder, const std::string& file) {
  const std::optional<std::string> path = find_file(folder, file);
  if (!path)
    throw Error(
        fmt::format("{}: {} has train-images-idx3-ubyte but no {}, plain or .gz; remove the folder and run "
                    "scripts/fetch_data.sh",
                    name, folder, file));
  return *path;
}

}  // namespace

std::vector<std::string> dataset_folders(const std::string& name) {
  std::vector<std::string> folders;
  const std::string data = environment("PANDO_DATA"), cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
  if (!data.empty()) folders.push_back(fmt::format("{}/{}", data, name));
  if (!cache.empty()) folders.push_back(fmt::format("{}/pando/{}", cache, name));
  else if (!home.empty()) folders.push_back(fmt::format("{}/.cache/pando/{}", home, name));
  if (name == "fashion_mnist") folders.push_back("/usr/share/datasets/fashion-mnist");
  return folders;
}

std::optional<DatasetFiles> find_dataset(const std::string& name) {
  for (const std::string& folder : dataset_folders(name)) {
    const std::optional<std::string> images = find_file(folder, "train-images-idx3-ubyte");
    if (images)
      return DatasetFiles{*images, require_file(name, folder, "train-labels-idx1-ubyte"),
                          require_file(name, folder, "t10k-images-idx3-ubyte"),
                          require_file(name, folder, "t10k-labels-idx1-ubyte")};
  }
  return std::nullopt;
}

}  // namespace pando
