// SPDX-License-Identifier: Apache-2.0
#include "io/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

namespace pando {

namespace {

constexpr int first_free = 3;

}  // namespace

int open_descriptor(int folder, const std::string& name, int flags, int mode) {
  const int descriptor = openat(folder, name.c_str(), flags | O_CLOEXEC, mode);
  if (descriptor < 0 || descriptor >= first_free) return descriptor;
  const int other = fcntl(descriptor, F_DUPFD_CLOEXEC, first_free);
  const int error = errno;
  close(descriptor);
  errno = error;
  return other;
}

Lock lock_descriptor(int descriptor) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return Lock::ours;
  return errno == EWOULDBLOCK ? Lock::taken : Lock::impossible;
}

Folder::Folder(int parent, const std::string& name)
    : descriptor_(open_descriptor(parent, name, O_RDONLY | O_DIRECTORY | (parent == AT_FDCWD ? 0 : O_NOFOLLOW))) {
  // A folder that may be written but not read.
  if (descriptor_ < 0 && errno == EACCES) descriptor_ = open_descriptor(parent, name, O_PATH | O_DIRECTORY);
}

Folder::Folder(const std::string& path) : Folder(AT_FDCWD, path.empty() ? "." : path) {}

Folder::Folder(const Folder& parent, const std::string& name) : Folder(parent.descriptor_, name) {}

Folder::~Folder() {
  if (descriptor_ >= 0) close(descriptor_);
}

Folder::Folder(Folder&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Folder& Folder::operator=(Folder&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> names;
  // Each reader has its own position in the list.
  const int reading = open_descriptor(descriptor_, ".", O_RDONLY | O_DIRECTORY);
  if (reading < 0) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> list(fdopendir(reading), closedir);
  if (!list) {
    close(reading);
    return names;
  }
  while (const dirent* entry = readdir(list.get()))
    if (const std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
  return names;
}

int Folder::sync() const {
  while (fsync(descriptor_) != 0) {
    // Some file systems cannot sync folders, and one that may not be read cannot be synced either.
    if (errno == EINVAL || errno == ENOTSUP || errno == EBADF) return 0;
    if (errno != EINTR) return errno;
  }
  return 0;
}

bool Folder::is_at(const std::string& path) const {
  struct stat here = {}, there = {};
  return fstat(descriptor_, &here) == 0 && stat(path.c_str(), &there) == 0 && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino;
}

std::string Folder::current_path() const {
  std::string path(4096, '\0');
  const ssize_t length = readlink(fmt::format("/proc/self/fd/{}", descriptor_).c_str(), path.data(), path.size());
  path.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return is_at(path) ? path : "";
}

}  // namespace pando
