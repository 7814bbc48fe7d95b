// Data sets from the mirrors into the cache directory.
#pragma once
#include "datasets/dataset_files.h"

namespace pando {

// Downloads what is not in the cache directory yet, shows the progress on the standard error stream, and returns where
// the files are. A file gets its name only after its SHA-256 was found right, so that others may do the same at the
// same time. $PANDO_MIRROR, if it is set, takes the place of the mirrors: the address that has the data sets' folders.
// Throws Error, naming the file, where it was looked for and the remedy.
DatasetPaths download_dataset(const DatasetDescription& dataset);

}  // namespace pando
