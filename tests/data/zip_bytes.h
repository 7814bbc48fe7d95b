// SPDX-License-Identifier: Apache-2.0
// The bytes of ZIP files, right or wrong, to be written by tests.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pando {

inline std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i);
  return text;
}

struct ZipPiece {
  std::string name, content;
  std::uint32_t checksum = 0;
  int method = 0, flags = 0;
  // Announced instead of the real ones, if not negative.
  std::int64_t size = -1, inflated_size = -1, offset = -1;
};

// A stored or deflated entry after the other, then the directory and the record at the end.
inline std::string zip(const std::vector<ZipPiece>& pieces, const std::string& comment = "") {
  std::string bytes, directory;
  const auto chosen = [](std::int64_t announced, std::size_t real) {
    return announced < 0 ? static_cast<std::uint64_t>(real) : static_cast<std::uint64_t>(announced);
  };
  for (const ZipPiece& piece : pieces) {
    const std::size_t offset = bytes.size();
    const std::uint64_t size = chosen(piece.size, piece.content.size());
    const std::string description =
        little(20, 2) + little(static_cast<unsigned>(piece.flags), 2) + little(static_cast<unsigned>(piece.method), 2) +
        little(0, 4) + little(piece.checksum, 4) + little(size, 4) + little(chosen(piece.inflated_size, size), 4) +
        little(piece.name.size(), 2) + little(0, 2);
    bytes += "PK\3\4" + description + piece.name + piece.content;
    directory += "PK\1\2" + little(20, 2) + description + little(0, 6) + little(0, 4) +
                 little(chosen(piece.offset, offset), 4) + piece.name;
  }
  return bytes + directory + "PK\5\6" + little(0, 4) + little(pieces.size(), 2) + little(pieces.size(), 2) +
         little(directory.size(), 4) + little(bytes.size(), 4) + little(comment.size(), 2) + comment;
}

}  // namespace pando
