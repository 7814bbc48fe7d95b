// Folders of images, a folder for each class.
#pragma once
#include <pando/datasets/datasets.h>

namespace pando {

// As datasets::load_directory for a folder of class folders, or of train and test. Throws Error, naming the file and
// the remedy.
datasets::Directory read_image_folder(const std::string& path);

}  // namespace pando
