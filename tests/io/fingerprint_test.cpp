// SPDX-License-Identifier: Apache-2.0
// Two pieces of data that differ anywhere have different fingerprints.
#include "io/fingerprint.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace pando {
namespace {

std::string of(const std::vector<std::byte>& bytes) {
  Fingerprint sum;
  sum.add(bytes);
  return sum.digits();
}

TEST(Fingerprint, ShowsEveryBit) {
  std::vector<std::byte> bytes(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  std::set<std::string> seen = {of(bytes)};
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_TRUE(seen.insert(of(bytes)).second) << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  EXPECT_TRUE(seen.contains(of(bytes)));
  EXPECT_EQ(of(bytes).size(), 16u);
}

TEST(Fingerprint, ShowsTheLengthOfZeros) {
  std::set<std::string> seen;
  for (std::size_t size = 0; size < 200; ++size)
    EXPECT_TRUE(seen.insert(of(std::vector<std::byte>(size))).second) << size;
}

TEST(Fingerprint, ShowsTheOrder) {
  std::vector<std::byte> bytes(256);
  std::set<std::string> seen;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] = std::byte{1};
    EXPECT_TRUE(seen.insert(of(bytes)).second) << at;
    bytes[at] = std::byte{0};
  }
}

}  // namespace
}  // namespace pando
