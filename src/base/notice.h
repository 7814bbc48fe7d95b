// What Pando says besides its results: notices and warnings. Saying something never ends a run.
#pragma once
#include <cstdio>
#include <string_view>

namespace pando {

// Writes the text, its control characters but line ends and tabs as escapes, to standard error or to `stream`, and
// flushes it. What cannot be written is lost: neither a reader that has gone, nor a full disk, nor a closed descriptor
// throws, raises a signal or changes errno.
void tell(std::string_view text) noexcept;
void tell(std::FILE* stream, std::string_view text) noexcept;
// The same for text that moves the cursor: it is written as it is.
void draw(std::FILE* stream, std::string_view text) noexcept;

}  // namespace pando
