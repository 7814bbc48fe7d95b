// SPDX-License-Identifier: Apache-2.0
#include "io/crc32.h"

#include <array>

namespace pando {

namespace {

using Table = std::array<std::uint32_t, 256>;

// tables[k][b]: what the byte b does to the checksum k bytes later.
constexpr std::array<Table, 8> make_tables() {
  std::array<Table, 8> tables = {};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0u);
    tables[0][byte] = value;
  }
  for (std::size_t k = 1; k < tables.size(); ++k)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = before >> 8 ^ tables[0][before & 0xff];
    }
  return tables;
}

constexpr std::array<Table, 8> tables = make_tables();

}  // namespace

// Eight bytes at a time: a byte by byte loop waits for its table eight times as often.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  const auto at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
  for (; bytes.size() >= 8; bytes = bytes.subspan(8))
    crc = tables[7][at(0) ^ (crc & 0xff)] ^ tables[6][at(1) ^ (crc >> 8 & 0xff)] ^
          tables[5][at(2) ^ (crc >> 16 & 0xff)] ^ tables[4][at(3) ^ crc >> 24] ^ tables[3][at(4)] ^ tables[2][at(5)] ^
          tables[1][at(6)] ^ tables[0][at(7)];
  for (std::byte byte : bytes) crc = crc >> 8 ^ tables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  return ~crc;
}

}  // namespace pando
