// Words for messages: joined lists, sizes in bytes, the nearest known name to a mistyped one, and names that somebody
// else chose as a terminal may show them.
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

// The text on one line, as Python's repr() shows characters: what would move the cursor, colour the screen or turn the
// direction of writing becomes "\n", "\x1b" or "\u202e", and so does each byte that is not UTF-8.
std::string terminal_text(std::string_view text);
// The same for a text of several lines: line ends and tabs stay.
std::string terminal_lines(std::string_view text);

// "unknown op 'mathmul'; did you mean 'matmul'?", or the whole list when nothing is near.
std::string unknown_name(std::string_view kind, std::string_view given, const std::vector<std::string>& known);

}  // namespace pando
