#include "base/notice.h"

#include <cerrno>
#include <new>
#include <string>

#include "base/quiet_writes.h"
#include "base/text.h"

namespace pando {

void tell(std::string_view text) noexcept { tell(stderr, text); }

void tell(std::FILE* stream, std::string_view text) noexcept {
  const int error = errno;
  {
    const QuietWrites quiet;
    try {
      const std::string shown = terminal_lines(text);
      std::fwrite(shown.data(), 1, shown.size(), stream);
    } catch (const std::bad_alloc&) {
    }
    std::fflush(stream);
  }
  errno = error;
}

}  // namespace pando
