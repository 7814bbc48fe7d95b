// SPDX-License-Identifier: Apache-2.0
#include "data/formats/png.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "io/byte_order.h"
#include "io/compression.h"
#include "io/crc32.h"
#include "data/formats/png_pixels.h"

namespace pando::data {

namespace {

constexpr std::string_view signature = "\x89PNG\r\n\x1a\n";
constexpr const char* fetch_again = "fetch it again, or save it again as PNG";
constexpr std::int64_t most_pixels = 1 << 26;

// A stretch of the file.
struct Piece {
  std::uint64_t offset = 0, size = 0;
};

// Reads the file chunk by chunk, and then knows where everything is.
class PngFile {
 public:
  explicit PngFile(const ByteStore& store) : store_(store) {
    check_signature();
    while (read_chunk()) continue;
    if (!header_) store_.fail("has no header", fetch_again);
    if (header_->has_palette && palette_.empty()) store_.fail("has no palette", fetch_again);
    if (pieces_.empty()) store_.fail("has no pixels", fetch_again);
  }

  Shape shape() const { return {header_->height, header_->width, header_->has_palette ? 3 : header_->samples}; }

  Array image() const {
    if (!can_compress())
      store_.fail("is compressed, and this Pando was built without zlib", "build Pando with zlib1g-dev");
    std::vector<std::byte> bytes = inflated(png_bytes(*header_));
    if (!undo_png_filters(*header_, bytes)) store_.fail("has rows with a filter that PNG does not have", fetch_again);
    return png_image(*header_, bytes, palette_);
  }

 private:
  void check_signature() const {
    std::array<std::byte, signature.size()> begin;
    const bool whole = store_.read(0, begin) == begin.size();
    const auto same = [](std::byte a, char b) { return a == static_cast<std::byte>(b); };
    if (!whole || !std::equal(begin.begin(), begin.end(), signature.begin(), same))
      store_.fail("is not a PNG image", "convert it to PNG");
  }

  // Returns false at the end of the image.
  bool read_chunk() {
    const std::uint64_t size = big_endian(bytes_at(offset_, 4));
    if (size > store_.size() - offset_ || store_.size() - offset_ - size < 12) fail_short();
    const std::vector<std::byte> name = bytes_at(offset_ + 4, 4);
    const std::string type(reinterpret_cast<const char*>(name.data()), name.size());
    check_sum(size);
    const Piece data = {offset_ + 8, size};
    offset_ += 12 + size;
    if (type == "IEND") return false;
    if (!header_ && type != "IHDR") store_.fail("does not begin with its header", fetch_again);
    if (type == "IHDR") read_header(data);
    else if (type == "PLTE") read_palette(data);
    else if (type == "IDAT") add_pixels(data);
    // A small first letter means that an image may be read without the chunk.
    else if (name[0] < std::byte{'a'}) store_.fail("has a part that is not known", "save it again as PNG");
    last_type_ = type;
    return true;
  }

  void check_sum(std::uint64_t size) const {
    std::uint32_t sum = 0;
    for (std::uint64_t done = 0; done < size + 4;) {
      const std::vector<std::byte> piece =
          bytes_at(offset_ + 4 + done, std::min<std::uint64_t>(size + 4 - done, 1 << 16));
      sum = crc32(piece, sum);
      done += piece.size();
    }
    if (sum != big_endian(bytes_at(offset_ + 8 + size, 4)))
      store_.fail("is damaged: a part does not have its CRC-32", fetch_again);
  }

