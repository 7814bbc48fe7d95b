// SPDX-License-Identifier: Apache-2.0
// The bytes of a file from front to back, decompressed.
#pragma once
#include <pando/base/array.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/machine/usable_memory.h"
#include "io/byte_store.h"

namespace pando {

// Where an entry of an archive lies, and the CRC-32 of its bytes when inflated.
struct ArchivePart {
  std::uint64_t offset = 0, size = 0;
  bool deflated = false;
  std::uint32_t checksum = 0;
};

// Compressed files may hold a thousand times their own size: an announced size is refused if it takes more memory than
// `most_inflated`. All errors are Error, and name the file and the remedy.
class ByteFile {
 public:
  // Throws if the file cannot be opened, or is gzipped and Pando was built without zlib.
  explicit ByteFile(const std::string& path);
  // As if `bytes`, which must outlive this, were the file `name`.
  ByteFile(const std::string& name, std::span<const std::byte> bytes,
           std::uint64_t most_inflated = memory_for_a_file());
  // An entry of the archive `store`, which must outlive this.
  ByteFile(const std::string& name, const ByteStore& store, const ArchivePart& part,
           std::uint64_t most_inflated = memory_for_a_file());
  ~ByteFile();
  ByteFile(const ByteFile&) = delete;
  ByteFile& operator=(const ByteFile&) = delete;

  const std::string& path() const { return path_; }
  // The next `count` bytes, or fewer at the end of the file. Memory grows with the bytes that are really there, so a
  // `count` from a malformed header costs nothing.
  std::vector<std::byte> read(std::uint64_t count);
  // As read(), but throws if the file ends before; `what` names the bytes: "the header".
  std::vector<std::byte> read_exactly(std::uint64_t count, const std::string& what);
  // Reads the bytes of the array that a header announces straight into it. Throws if bytes are missing, if their number
  // does not fit in 64 bits, and if they are compressed and more than `most_inflated`.
  Array read_array(DType dtype, const Shape& shape);
  // Throws if there are bytes left, or if those of an archive's entry do not have its checksum.
  void expect_end();
  // Throws: "PATH: `problem`; `remedy`".
  [[noreturn]] void fail(const std::string& problem, const std::string& remedy) const;

 private:
  class Reader;

  ByteFile(std::unique_ptr<const ByteStore> store, std::uint64_t most_inflated);
  std::uint64_t announced_bytes(DType dtype, const Shape& shape) const;
  // Fills `out`; fewer bytes only at the end. Throws if the compressed data are damaged.
  std::size_t read_into(std::span<std::byte> out);
  [[noreturn]] void fail_short(std::uint64_t got, std::uint64_t wanted, const std::string& what) const;

  std::string path_;
  std::unique_ptr<const ByteStore> own_store_;
  std::unique_ptr<Reader> reader_;
  std::uint64_t most_inflated_;
};

}  // namespace pando
