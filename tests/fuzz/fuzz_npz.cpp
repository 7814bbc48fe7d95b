// SPDX-License-Identifier: Apache-2.0
#include "data/formats/npz.h"
#include "tests/fuzz/fuzz.h"

void pando::read_bytes(std::span<const std::byte> bytes) { data::read_npz(ByteStore("input", bytes)); }
