// SPDX-License-Identifier: Apache-2.0
#include "data/formats/npy.h"
#include "tests/fuzz/fuzz.h"

void pando::read_bytes(std::span<const std::byte> bytes) {
  ByteFile file("input", bytes);
  data::read_npy(file);
}
