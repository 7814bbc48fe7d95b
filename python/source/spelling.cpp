// SPDX-License-Identifier: Apache-2.0
#include "spelling.h"

#include <cctype>

namespace pando::python {

namespace {

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool has(std::string_view text, std::size_t at, std::string_view part) { return text.substr(at, part.size()) == part; }

// The end of the quotation that begins here, or the place itself: an apostrophe within a word begins none.
std::size_t end_of_quotation(std::string_view text, std::size_t at) {
  if ((text[at] != '\'' && text[at] != '"') || (at > 0 && is_letter(text[at - 1]))) return at;
  const std::size_t end = text.find(text[at], at + 1);
  return end == std::string_view::npos ? at : end + 1;
}

// The end of the name that begins here, with its scopes.
std::size_t end_of_name(std::string_view text, std::size_t at) {
  for (;;) {
    while (at < text.size() && is_letter(text[at])) ++at;
    if (!has(text, at, "::") || at + 2 >= text.size() || !is_letter(text[at + 2])) return at;
    at += 2;
  }
}

bool is_in_path(std::string_view text, std::size_t begin, std::size_t end) {
  constexpr std::string_view marks = "/\\.-~";
  return (begin > 0 && marks.find(text[begin - 1]) != std::string_view::npos) || has(text, end, "/");
}

std::string name_in_python(std::string_view name, bool is_value) {
  if (is_value && name == "true") return "True";
  if (is_value && name == "false") return "False";
  std::string made;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (has(name, at, "::")) ++at;
    made += name[at] == ':' ? '.' : name[at];
  }
  return made;
}

}  // namespace

std::string in_python(std::string_view text) {
  std::string made;
  bool in_options = false;
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t end = end_of_quotation(text, at); end > at) {
      made += text.substr(at, end - at);
      at = end;
    } else if (is_letter(text[at])) {
      const std::size_t name_end = end_of_name(text, at);
      const std::string_view name = text.substr(at, name_end - at);
      made += is_in_path(text, at, name_end) ? std::string(name) : name_in_python(name, in_options);
      at = name_end;
    } else if (has(text, at, "{.") && at + 2 < text.size() && is_letter(text[at + 2])) {
      in_options = true;
      at += 2;
    } else if (in_options && has(text, at, ", .")) {
      made += ", ";
      at += 3;
    } else if (in_options && has(text, at, " = ")) {
      made += '=';
      at += 3;
    } else if (in_options && text[at] == '}') {
      in_options = false;
      ++at;
    } else {
      made += text[at++];
    }
  }
  return made;
}

}  // namespace pando::python
