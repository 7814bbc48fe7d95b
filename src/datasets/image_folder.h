// SPDX-License-Identifier: Apache-2.0
// Folders of images, a folder for each class.
#pragma once
#include <pando/datasets/datasets.h>

namespace pando {

// As datasets::load_own for a folder of class folders, or of train and test. Throws Error, naming the file and the
// remedy.
datasets::OwnData read_image_folder(const std::string& path, const datasets::OwnDataOptions& options);

// The images of a split with the size and the channels that the options ask for.
datasets::Split fitted(const datasets::Split& split, const datasets::OwnDataOptions& options);

}  // namespace pando
