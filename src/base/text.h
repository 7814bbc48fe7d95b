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

// "unknown op 'mathmul'; did you mean 'matmul'?", or the whole list when nothing is near.
std::string unknown_name(std::string_view kind, std::string_view given, const std::vector<std::string>& known);

}  // namespace pando
