// SPDX-License-Identifier: Apache-2.0
// The only file that uses zlib: it inflates and gzips bytes as they pass through.
#pragma once
#include <pando/base/function.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace pando {

// Whether Pando was built with zlib. Without it the two classes below must not be made.
bool can_compress();

// What the compressed bytes are wrapped in: nothing, as in ZIP files; members of a .gz file; or zlib's own header and
// checksum, as in PNG files.
enum class Wrapping { none, gzip, zlib };

// Deflate writes at most 258 bytes for 2 bits, so a short file can announce much but not hold it.
constexpr std::uint64_t most_inflated_bytes(std::uint64_t compressed_bytes) {
  constexpr std::uint64_t ratio = 258 * 8 / 2;
  return compressed_bytes < UINT64_MAX / ratio ? compressed_bytes * ratio : UINT64_MAX;
}

class Inflater {
 public:
  // Fills a span with compressed bytes and returns how many there were: fewer only at their end.
  using Refill = Function<std::size_t(std::span<std::byte>)>;
  enum class State { good, damaged, too_short };

  Inflater(Wrapping wrapping, Refill refill);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fills `out`, and returns how many bytes there were: fewer only at the end, or if the state is no longer good.
  std::size_t read(std::span<std::byte> out);
  State state() const { return state_; }

 private:
  struct Stream;

  std::unique_ptr<Stream> stream_;
  State state_ = State::good;
};

// Makes a .gz file, the same bytes for the same input.
class Gzipper {
 public:
  using Write = Function<void(std::span<const std::byte>)>;

  explicit Gzipper(Write write);
  ~Gzipper();
  Gzipper(const Gzipper&) = delete;
  Gzipper& operator=(const Gzipper&) = delete;

  void write(std::span<const std::byte> bytes);
  // Writes what is left; to be called once, at the end.
  void finish();

 private:
  struct Stream;

  std::unique_ptr<Stream> stream_;
};

}  // namespace pando
