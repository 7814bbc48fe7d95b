// SPDX-License-Identifier: Apache-2.0
#include "io/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "io/byte_order.h"

namespace pando {

namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t load_word(const std::byte* bytes) {
  std::uint32_t word;
  std::memcpy(&word, bytes, sizeof word);
  return std::endian::native == std::endian::little ? __builtin_bswap32(word) : word;
}

// One round; the eight words change their names from round to round instead of moving.
inline void round(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t& d, std::uint32_t e, std::uint32_t f,
                  std::uint32_t g, std::uint32_t& h, std::uint32_t input) {
  const std::uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
  const std::uint32_t choice = g ^ (e & (f ^ g));
  const std::uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
  const std::uint32_t majority = (a & b) | (c & (a | b));
  h += sum1 + choice + input;
  d += h;
  h += sum0 + majority;
}

}  // namespace

void Sha256::add_block(State& state, const std::byte* block) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t i = 0; i < 16; ++i) w[i] = load_word(block + 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; i += 8) {
    const auto input = [&](std::size_t k) { return round_constants[i + k] + w[i + k]; };
    round(a, b, c, d, e, f, g, h, input(0));
    round(h, a, b, c, d, e, f, g, input(1));
    round(g, h, a, b, c, d, e, f, input(2));
    round(f, g, h, a, b, c, d, e, input(3));
    round(e, f, g, h, a, b, c, d, input(4));
    round(d, e, f, g, h, a, b, c, input(5));
    round(c, d, e, f, g, h, a, b, input(6));
    round(b, c, d, e, f, g, h, a, input(7));
  }
  const State mixed = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += mixed[i];
}

void Sha256::add(std::span<const std::byte> bytes) {
  const std::size_t open = bytes_ % block_size;
  bytes_ += bytes.size();
  if (open > 0) {
    const std::size_t taken = std::min(block_size - open, bytes.size());
    std::copy_n(bytes.begin(), taken, rest_.begin() + open);
    bytes = bytes.subspan(taken);
    if (open + taken < block_size) return;
    add_block(state_, rest_.data());
  }
  for (; bytes.size() >= block_size; bytes = bytes.subspan(block_size)) add_block(state_, bytes.data());
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
}

std::string Sha256::digits() const {
  std::vector<std::byte> last(rest_.begin(), rest_.begin() + bytes_ % block_size);
  last.push_back(std::byte{0x80});
  while (last.size() % block_size != block_size - 8) last.push_back(std::byte{0});
  append_big_endian(last, bytes_ * 8, 8);
  State state = state_;
  for (std::size_t i = 0; i < last.size(); i += block_size) add_block(state, last.data() + i);
  std::string digits;
  for (std::uint32_t word : state) digits += fmt::format("{:08x}", word);
  return digits;
}

std::string sha256(std::span<const std::byte> bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.digits();
}

}  // namespace pando
