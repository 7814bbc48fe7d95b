// SPDX-License-Identifier: Apache-2.0
// SHA-256 and CRC-32 agree with what is published about them.
#include "io/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "io/crc32.h"

namespace pando {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string sum(const std::string& text) { return sha256(bytes_of(text)); }

// The examples of FIPS 180-2 and of NIST's cryptographic algorithm validation program.
TEST(Sha256, HasTheSumsOfTheStandard) {
  EXPECT_EQ(sum(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sum("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sum("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sum("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqr"
                "stnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sum("\xbd"), "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
  EXPECT_EQ(sum(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Around the ends of blocks the padding takes one block or two.
TEST(Sha256, PadsEveryLength) {
  EXPECT_EQ(sum(std::string(55, '\0')), "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
  EXPECT_EQ(sum(std::string(56, '\0')), "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
  EXPECT_EQ(sum(std::string(57, '\0')), "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785");
  EXPECT_EQ(sum(std::string(64, '\0')), "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
}

TEST(Sha256, DoesNotDependOnThePieces) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i);
  for (std::size_t piece : {1u, 3u, 63u, 64u, 65u, 128u, 299u}) {
    Sha256 pieces;
    for (std::size_t i = 0; i < text.size(); i += piece)
      pieces.add(bytes_of(text).subspan(i, std::min(piece, text.size() - i)));
    EXPECT_EQ(pieces.digits(), sum(text)) << piece;
  }
}

TEST(Crc32, HasTheChecksumsOfZipFiles) {
  EXPECT_EQ(crc32({}), 0u);
  EXPECT_EQ(crc32(bytes_of("123456789")), 0xcbf43926u);
  EXPECT_EQ(crc32(bytes_of("The quick brown fox jumps over the lazy dog")), 0x414fa339u);
  EXPECT_EQ(crc32(bytes_of("456789"), crc32(bytes_of("123"))), 0xcbf43926u);
}

}  // namespace
}  // namespace pando
