// SPDX-License-Identifier: Apache-2.0
// ZIP archives, as far as NPZ files need them: stored and deflated entries, of any size.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/byte_file.h"
#include "io/byte_store.h"
#include "io/file_writer.h"

namespace pando {

// This in a field of 32 bits says that the value is in the extra fields, with 64 bits.
inline constexpr std::uint64_t zip_value_in_extra_fields = 0xffffffff;

struct ZipEntry {
  std::string name;
  ArchivePart part;
};

// The entries in the order of the archive's directory. Each lies within the file and none overlaps another, so that
// reading all of them costs no more than the file holds. Throws Error for archives that are malformed, encrypted or
// compressed in another way.
std::vector<ZipEntry> read_zip_directory(const ByteStore& store);

// Writes an archive of stored entries. Every field has 64 bits (ZIP64), whatever the sizes.
class ZipWriter {
 public:
  explicit ZipWriter(const std::string& path) : file_(path) {}

  // The entry's content is `head`, then `body`. The name has at most 65,535 bytes.
  void add(std::string_view name, std::span<const std::byte> head, std::span<const std::byte> body);
  // Writes the directory; to be called once, at the end.
  void commit();

 private:
  void write(std::span<const std::byte> bytes);
  std::vector<std::byte> end_records(std::uint64_t directory_offset) const;

  FileWriter file_;
  std::uint64_t written_ = 0, entries_ = 0;
  std::vector<std::byte> directory_;
};

}  // namespace pando
