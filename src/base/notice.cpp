// SPDX-License-Identifier: Apache-2.0
#include "base/notice.h"

#include <cerrno>
#include <new>
#include <string>

#include "base/quiet_writes.h"
#include "base/text.h"

namespace pando {

void tell(std::string_view text) noexcept { tell(stderr, text); }

void tell(std::FILE* stream, std::string_view text) noexcept {
  try {
    draw(stream, terminal_lines(text));
  } catch (const std::bad_alloc&) {
  }
}

void draw(std::FILE* stream, std::string_view text) noexcept {
  const int error = errno;
  {
    const QuietWrites quiet;
    std::fwrite(text.data(), 1, text.size(), stream);
    std::fflush(stream);
  }
  errno = error;
}

}  // namespace pando
