// SPDX-License-Identifier: Apache-2.0
// What a terminal is able to show, and in which look: the one place that asks the terminal and the environment.
#pragma once
#include <pando/report/look.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace pando {

struct TerminalLook {
  Look look = Look::keras_3;
  // A terminal, and neither NO_COLOR nor TERM=dumb is against it.
  bool color = false;
  // The locale writes UTF-8; otherwise lines and bars are made of ASCII characters.
  bool unicode = true;
};

// The width of the terminal; 0 if the stream is not one whose cursor can be moved.
int terminal_columns(std::FILE* stream);

// Null is for text that goes to no stream: it has no colours. Throws Error if PANDO_LOOK has an unknown value.
TerminalLook terminal_look(std::FILE* stream);

// Whether the terminal rewraps its lines when it becomes narrower. xterm, GNU screen and the Linux console cut lines
// off instead; moving up there would overwrite the text above.
bool terminal_rewraps();

// The text in a style of ECMA-48, such as "1" for bold, if the terminal has colours.
std::string styled(const TerminalLook& look, std::string_view style, std::string_view text);

}  // namespace pando
