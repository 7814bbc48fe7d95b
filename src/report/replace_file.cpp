#include "report/replace_file.h"

#include <pando/error.h>

#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace pando {

void replace_file(const std::string& who, const std::string& path, const std::string& bytes) {
  const std::string part = fmt::format("{}.{}.part", path, getpid());
  const auto fail = [&] {
    const std::string reason = std::strerror(errno);
    std::remove(part.c_str());
    throw Error(fmt::format("{}: cannot write '{}': {}; save it in another folder", who, path, reason));
  };
  std::FILE* file = std::fopen(part.c_str(), "wb");
  if (file == nullptr) fail();
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed || std::rename(part.c_str(), path.c_str()) != 0) fail();
}

}  // namespace pando
