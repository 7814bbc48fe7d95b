// SPDX-License-Identifier: Apache-2.0
#include "io/leftovers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>

namespace pando {

namespace {

constexpr std::string_view ending = ".part";
constexpr std::size_t digits = 8;

std::uint32_t random_number() {
  std::uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) == sizeof number) return number;
  // If the system gives no random number, O_EXCL finds another name if this one is taken.
  static std::atomic<std::uint32_t> calls = 0;
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return static_cast<std::uint32_t>(now) ^ (static_cast<std::uint32_t>(getpid()) << 16) ^ calls++;
}

bool is_removed(int descriptor) {
  struct stat now = {};
  return fstat(descriptor, &now) == 0 && now.st_nlink == 0;
}

}  // namespace

std::string temporary_name(std::string_view name) {
  return fmt::format("{}.{:0{}x}{}", name, random_number(), digits, ending);
}

std::string_view name_of_temporary(std::string_view temporary) {
  constexpr std::size_t tail = 1 + digits + ending.size();
  if (temporary.size() <= tail || !temporary.ends_with(ending)) return {};
  const std::string_view number = temporary.substr(temporary.size() - tail, 1 + digits);
  if (number[0] != '.' || number.find_first_not_of("0123456789abcdef", 1) != std::string_view::npos) return {};
  return temporary.substr(0, temporary.size() - tail);
}

int create_temporary_file(const Folder& folder, const std::string& name, std::string& temporary) {
  for (;;) {
    temporary = temporary_name(name);
    // O_EXCL does not follow a link that another user may have put there.
    const int descriptor = open_descriptor(folder.descriptor(), temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (descriptor < 0 && errno == EEXIST) continue;
    // Another process may have removed it before it was locked.
    if (descriptor < 0 || (lock_descriptor(descriptor) != Lock::taken && !is_removed(descriptor))) return descriptor;
    close(descriptor);
  }
}

Folder create_temporary_folder(const Folder& parent, const std::string& name, std::string& temporary) {
  for (;;) {
    temporary = temporary_name(name);
    if (mkdirat(parent.descriptor(), temporary.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      return Folder();
    }
    Folder folder(parent, temporary);
    // Another process may have removed it before it was locked.
    if (folder.is_open() ? folder.lock() == Lock::taken || is_removed(folder.descriptor()) : errno == ENOENT) continue;
    const int error = errno;
    if (!folder.is_open()) unlinkat(parent.descriptor(), temporary.c_str(), AT_REMOVEDIR);
    errno = error;
    return folder;
  }
}

void sweep_files(const Folder& folder, const Function<bool(std::string_view name)>& wanted) {
  for (const std::string& temporary : folder.names()) {
    const std::string_view name = name_of_temporary(temporary);
    if (name.empty() || !wanted(name)) continue;
    const int descriptor = open_descriptor(folder.descriptor(), temporary, O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) continue;
    struct stat found = {};
    if (fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) && lock_descriptor(descriptor) == Lock::ours)
      unlinkat(folder.descriptor(), temporary.c_str(), 0);
    close(descriptor);
  }
}

void sweep_folders(const Folder& parent, std::string_view name, const std::vector<std::string>& files) {
  for (const std::string& temporary : parent.names()) {
    if (name_of_temporary(temporary) != name) continue;
    const Folder folder(parent, temporary);
    if (folder.is_open() && folder.lock() == Lock::ours) remove_folder(parent, temporary, files);
  }
}

void remove_folder(const Folder& parent, const std::string& name, const std::vector<std::string>& files) {
  {
    // If no descriptor is left, the folder cannot be opened; it is removed anyway if it is empty.
    const Folder folder(parent, name);
    for (const std::string& found : folder.names())
      if (std::any_of(files.begin(), files.end(),
                      [&](const std::string& file) { return found == file || name_of_temporary(found) == file; }))
        unlinkat(folder.descriptor(), found.c_str(), 0);
  }
  unlinkat(parent.descriptor(), name.c_str(), AT_REMOVEDIR);
}

}  // namespace pando
