// Words for messages: joined lists, sizes in bytes, and the nearest known name to a mistyped one.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pando {

std::string join(const std::vector<std::string>& words, std::string_view separator);

// "1.5 KiB", "16.0 MiB".
std::string bytes_text(std::uint64_t bytes);

// As Python writes a float, "0.5", "1.0", "1e-05": the shortest digits that mean the value.
std::string float_text(double value);

// "unknown op 'mathmul'; did you mean 'matmul'?", or the whole list when nothing is near.
std::string unknown_name(std::string_view kind, std::string_view given, const std::vector<std::string>& known);

}  // namespace pando
