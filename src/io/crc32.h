// SPDX-License-Identifier: Apache-2.0
// CRC-32, the checksum of ZIP files.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace pando {

// The checksum of bytes whose checksum so far is `before`, followed by `bytes`; 0 is that of no bytes.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace pando
