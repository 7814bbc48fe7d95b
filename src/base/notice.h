// SPDX-License-Identifier: Apache-2.0
// Notices and warnings, which Pando writes in addition to its results. Writing one never ends a run.
#pragma once
#include <cstdio>
#include <string_view>

namespace pando {

// Writes the text to standard error or to `stream`, and flushes it. Control characters other than line ends and tabs
// become escapes. Write errors are ignored: a closed pipe, a full disk or a closed descriptor does not throw, raise a
// signal or change errno.
void tell(std::string_view text) noexcept;
void tell(std::FILE* stream, std::string_view text) noexcept;
// The same for text that moves the cursor: it is written as it is.
void draw(std::FILE* stream, std::string_view text) noexcept;

}  // namespace pando
