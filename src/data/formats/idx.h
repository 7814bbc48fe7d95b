// SPDX-License-Identifier: Apache-2.0
// IDX files that are open already, or only in memory.
#pragma once
#include <pando/data/files.h>

#include "io/byte_file.h"

namespace pando::data {

// As read_idx(path).
Array read_idx(ByteFile& file);

}  // namespace pando::data
