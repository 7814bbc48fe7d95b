// SPDX-License-Identifier: Apache-2.0
// The bytes of IDX files, to be written by tests.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pando {

// `type` 8: uint8, 12: int32, 13: float32, 14: float64.
inline std::string idx_header(int type, const std::vector<std::uint32_t>& sizes) {
  std::string bytes = {0, 0, static_cast<char>(type), static_cast<char>(sizes.size())};
  for (std::uint32_t size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
  return bytes;
}

}  // namespace pando
