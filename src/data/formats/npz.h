// SPDX-License-Identifier: Apache-2.0
// NPZ files that are open already, or only in memory.
#pragma once
#include <pando/data/files.h>

#include "base/machine/usable_memory.h"
#include "io/byte_store.h"

namespace pando::data {

// As read_npz(path). Arrays that are compressed may take `most_inflated` bytes of memory in all.
std::map<std::string, Array> read_npz(const ByteStore& store, std::uint64_t most_inflated = memory_for_a_file());

}  // namespace pando::data
