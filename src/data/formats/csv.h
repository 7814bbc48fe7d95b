// SPDX-License-Identifier: Apache-2.0
// CSV files that are open already, or only in memory.
#pragma once
#include <pando/data/files.h>

#include "io/byte_file.h"

namespace pando::data {

// As read_csv(path).
CsvTable read_csv(ByteFile& file, const CsvOptions& options);

}  // namespace pando::data
