// SPDX-License-Identifier: Apache-2.0
// What terminals are shown, and JSON made of any bytes: nothing acts on a terminal, and everything is UTF-8.
#include <string>

#include "base/text.h"
#include "base/utf8.h"
#include "io/json.h"
#include "report/terminal/text_width.h"
#include "tests/fuzz/fuzz.h"

namespace {

void check(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

bool is_shown(std::string_view text, std::string_view kept) {
  while (!text.empty()) {
    const pando::Character character = pando::first_character(text);
    if (character.length == 0) return false;
    if (pando::is_control(character.code) && kept.find(text.front()) == kept.npos) return false;
    text.remove_prefix(character.length);
  }
  return true;
}

}  // namespace

void pando::read_bytes(std::span<const std::byte> bytes) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string shown = terminal_text(text);
  check(is_shown(shown, ""), "terminal_text lets something through");
  check(terminal_text(shown) == shown, "terminal_text changes what it made");
  check(is_shown(terminal_lines(text), "\n\t"), "terminal_lines lets something through");
  check(text_width(cut_to_width(shown, 10)) <= 10, "cut_to_width leaves too much");
  const std::string valid = valid_utf8(text);
  check(valid_utf8(valid) == valid, "valid_utf8 changes what it made");
  const std::string json = Json(text).text();
  check(is_shown(json, ""), "JSON lets something through");
  check(surely([&] { return Json::parse(json, "it"); }).string("it") == valid, "JSON does not read back");
}
