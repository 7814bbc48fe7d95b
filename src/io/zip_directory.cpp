// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "io/byte_order.h"
#include "io/zip.h"

namespace pando {

namespace {

constexpr const char* save_again = "save it again with numpy.savez";
constexpr std::uint64_t end_size = 22, locator_size = 20, end64_size = 56, entry_size = 46, local_size = 30;

using Bytes = std::vector<std::byte>;

// What the end of an archive says about its directory.
struct Directory {
  std::uint64_t entries, offset, size;
};

std::uint64_t number(std::span<const std::byte> bytes, std::size_t offset, std::size_t count) {
  return little_endian(bytes.subspan(offset, count));
}

bool has_signature(std::span<const std::byte> bytes, std::uint64_t signature) {
  return bytes.size() >= 4 && number(bytes, 0, 4) == signature;
}

// The bytes [offset, offset + count), or as many as there are.
Bytes read(const ByteStore& store, std::uint64_t offset, std::uint64_t count) {
  Bytes bytes(static_cast<std::size_t>(offset < store.size() ? std::min(count, store.size() - offset) : 0));
  bytes.resize(store.read(offset, bytes));
  return bytes;
}

[[noreturn]] void fail_damaged(const ByteStore& store, const std::string& what) {
  store.fail(fmt::format("has a damaged ZIP directory ({})", what), save_again);
}

// A comment follows the archive's last record, which gives the length of the comment.
std::uint64_t find_end(const ByteStore& store) {
  constexpr std::uint64_t longest_comment = 0xffff;
  const std::uint64_t from = store.size() - std::min(store.size(), end_size + longest_comment);
  const Bytes tail = read(store, from, end_size + longest_comment);
  for (std::size_t i = tail.size() >= end_size ? tail.size() - end_size + 1 : 0; i-- > 0;) {
    const std::span<const std::byte> record = std::span<const std::byte>(tail).subspan(i);
    if (has_signature(record, 0x06054b50) && number(record, 20, 2) == record.size() - end_size) return from + i;
  }
  store.fail("is not an NPZ file, or only the beginning of one", save_again);
}

Directory find_directory(const ByteStore& store) {
  const std::uint64_t end = find_end(store);
  const Bytes record = read(store, end, end_size);
  Directory directory{number(record, 10, 2), number(record, 16, 4), number(record, 12, 4)};
  const Bytes locator = read(store, end - std::min(end, locator_size), locator_size);
  if (end >= locator_size && has_signature(locator, 0x07064b50)) {
    const Bytes end64 = read(store, number(locator, 8, 8), end64_size);
    if (end64.size() < end64_size || !has_signature(end64, 0x06064b50)) fail_damaged(store, "no ZIP64 record");
    directory = {number(end64, 32, 8), number(end64, 48, 8), number(end64, 40, 8)};
  }
  if (directory.offset > end || directory.size > end - directory.offset) fail_damaged(store, "it is not in the file");
  return directory;
}

// Takes the numbers of 64 bits from the extra fields, for those of 32 bits that point there; false if they are missing.
bool read_extra_fields(std::span<const std::byte> extra, std::initializer_list<std::uint64_t*> fields) {
  constexpr std::uint64_t zip64 = 1;
  std::span<const std::byte> numbers;
  while (extra.size() >= 4) {
    const std::size_t size = static_cast<std::size_t>(number(extra, 2, 2));
    if (size > extra.size() - 4) return false;
    if (number(extra, 0, 2) == zip64) numbers = extra.subspan(4, size);
    extra = extra.subspan(4 + size);
  }
  for (std::uint64_t* field : fields) {
    if (*field != zip_value_in_extra_fields) continue;
    if (numbers.size() < 8) return false;
    *field = number(numbers, 0, 8);
    numbers = numbers.subspan(8);
  }
  return true;
}

// The bytes of an entry begin after its local header, and only the header gives its own length.
std::uint64_t find_content(const ByteStore& store, const std::string& name, std::uint64_t offset) {
  const Bytes local = read(store, offset, local_size);
  if (local.size() < local_size || !has_signature(local, 0x04034b50))
    fail_damaged(store, fmt::format("'{}' is not where it says", name));
  return offset + local_size + number(local, 26, 2) + number(local, 28, 2);
}

// An entry, and where its local header begins.
struct PlacedEntry {
  ZipEntry entry;
  std::uint64_t begin;
};

void check_method(const ByteStore& store, const std::string& name, std::uint64_t flags, std::uint64_t method) {
  if (flags & 1) store.fail(fmt::format("'{}' in it is encrypted", name), save_again);
  if (method != 0 && method != 8)
    store.fail(fmt::format("'{}' in it is compressed by method {}", name, method),
               "only stored and deflated arrays are read; save it again with numpy.savez");
}

// Takes the next entry from the front of `rest`.
PlacedEntry take_entry(const ByteStore& store, std::span<const std::byte>& rest) {
  if (rest.size() < entry_size || !has_signature(rest, 0x02014b50)) fail_damaged(store, "it ends too early");
  const std::size_t name_size = number(rest, 28, 2), extra_size = number(rest, 30, 2), more = number(rest, 32, 2);
  if (rest.size() - entry_size < name_size + extra_size + more) fail_damaged(store, "it ends too early");
  const std::string name(reinterpret_cast<const char*>(rest.data()) + entry_size, name_size);
  const std::uint64_t method = number(rest, 10, 2);
  check_method(store, name, number(rest, 8, 2), method);
  std::uint64_t inflated_size = number(rest, 24, 4), size = number(rest, 20, 4), begin = number(rest, 42, 4);
  if (!read_extra_fields(rest.subspan(entry_size + name_size, extra_size), {&inflated_size, &size, &begin}))
    fail_damaged(store, fmt::format("'{}' has no sizes", name));
  const ArchivePart part{.offset = find_content(store, name, begin),
                         .size = size,
                         .deflated = method == 8,
                         .checksum = static_cast<std::uint32_t>(number(rest, 16, 4))};
  if (!part.deflated && size != inflated_size) fail_damaged(store, fmt::format("'{}' has two sizes", name));
  rest = rest.subspan(entry_size + name_size + extra_size + more);
  return {{name, part}, begin};
}

// Overlapping entries would let a small file ask for much memory.
void check_places(const ByteStore& store, std::vector<PlacedEntry> entries, std::uint64_t end) {
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.begin > b.begin; });
  for (const auto& [entry, begin] : entries) {
    if (entry.part.offset > end || entry.part.size > end - entry.part.offset)
      fail_damaged(store, fmt::format("'{}' overlaps what follows it", entry.name));
    end = begin;
  }
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(const ByteStore& store) {
  const Directory directory = find_directory(store);
  const Bytes bytes = read(store, directory.offset, directory.size);
  std::vector<PlacedEntry> placed;
  for (std::span<const std::byte> rest = bytes; !rest.empty();) placed.push_back(take_entry(store, rest));
  if (placed.size() != directory.entries)
    fail_damaged(store, fmt::format("{} entries instead of {}", placed.size(), directory.entries));
  check_places(store, placed, directory.offset);
  std::vector<ZipEntry> entries;
  for (PlacedEntry& place : placed) entries.push_back(std::move(place.entry));
  return entries;
}

}  // namespace pando
