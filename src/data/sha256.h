// SHA-256 (FIPS 180-4).
#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace pando {

// The sum as 64 lower-case hexadecimal digits, as sha256sum prints it.
std::string sha256(std::span<const std::byte> bytes);

}  // namespace pando
