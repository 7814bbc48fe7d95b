// SPDX-License-Identifier: Apache-2.0
// Numbers in the bytes of files, whatever the machine's own order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pando {

inline std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

inline std::uint64_t big_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::byte byte : bytes) value = value << 8 | std::to_integer<std::uint64_t>(byte);
  return value;
}

// Appends the lowest `count` bytes of `value`.
inline void append_little_endian(std::vector<std::byte>& bytes, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(value >> 8 * i));
}

inline void append_big_endian(std::vector<std::byte>& bytes, std::uint64_t value, int count) {
  for (int i = count; i-- > 0;) bytes.push_back(static_cast<std::byte>(value >> 8 * i));
}

}  // namespace pando
