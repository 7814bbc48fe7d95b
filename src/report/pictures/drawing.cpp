// SPDX-License-Identifier: Apache-2.0
#include "report/pictures/drawing.h"

#include <array>
#include <utility>

#include "base/utf8.h"

namespace pando::plot {

namespace {

// Hundredths of the font size, from the blank to the tilde.
constexpr std::array<std::uint8_t, 95> ascii_widths = {
    32, 40, 46, 84, 64, 95, 78, 27, 39,  39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79,
    60, 79, 69, 63, 61, 73, 68, 99, 69,  61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63,
    63, 28, 28, 58, 28, 97, 63, 61, 63,  63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84};
constexpr double accented_width = 0.65, wide_width = 1.0;
// From here on (Hangul, CJK, emoji), characters are as wide as they are high.
constexpr char32_t first_wide = 0x1100;
constexpr std::string_view ellipsis = "\u2026";

double character_width(char32_t code) {
  if (code >= ' ' && code <= '~') return ascii_widths[code - ' '] / 100.0;
  return code < first_wide || (code >= 0x2000 && code < 0x2e80 && code != U'\u2026') ? accented_width : wide_width;
}

}  // namespace

void Drawing::add(Mark mark) { marks.push_back(std::move(mark)); }

double text_width(std::string_view text, double size, bool bold) {
  double width = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    width += character_width(character.code);
    text.remove_prefix(character.length == 0 ? 1 : character.length);
  }
  return width * size * (bold ? bold_stretch : 1);
}

std::string fitted_text(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string(text);
  std::size_t kept = 0;
  double used = text_width(ellipsis, size);
  while (kept < text.size()) {
    const Character character = first_character(text.substr(kept));
    used += character_width(character.code) * size;
    if (used > width) break;
    kept += character.length == 0 ? 1 : character.length;
  }
  return std::string(text.substr(0, kept)) + std::string(ellipsis);
}

std::string readable_text(std::string_view text) {
  std::string readable;
  while (!text.empty()) {
    const Character character = first_character(text);
    // XML does not allow the last two codes of each plane, which are not characters.
    const bool no_character = (character.code & 0xfffe) == 0xfffe;
    if (character.length == 0 || no_character) readable += '?';
    else if (is_control(character.code)) readable += ' ';
    else readable += text.substr(0, character.length);
    text.remove_prefix(character.length == 0 ? 1 : character.length);
  }
  return readable;
}

}  // namespace pando::plot