  void read_header(const Piece& data) {
    if (header_ || data.size != 13) store_.fail("has a wrong header", fetch_again);
    const std::vector<std::byte> bytes = bytes_at(data.offset, data.size);
    const auto number = [&](std::size_t i) { return std::to_integer<int>(bytes[i]); };
    PngHeader header;
    header.width = static_cast<std::int64_t>(big_endian(std::span(bytes).first(4)));
    header.height = static_cast<std::int64_t>(big_endian(std::span(bytes).subspan(4, 4)));
    header.bits = number(8);
    const int kind = number(9);
    constexpr std::array<int, 7> samples_of_kind = {1, 0, 3, 1, 2, 0, 4};
    header.samples = kind < 7 ? samples_of_kind[static_cast<std::size_t>(kind)] : 0;
    header.has_palette = kind == 3;
    header.interlaced = number(12) == 1;
    const bool few_bits = header.bits == 1 || header.bits == 2 || header.bits == 4;
    const bool known_bits = header.bits == 8 || (header.bits == 16 && kind != 3) || (few_bits && header.samples == 1);
    if (header.samples == 0 || !known_bits || number(10) != 0 || number(11) != 0 || number(12) > 1)
      store_.fail("has a kind of pixels that PNG does not have", fetch_again);
    if (header.width < 1 || header.height < 1 || header.width > most_pixels / header.height)
      store_.fail(fmt::format("has {} x {} pixels; 1 to {} are read", header.width, header.height, most_pixels),
                  "make it smaller");
    header_ = header;
  }

  void read_palette(const Piece& data) {
    if (!palette_.empty() || data.size == 0 || data.size % 3 != 0 || data.size > 3 * 256 || !pieces_.empty())
      store_.fail("has a wrong palette", fetch_again);
    palette_ = bytes_at(data.offset, data.size);
  }

  void add_pixels(const Piece& data) {
    if (!pieces_.empty() && last_type_ != "IDAT") store_.fail("has pixels in two places", fetch_again);
    pieces_.push_back(data);
  }

  // Memory grows only with the bytes that are really there.
  std::vector<std::byte> inflated(std::uint64_t size) const {
    auto piece = pieces_.begin();
    std::uint64_t done = 0;
    Inflater inflater(Wrapping::zlib, [&](std::span<std::byte> out) {
      std::size_t filled = 0;
      while (filled < out.size() && piece != pieces_.end()) {
        const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(out.size() - filled, piece->size - done));
        filled += store_.read(piece->offset + done, out.subspan(filled, part));
        done += part;
        if (done < piece->size) continue;
        ++piece;
        done = 0;
      }
      return filled;
    });
    std::vector<std::byte> bytes;
    for (std::uint64_t step = 1 << 16; bytes.size() < size && inflater.state() == Inflater::State::good; step *= 2) {
      const std::size_t before = bytes.size();
      bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(size, before + step)));
      const std::size_t got = inflater.read(std::span(bytes).subspan(before));
      bytes.resize(before + got);
      if (got == 0) break;
    }
    // One byte more is asked for, so that the checksum after the last one is read.
    std::byte more = {};
    const bool has_more = inflater.state() == Inflater::State::good && inflater.read({&more, 1}) > 0;
    if (inflater.state() != Inflater::State::good) store_.fail("the compressed pixels are damaged", fetch_again);
    if (bytes.size() < size || has_more)
      store_.fail(has_more ? "has more pixels than its header announces" : "has fewer pixels than its header announces",
                  fetch_again);
    return bytes;
  }

  std::vector<std::byte> bytes_at(std::uint64_t offset, std::uint64_t size) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    if (store_.read(offset, bytes) < bytes.size()) fail_short();
    return bytes;
  }
  [[noreturn]] void fail_short() const { store_.fail("ends too early", fetch_again); }

  const ByteStore& store_;
  std::uint64_t offset_ = signature.size();
  std::optional<PngHeader> header_;
  std::vector<std::byte> palette_;
  std::vector<Piece> pieces_;
  std::string last_type_;
};

}  // namespace

Array read_png(const ByteStore& store) { return PngFile(store).image(); }

Shape png_shape(const ByteStore& store) { return PngFile(store).shape(); }

Array read_png(const std::string& path) { return read_png(ByteStore(path)); }

}  // namespace pando::data
