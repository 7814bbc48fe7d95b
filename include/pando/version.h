// SPDX-License-Identifier: Apache-2.0
// The version of Pando. CMake reads the three numbers, so a release changes them here alone.
#pragma once
#if __cplusplus < 202002L
#error "Pando needs C++20: compile with -std=c++20"
#endif
#include <pando/base/export.h>

#include <string>

#define PANDO_VERSION_MAJOR 0
#define PANDO_VERSION_MINOR 1
#define PANDO_VERSION_PATCH 0

// For comparisons in #if: 1.2.3 is 10203.
#define PANDO_VERSION_NUMBER (PANDO_VERSION_MAJOR * 10000 + PANDO_VERSION_MINOR * 100 + PANDO_VERSION_PATCH)
#define PANDO_TEXT_OF(x) #x
#define PANDO_VERSION_TEXT(major, minor, patch) PANDO_TEXT_OF(major) "." PANDO_TEXT_OF(minor) "." PANDO_TEXT_OF(patch)
// The version of these headers as text, "0.1.0".
#define PANDO_VERSION PANDO_VERSION_TEXT(PANDO_VERSION_MAJOR, PANDO_VERSION_MINOR, PANDO_VERSION_PATCH)

namespace pando {

// The version of the library that the program runs with, "0.1.0". It differs from PANDO_VERSION if the program was
// compiled with the headers of another version.
PANDO_API std::string version();

}  // namespace pando
