#include "base/notice.h"

#include <cerrno>

#include "base/quiet_writes.h"

namespace pando {

void tell(std::string_view text) noexcept { tell(stderr, text); }

void tell(std::FILE* stream, std::string_view text) noexcept {
  const int error = errno;
  {
    const QuietWrites quiet;
    std::fwrite(text.data(), 1, text.size(), stream);
    std::fflush(stream);
  }
  errno = error;
}

}  // namespace pando
