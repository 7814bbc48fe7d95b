// SPDX-License-Identifier: Apache-2.0
#include "io/byte_store.h"

#include <pando/base/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace pando {

namespace {

[[noreturn]] void throw_unreadable(const std::string& path, int error) {
  throw_file_error(path, fmt::format("cannot be read: {}", std::strerror(error)), "check its name and permissions");
}

}  // namespace

void throw_file_error(const std::string& path, const std::string& problem, const std::string& remedy) {
  throw Error(fmt::format("{}: {}; {}", path, problem, remedy));
}

ByteStore::ByteStore(const std::string& path) : path_(path) { open(AT_FDCWD, path); }

ByteStore::ByteStore(const Folder& folder, const std::string& name, const std::string& path) : path_(path) {
  open(folder.descriptor(), name);
}

void ByteStore::open(int folder, const std::string& name) {
  // Opening a folder succeeds and opening a pipe waits for its other end, so the kind of file comes first.
  struct stat status = {};
  if (fstatat(folder, name.c_str(), &status, 0) != 0) throw_unreadable(path_, errno);
  if (S_ISDIR(status.st_mode)) throw_unreadable(path_, EISDIR);
  if (!S_ISREG(status.st_mode)) throw_file_error(path_, "is not a regular file", "copy its bytes into one");
  descriptor_ = open_descriptor(folder, name, O_RDONLY);
  if (descriptor_ < 0) throw_unreadable(path_, errno);
  size_ = static_cast<std::uint64_t>(status.st_size);
}

ByteStore::ByteStore(const std::string& name, std::span<const std::byte> bytes)
    : path_(name), size_(bytes.size()), memory_(bytes) {}

ByteStore::~ByteStore() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::size_t ByteStore::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset >= size_) return 0;
  out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset)));
  if (descriptor_ < 0) {
    std::copy_n(memory_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return out.size();
  }
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = pread(descriptor_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_unreadable(path_, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void ByteStore::fail(const std::string& problem, const std::string& remedy) const {
  throw_file_error(path_, problem, remedy);
}

}  // namespace pando
