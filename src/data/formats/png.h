// PNG files that are open already, or only in memory.
#pragma once
#include <pando/data/files.h>

#include "io/byte_store.h"

namespace pando::data {

// As read_png(path).
Array read_png(const ByteStore& store);

}  // namespace pando::data
