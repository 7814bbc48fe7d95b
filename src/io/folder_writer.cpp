#include "io/folder_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "io/byte_store.h"

namespace pando {

namespace {

// So that what the folder lists is on the disk, too; where that cannot be asked for, it comes in time.
void sync_folder(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

std::string parent_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

}  // namespace

FolderWriter::FolderWriter(const std::string& path, const std::vector<std::string>& files) : path_(path) {
  if (path.empty()) throw_file_error("''", "is no name of a folder", "give one");
  // A link stays a link: what it points to is replaced.
  std::error_code absent;
  std::filesystem::path followed = std::filesystem::canonical(path, absent);
  if (absent) followed = std::filesystem::path(path).lexically_normal();
  // "model/" is "model".
  if (!followed.has_filename()) followed = followed.parent_path();
  target_ = followed.string();
  check_replaceable(files);
  create();
}

FolderWriter::~FolderWriter() {
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove_all(temporary_, ignored);
}

void FolderWriter::check_replaceable(const std::vector<std::string>& files) const {
  struct stat old = {};
  if (stat(target_.c_str(), &old) != 0) return;
  if (!S_ISDIR(old.st_mode)) throw_file_error(path_, "is no folder", "give another name");
  std::error_code error;
  for (std::filesystem::directory_iterator entry(target_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (std::find(files.begin(), files.end(), name) == files.end())
      throw_file_error(path_, fmt::format("holds '{}', which would be lost", name), "give the name of another folder");
  }
  if (error) fail(error.value());
}

void FolderWriter::create() {
  static std::atomic<unsigned> number = 0;
  std::error_code error;
  std::filesystem::create_directories(parent_of(target_), error);
  if (error) fail(error.value());
  std::string name;
  int made = 0;
  do {
    name = fmt::format("{}.{}.{}.part", target_, getpid(), number++);
    made = mkdir(name.c_str(), 0777);
  } while (made != 0 && errno == EEXIST);
  if (made != 0) fail(errno);
  temporary_ = name;
  struct stat old = {};
  if (stat(target_.c_str(), &old) == 0) chmod(temporary_.c_str(), old.st_mode & 07777);
}

void FolderWriter::commit() {
  sync_folder(temporary_);
  // This succeeds if there is no folder, or an empty one.
  if (std::rename(temporary_.c_str(), target_.c_str()) == 0) temporary_.clear();
  else if (errno == ENOTEMPTY || errno == EEXIST) exchange();
  else fail(errno);
  sync_folder(parent_of(target_));
}

// Afterwards the temporary folder is the old one, to be removed.
void FolderWriter::exchange() {
  if (renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) fail(errno);
  // Some file systems cannot do it at once.
  const std::string old = temporary_ + ".old";
  if (std::rename(target_.c_str(), old.c_str()) != 0) fail(errno);
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) {
    const int error = errno;
    std::rename(old.c_str(), target_.c_str());
    fail(error);
  }
  temporary_ = old;
}

void FolderWriter::fail(int error) const {
  const bool full = error == ENOSPC || error == EDQUOT;
  throw_file_error(path_, fmt::format("cannot be written: {}", std::strerror(error)),
                   full ? "make room for it" : "check its folder and permissions");
}

}  // namespace pando
