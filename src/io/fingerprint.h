// SPDX-License-Identifier: Apache-2.0
// Fingerprint: a checksum that distinguishes two large pieces of data, computed as fast as memory can be read.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pando {

// It protects against accidents, such as another data set of the same shape. Every step can be undone, so one different
// word always shows, and several almost certainly do. It does not protect against deliberate deception: that takes
// Sha256, which is about twenty times slower.
class Fingerprint {
 public:
  void add(std::span<const std::byte> bytes);
  // The fingerprint of everything so far: 16 hexadecimal digits.
  std::string digits() const;

 private:
  void add_block(const std::byte* block);

  static constexpr std::size_t lanes = 4, block_size = 8 * lanes;
  // Any different numbers would do; these are the first digits of the fractional parts of square roots.
  std::array<std::uint64_t, lanes> lanes_ = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                             0xa54ff53a5f1d36f1};
  std::uint64_t bytes_ = 0;
};

}  // namespace pando
