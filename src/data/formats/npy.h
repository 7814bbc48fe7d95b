// SPDX-License-Identifier: Apache-2.0
// NPY files that are open already, or only in memory.
#pragma once
#include <pando/data/files.h>

#include "io/byte_file.h"

namespace pando::data {

// As read_npy(path).
Array read_npy(ByteFile& file);

// The bytes before the elements of `array` in an NPY file. If such a file cannot hold its type, the Error names `path`.
std::vector<std::byte> npy_header(const std::string& path, const Array& array);

}  // namespace pando::data
