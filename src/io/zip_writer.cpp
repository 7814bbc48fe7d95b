// SPDX-License-Identifier: Apache-2.0
#include "io/byte_order.h"
#include "io/crc32.h"
#include "io/zip.h"

namespace pando {

namespace {

constexpr std::uint64_t version = 45, zip64 = 1;
// 1 January 1980: the same arrays make the same file.
constexpr std::uint64_t date = 1 << 5 | 1;

// The fields that the local header and the directory share: from the version to the length of the extra fields.
void append_description(std::vector<std::byte>& bytes, std::string_view name, std::uint32_t checksum,
                        std::uint64_t extra_size) {
  constexpr std::uint64_t names_are_utf8 = 1 << 11, stored = 0, midnight = 0;
  append_little_endian(bytes, version, 2);
  append_little_endian(bytes, names_are_utf8, 2);
  append_little_endian(bytes, stored, 2);
  append_little_endian(bytes, midnight, 2);
  append_little_endian(bytes, date, 2);
  append_little_endian(bytes, checksum, 4);
  append_little_endian(bytes, zip_value_in_extra_fields, 4);
  append_little_endian(bytes, zip_value_in_extra_fields, 4);
  append_little_endian(bytes, name.size(), 2);
  append_little_endian(bytes, extra_size, 2);
}

void append_name(std::vector<std::byte>& bytes, std::string_view name) {
  for (char character : name) bytes.push_back(static_cast<std::byte>(character));
}

void append_extra_field(std::vector<std::byte>& bytes, std::initializer_list<std::uint64_t> numbers) {
  append_little_endian(bytes, zip64, 2);
  append_little_endian(bytes, 8 * numbers.size(), 2);
  for (std::uint64_t number : numbers) append_little_endian(bytes, number, 8);
}

}  // namespace

void ZipWriter::write(std::span<const std::byte> bytes) {
  file_.write(bytes);
  written_ += bytes.size();
}

void ZipWriter::add(std::string_view name, std::span<const std::byte> head, std::span<const std::byte> body) {
  const std::uint64_t size = head.size() + body.size(), begin = written_;
  const std::uint32_t checksum = crc32(body, crc32(head));
  std::vector<std::byte> local;
  append_little_endian(local, 0x04034b50, 4);
  append_description(local, name, checksum, 20);
  append_name(local, name);
  append_extra_field(local, {size, size});
  write(local);
  write(head);
  write(body);

  append_little_endian(directory_, 0x02014b50, 4);
  append_little_endian(directory_, version, 2);
  append_description(directory_, name, checksum, 28);
  append_little_endian(directory_, 0, 2 + 2 + 2);  // comment, disk, internal attributes
  append_little_endian(directory_, 0, 4);          // external attributes
  append_little_endian(directory_, zip_value_in_extra_fields, 4);
  append_name(directory_, name);
  append_extra_field(directory_, {size, size, begin});
  ++entries_;
}

// The records at the end that point to the directory: with 64 bits, then the one that every archive has.
std::vector<std::byte> ZipWriter::end_records(std::uint64_t directory_offset) const {
  std::vector<std::byte> end;
  // NumPy recognises an empty archive by the last record alone.
  const bool empty = entries_ == 0;
  if (!empty) {
    append_little_endian(end, 0x06064b50, 4);
    append_little_endian(end, 44, 8);  // the bytes of this record that follow
    append_little_endian(end, version, 2);
    append_little_endian(end, version, 2);
    append_little_endian(end, 0, 4 + 4);  // the only disk
    append_little_endian(end, entries_, 8);
    append_little_endian(end, entries_, 8);
    append_little_endian(end, directory_.size(), 8);
    append_little_endian(end, directory_offset, 8);
    append_little_endian(end, 0x07064b50, 4);
    append_little_endian(end, 0, 4);
    append_little_endian(end, directory_offset + directory_.size(), 8);
    append_little_endian(end, 1, 4);  // disks in all
  }
  append_little_endian(end, 0x06054b50, 4);
  append_little_endian(end, 0, 2 + 2);  // the only disk
  append_little_endian(end, empty ? 0 : 0xffff, 2);
  append_little_endian(end, empty ? 0 : 0xffff, 2);
  append_little_endian(end, empty ? 0 : zip_value_in_extra_fields, 4);
  append_little_endian(end, empty ? 0 : zip_value_in_extra_fields, 4);
  append_little_endian(end, 0, 2);  // no comment
  return end;
}

void ZipWriter::commit() {
  const std::vector<std::byte> end = end_records(written_);
  write(directory_);
  write(end);
  file_.commit();
}

}  // namespace pando
