// NPZ files that are open already, or only in memory.
#pragma once
#include <pando/data/files.h>

#include "io/byte_store.h"

namespace pando::data {

// As read_npz(path).
std::map<std::string, Array> read_npz(const ByteStore& store);

}  // namespace pando::data
