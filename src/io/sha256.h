// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pando {

// Takes bytes piece by piece.
class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  // The sum of all of them as 64 lower-case hexadecimal digits, as sha256sum prints it.
  std::string digits() const;

 private:
  static constexpr std::size_t block_size = 64;
  using State = std::array<std::uint32_t, 8>;
  static void add_block(State& state, const std::byte* block);

  State state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  // What follows the last whole block.
  std::array<std::byte, block_size> rest_ = {};
  std::uint64_t bytes_ = 0;
};

// The sum of these bytes alone.
std::string sha256(std::span<const std::byte> bytes);

}  // namespace pando
