// SPDX-License-Identifier: Apache-2.0
// Data sets from the mirrors into the cache directory.
#pragma once
#include "datasets/dataset_files.h"

namespace pando {

// Downloads what is not in the cache directory yet, shows the progress on the standard error stream, and returns where
// the files are. A file gets its name only after its SHA-256 has been checked, so several processes may download at the
// same time. If $PANDO_MIRROR is set, it replaces the mirrors; it is the address that has the data sets' folders.
// Throws Error, naming the file, where it was looked for and the remedy.
DatasetPaths download_dataset(const DatasetDescription& dataset);

}  // namespace pando
