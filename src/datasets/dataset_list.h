// SPDX-License-Identifier: Apache-2.0
// The data sets that come as files: what was published, and where.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace pando {

// A file as it is when decompressed.
struct DatasetFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string sha256;
};

struct DatasetDescription {
  std::string name;
  // Where Debian's package has the files; empty if there is none.
  std::string package_folder;
  // Addresses to which a file's name and ".gz" are appended, in the order in which they are tried.
  std::vector<std::string> mirrors;
  // Training images, training labels, test images, test labels.
  std::array<DatasetFile, 4> files;
  std::vector<std::string> class_names = {};
};

// All of them, by name in the order in which messages list them.
const std::vector<DatasetDescription>& dataset_list();

}  // namespace pando
