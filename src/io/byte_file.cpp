// SPDX-License-Identifier: Apache-2.0
#include "io/byte_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "io/compression.h"
#include "io/crc32.h"

namespace pando {

namespace {

constexpr const char* fetch_again = "fetch it again";

bool is_gzipped(const ByteStore& store) {
  std::array<std::byte, 2> magic;
  return store.read(0, magic) == 2 && magic[0] == std::byte{0x1f} && magic[1] == std::byte{0x8b};
}

}  // namespace

// A stretch of a store, inflated on the way if it is compressed.
class ByteFile::Reader {
 public:
  Reader(const ByteStore& store, std::uint64_t offset, std::uint64_t size, std::optional<Wrapping> wrapping)
      : store_(store), at_(offset), left_(size), size_(bytes_left()) {
    if (wrapping)
      inflater_ = std::make_unique<Inflater>(*wrapping, [this](std::span<std::byte> out) { return copy(out); });
  }

  // Fewer bytes than fit into `out` only at the end, or if the state is no longer good.
  std::size_t read(std::span<std::byte> out) {
    const std::size_t got = inflater_ ? inflater_->read(out) : copy(out);
    if (expected_checksum) checksum_ = crc32(out.first(got), checksum_);
    return got;
  }
  bool is_inflated() const { return inflater_ != nullptr; }
  // How many bytes are certainly there: those that need not be inflated.
  std::uint64_t certain_bytes() const { return inflater_ ? 0 : bytes_left(); }
  // How many bytes can be there at most, if nothing was inflated yet but a header.
  std::uint64_t possible_bytes() const { return inflater_ ? most_inflated_bytes(compressed_bytes()) : bytes_left(); }
  std::uint64_t compressed_bytes() const { return inflater_ ? size_ : 0; }
  Inflater::State state() const { return inflater_ ? inflater_->state() : Inflater::State::good; }
  bool has_expected_checksum() const { return !expected_checksum || *expected_checksum == checksum_; }

  std::optional<std::uint32_t> expected_checksum;

 private:
  std::uint64_t bytes_left() const {
    return at_ > store_.size() ? 0 : std::min<std::uint64_t>(left_, store_.size() - at_);
  }
  std::size_t copy(std::span<std::byte> out) {
    out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), left_)));
    const std::size_t got = store_.read(at_, out);
    at_ += got;
    left_ -= got;
    return got;
  }

  const ByteStore& store_;
  std::uint64_t at_, left_;
  const std::uint64_t size_;
  std::unique_ptr<Inflater> inflater_;
  std::uint32_t checksum_ = 0;
};

ByteFile::ByteFile(const std::string& path) : ByteFile(std::make_unique<ByteStore>(path), memory_for_a_file()) {}

ByteFile::ByteFile(const std::string& name, std::span<const std::byte> bytes, std::uint64_t most_inflated)
    : ByteFile(std::make_unique<ByteStore>(name, bytes), most_inflated) {}

ByteFile::ByteFile(std::unique_ptr<const ByteStore> store, std::uint64_t most_inflated)
    : path_(store->path()), own_store_(std::move(store)), most_inflated_(most_inflated) {
  const bool gzipped = is_gzipped(*own_store_);
  if (gzipped && !can_compress())
    fail("is gzipped, and this Pando was built without zlib",
         "decompress it with gzip -d, or build Pando with zlib1g-dev");
  reader_ = std::make_unique<Reader>(*own_store_, 0, own_store_->size(),
                                     gzipped ? std::optional(Wrapping::gzip) : std::nullopt);
}

ByteFile::ByteFile(const std::string& name, const ByteStore& store, const ArchivePart& part,
                   std::uint64_t most_inflated)
    : path_(name), most_inflated_(most_inflated) {
  if (part.deflated && !can_compress())
    fail("is compressed, and this Pando was built without zlib",
         "save it with numpy.savez, or build Pando with zlib1g-dev");
  reader_ = std::make_unique<Reader>(store, part.offset, part.size,
                                     part.deflated ? std::optional(Wrapping::none) : std::nullopt);
  reader_->expected_checksum = part.checksum;
}

ByteFile::~ByteFile() = default;

std::vector<std::byte> ByteFile::read(std::uint64_t count) {
  constexpr std::uint64_t first_piece = 1 << 16, largest_piece = 1 << 24;
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(std::min(count, reader_->certain_bytes())));
  std::uint64_t piece = first_piece;
  while (bytes.size() < count) {
    const std::size_t before = bytes.size();
    const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(piece, count - before));
    bytes.resize(before + wanted);
    const std::size_t got = read_into(std::span(bytes).subspan(before));
    bytes.resize(before + got);
    if (got < wanted) break;
    piece = std::min(piece * 2, largest_piece);
  }
  return bytes;
}

std::size_t ByteFile::read_into(std::span<std::byte> out) {
  const std::size_t got = reader_->read(out);
  if (reader_->state() == Inflater::State::too_short) fail("the compressed data end too early", fetch_again);
  if (reader_->state() == Inflater::State::damaged) fail("the compressed data are damaged", fetch_again);
  return got;
}

std::vector<std::byte> ByteFile::read_exactly(std::uint64_t count, const std::string& what) {
  std::vector<std::byte> bytes = read(count);
  if (bytes.size() < count) fail_short(bytes.size(), count, what);
  return bytes;
}

void ByteFile::fail_short(std::uint64_t got, std::uint64_t wanted, const std::string& what) const {
  fail(fmt::format("ends after {} of the {} bytes of {}", got, wanted, what), fetch_again);
}

Array ByteFile::read_array(DType dtype, const Shape& shape) {
  const std::uint64_t bytes = announced_bytes(dtype, shape);
  const std::string what = fmt::format("its {}{}", name(dtype), to_string(shape));
  if (reader_->is_inflated() && bytes > most_inflated_)
    fail(fmt::format("{} would take {} when it is decompressed, but a compressed file may take {} here", what,
                     bytes_text(bytes), bytes_text(most_inflated_)),
         "decompress the file and read that, or read it where there is more memory");
  // A header cannot claim more memory than its file can fill.
  if (!reader_->is_inflated() && bytes > reader_->certain_bytes()) fail_short(reader_->certain_bytes(), bytes, what);
  if (bytes > reader_->possible_bytes())
    fail(fmt::format("{} takes {}, more than {} compressed bytes can hold", what, bytes_text(bytes),
                     reader_->compressed_bytes()),
         fetch_again);
  Array array = Array::uninitialised(dtype, shape);
  const std::size_t got = read_into({array.mutable_raw(), static_cast<std::size_t>(bytes)});
  if (got < bytes) fail_short(got, bytes, what);
  return array;
}

std::uint64_t ByteFile::announced_bytes(DType dtype, const Shape& shape) const {
  // Sizes after a 0 count too, because strides are computed from them.
  std::int64_t bytes = static_cast<std::int64_t>(size_of(dtype));
  for (std::int64_t size : shape)
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes))
      fail(fmt::format("announces the impossible shape {}", to_string(shape)), fetch_again);
  return std::find(shape.begin(), shape.end(), 0) == shape.end() ? static_cast<std::uint64_t>(bytes) : 0;
}

void ByteFile::expect_end() {
  if (!read(1).empty()) fail("has more bytes than its header announces", fetch_again);
  if (!reader_->has_expected_checksum()) fail("does not have the CRC-32 that its archive announces", fetch_again);
}

void ByteFile::fail(const std::string& problem, const std::string& remedy) const {
  throw_file_error(path_, problem, remedy);
}

}  // namespace pando
