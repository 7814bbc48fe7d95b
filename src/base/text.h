// SPDX-License-Identifier: Apache-2.0
// Words for messages: joined lists, sizes in bytes, the nearest known name to a mistyped one, and names from outside in
// a form that is safe on a terminal.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pando {

std::string join(const std::vector<std::string>& words, std::string_view separator);

// "1.5 KiB", "16.0 MiB".
std::string bytes_text(std::uint64_t bytes);

// The value, without the sign that some processors give to NaN: Python and NumPy never show it.
double without_nan_sign(double value);

// As Python writes a float, "0.5", "1.0", "1e-05": the shortest digits that mean the value.
std::string float_text(double value);

// The text on one line, as Python's repr() shows characters: characters that would move the cursor, colour the screen
// or change the direction of writing become "\n", "\x1b" or "\u202e", and so do bytes that are not UTF-8.
std::string terminal_text(std::string_view text);
// The same for a text of several lines: line ends and tabs stay.
std::string terminal_lines(std::string_view text);

// "unknown op 'mathmul'; did you mean 'matmul'?", or the whole list when nothing is near.
std::string unknown_name(std::string_view kind, std::string_view given, const std::vector<std::string>& known);

}  // namespace pando
