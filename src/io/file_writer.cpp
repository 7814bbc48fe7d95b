#include "io/file_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "io/byte_store.h"

namespace pando {

FileWriter::FileWriter(const std::string& path, Packing packing) : path_(path), target_(path) {
  // A link stays a link: what it points to is replaced.
  std::error_code absent;
  const std::filesystem::path followed = std::filesystem::canonical(path, absent);
  if (!absent) target_ = followed.string();
  create();
  if (packing == Packing::gzip)
    gzipper_ = std::make_unique<Gzipper>([this](std::span<const std::byte> bytes) { put(bytes); });
}

FileWriter::~FileWriter() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void FileWriter::create() {
  static std::atomic<unsigned> number = 0;
  struct stat old = {};
  const bool replaces = stat(target_.c_str(), &old) == 0;
  if (replaces && S_ISDIR(old.st_mode)) fail(EISDIR);
  // A device must not be replaced by a file.
  if (replaces && !S_ISREG(old.st_mode)) throw_file_error(path_, "is no regular file", "give another name");
  do {
    temporary_ = fmt::format("{}.{}.{}.part", target_, getpid(), number++);
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) {
    temporary_.clear();
    fail(errno);
  }
  if (replaces) fchmod(descriptor_, old.st_mode & 07777);
}

void FileWriter::put(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void FileWriter::write(std::span<const std::byte> bytes) {
  if (gzipper_) gzipper_->write(bytes);
  else put(bytes);
}

void FileWriter::commit() {
  if (gzipper_) gzipper_->finish();
  if (fsync(descriptor_) != 0) fail(errno);
  const int closed = close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail(errno);
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
  sync_folder();
}

// Until its folder is on the disk too, a file may be gone after a power cut.
void FileWriter::sync_folder() const {
  const std::string folder = std::filesystem::path(target_).parent_path().string();
  const int descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A folder that may be written but not read cannot be synced.
  if (descriptor < 0) return;
  const int error = fsync(descriptor) == 0 ? 0 : errno;
  close(descriptor);
  // Some file systems know no syncing of folders.
  if (error != 0 && error != EINVAL && error != ENOTSUP) fail(error);
}

FileWriter::Packing FileWriter::packing_for(const std::string& path) {
  if (!path.ends_with(".gz")) return Packing::none;
  if (!can_compress())
    throw_file_error(path, "cannot be gzipped: this Pando was built without zlib",
                     "give a name that does not end in .gz, or build Pando with zlib1g-dev");
  return Packing::gzip;
}

void FileWriter::fail(int error) const {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw_file_error(path_, fmt::format("cannot be written: {}", std::strerror(error)),
                   full ? "make room for it" : "check its folder and permissions");
}

}  // namespace pando
