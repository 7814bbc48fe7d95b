// SPDX-License-Identifier: Apache-2.0
// Gzipped files, read as both formats that may be gzipped.
#include <vector>

#include "io/compression.h"
#include "data/formats/idx.h"
#include "data/formats/npy.h"
#include "tests/fuzz/fuzz.h"

namespace {

std::vector<std::byte> gzipped(std::span<const std::byte> bytes) {
  std::vector<std::byte> packed;
  pando::Gzipper gzipper(
      [&](std::span<const std::byte> piece) { packed.insert(packed.end(), piece.begin(), piece.end()); });
  gzipper.write(bytes);
  gzipper.finish();
  return packed;
}

void read(std::span<const std::byte> bytes, pando::Array (*reader)(pando::ByteFile&)) {
  pando::ByteFile file("input", bytes);
  reader(file);
}

}  // namespace

void pando::read_bytes(std::span<const std::byte> bytes) {
  // Few inputs that a fuzzer makes up have the checksum of a gzipped file, so that most are gzipped for it.
  const bool is_gzipped = bytes.size() > 1 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
  const std::vector<std::byte> packed = is_gzipped ? std::vector(bytes.begin(), bytes.end()) : gzipped(bytes);
  try {
    read(packed, data::read_idx);
  } catch (const Error&) {
    read(packed, data::read_npy);
  }
}
