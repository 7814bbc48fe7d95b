// SPDX-License-Identifier: Apache-2.0
#include "cli/checkpoints.h"

#include <algorithm>
#include <filesystem>

namespace pando::cli {

std::string newest_checkpoint(const std::string& folder) {
  std::string newest;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("checkpoint-") && name.ends_with(".safetensors")) newest = std::max(newest, name);
  }
  return newest;
}

}  // namespace pando::cli
