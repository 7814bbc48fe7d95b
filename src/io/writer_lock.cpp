// SPDX-License-Identifier: Apache-2.0
#include "io/writer_lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <sstream>

#include "base/machine/process_name.h"
#include "base/machine/quiet_writes.h"

namespace pando {

namespace {

// What the file says: a line for people, and the numbers of the process.
std::string text_of_this_process() {
  const ProcessName own = this_process();
  return fmt::format("process {} on {} since {:%Y-%m-%d %H:%M:%S} UTC\n{} {} {}\n", own.number, host_name(),
                     fmt::gmtime(std::time(nullptr)), own.system, own.number, own.start);
}

std::string text_of_file(int descriptor) {
  std::array<char, 1024> text{};
  const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
  return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

// Unknown if the text is not that of a process.
Life life_of_owner(const std::string& text) {
  std::istringstream numbers(text.substr(std::min(text.size(), text.find('\n'))));
  ProcessName owner;
  if (!(numbers >> owner.system >> owner.number >> owner.start)) return Life::unknown;
  return life_of(owner);
}

}  // namespace

WriterLock::WriterLock(const Folder& folder) : folder_(folder) {
  // The file may be removed between two calls, and made again by another process.
  for (int attempt = 0; attempt < 100; ++attempt)
    if (try_to_take()) return;
  problem_ = "other processes remove it";
}

WriterLock::~WriterLock() {
  if (descriptor_ < 0) return;
  unlinkat(folder_.descriptor(), file_name, 0);
  close(descriptor_);
}

bool WriterLock::try_to_take() {
  descriptor_ = open_descriptor(folder_.descriptor(), file_name, O_RDWR | O_CREAT | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) {
    problem_ = std::strerror(errno);
    return true;
  }
  const Lock lock = lock_descriptor(descriptor_);
  const std::string text = text_of_file(descriptor_);
  struct stat opened {
  }, named{};
  const bool is_same = fstat(descriptor_, &opened) == 0 &&
                       fstatat(folder_.descriptor(), file_name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
                       opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
  const bool is_left = is_same && this->is_left(lock, text);
  if (is_left && lock != Lock::taken && write_owner()) return true;
  // What a child of a dead process holds is put away, and made again; what could not be written is put away, too.
  if (is_left) unlinkat(folder_.descriptor(), file_name, 0);
  close(descriptor_);
  descriptor_ = -1;
  if (!is_same || (is_left && lock == Lock::taken)) return false;
  is_taken_ = !is_left;
  if (is_taken_) owner_ = text.substr(0, text.find('\n'));
  return true;
}

// Whether the file's owner, if it has one, is gone.
bool WriterLock::is_left(Lock lock, const std::string& text) {
  if (lock == Lock::ours || text.empty()) return lock != Lock::taken;
  const Life life = life_of_owner(text);
  is_far_ = life == Life::unknown;
  return life == Life::ended;
}

bool WriterLock::write_owner() {
  const std::string text = text_of_this_process();
  const QuietWrites quiet;
  errno = 0;
  if (ftruncate(descriptor_, 0) == 0 &&
      pwrite(descriptor_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()))
    return true;
  // A part of the text was written.
  problem_ = std::strerror(errno != 0 ? errno : ENOSPC);
  return false;
}

}  // namespace pando
