// Where the files of the data sets are.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace pando {

// The four files of a data set, plain or gzipped.
struct DatasetFiles {
  std::string train_images, train_labels, test_images, test_labels;
};

// The folders in which the files of `name` may lie, in the order in which they are looked through.
std::vector<std::string> dataset_folders(const std::string& name);

// The files of `name` in the first folder that has the training images; nothing if none has. Throws Error if that
// folder lacks one of the others.
std::optional<DatasetFiles> find_dataset(const std::string& name);

}  // namespace pando
