// SPDX-License-Identifier: Apache-2.0
// The characters of UTF-8 texts from outside: names of files, classes and layers.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace pando {

struct Character {
  char32_t code = 0;
  // Bytes; 0 if the text does not begin with a character in UTF-8.
  std::size_t length = 0;
};

// The character that begins the text, which is not empty.
Character first_character(std::string_view text);

// Whether the character acts on a terminal instead of being shown: control characters, line separators, and marks that
// change the direction of the text around them.
bool is_control(char32_t code);

// The text, with U+FFFD for each byte that is not UTF-8.
std::string valid_utf8(std::string_view text);

}  // namespace pando
