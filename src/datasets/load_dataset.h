// SPDX-License-Identifier: Apache-2.0
// Data sets from their files.
#pragma once
#include <pando/datasets/datasets.h>

#include "datasets/dataset_list.h"

namespace pando {

// Finds the files, downloads them if they are not on this machine, and checks each against its SHA-256. Throws Error,
// naming the file, the places where it was looked for and the remedy.
datasets::Splits load_dataset(const DatasetDescription& dataset, const datasets::LoadOptions& options);
// The images to train on, or those to test with; reads only their files.
datasets::Split load_split(const DatasetDescription& dataset, bool train, const datasets::LoadOptions& options);

}  // namespace pando
