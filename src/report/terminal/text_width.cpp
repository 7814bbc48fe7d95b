// SPDX-License-Identifier: Apache-2.0
#include "report/terminal/text_width.h"

#include <algorithm>
#include <cstdint>

namespace pando {

namespace {

// The bytes of the character that begins the text; what is not UTF-8 counts byte by byte.
std::size_t character_bytes(std::string_view text) {
  const unsigned char first = static_cast<unsigned char>(text.front());
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return std::min(bytes, text.size());
}

std::uint32_t code_point(std::string_view character) {
  if (character.size() == 1) return static_cast<unsigned char>(character.front());
  std::uint32_t code = static_cast<unsigned char>(character.front()) & (0xffu >> (character.size() + 1));
  for (const char byte : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(byte) & 0x3fu);
  return code;
}

int character_width(std::uint32_t code) {
  struct Range {
    std::uint32_t first, last;
  };
  // Hangul; CJK, kana and their punctuation; compatibility and full-width forms; pictographs; rarer ideographs.
  static constexpr Range wide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
                                   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
                                   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
  return std::any_of(std::begin(wide), std::end(wide), [&](Range r) { return code >= r.first && code <= r.last; }) ? 2
                                                                                                                   : 1;
}

}  // namespace

int text_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    width += character_width(code_point(text.substr(0, bytes)));
    text.remove_prefix(bytes);
  }
  return width;
}

std::string cut_to_width(std::string_view text, int columns) {
  std::size_t kept = 0;
  for (int width = 0; kept < text.size();) {
    const std::size_t bytes = character_bytes(text.substr(kept));
    width += character_width(code_point(text.substr(kept, bytes)));
    if (width > columns) break;
    kept += bytes;
  }
  return std::string(text.substr(0, kept));
}

}  // namespace pando
