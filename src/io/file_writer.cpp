// SPDX-License-Identifier: Apache-2.0
#include "io/file_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/machine/quiet_writes.h"
#include "io/byte_store.h"
#include "io/leftovers.h"

namespace pando {

namespace {

// A link stays a link: what it points to is replaced.
std::filesystem::path followed(const std::string& path) {
  std::error_code absent;
  const std::filesystem::path real = std::filesystem::canonical(path, absent);
  return absent ? std::filesystem::path(path) : real;
}

}  // namespace

FileWriter::FileWriter(const std::string& path, Packing packing) : FileWriter(path, followed(path), packing) {}

FileWriter::FileWriter(const std::string& path, const std::filesystem::path& target, Packing packing)
    : path_(path), name_(target.filename()), own_folder_(target.parent_path()), folder_(own_folder_) {
  if (packing == Packing::gzip)
    gzipper_ = std::make_unique<Gzipper>([this](std::span<const std::byte> bytes) { put(bytes); });
  create();
}

FileWriter::FileWriter(const Folder& folder, const std::string& name, const std::string& path)
    : path_(path), name_(name), folder_(folder) {
  create();
}

FileWriter::~FileWriter() {
  if (!temporary_.empty()) unlinkat(folder_.descriptor(), temporary_.c_str(), 0);
  if (descriptor_ >= 0) close(descriptor_);
}

void FileWriter::create() {
  if (!folder_.is_open()) throw_unwritable(path_, errno);
  struct stat old = {};
  const bool replaces = fstatat(folder_.descriptor(), name_.c_str(), &old, 0) == 0;
  if (name_.empty() || (replaces && S_ISDIR(old.st_mode))) throw_unwritable(path_, EISDIR);
  // A device must not be replaced by a file.
  if (replaces && !S_ISREG(old.st_mode)) throw_file_error(path_, "is not a regular file", "give another name");
  sweep_files(folder_, [&](std::string_view name) { return name == name_; });
  descriptor_ = create_temporary_file(folder_, name_, temporary_);
  if (descriptor_ < 0) {
    temporary_.clear();
    throw_unwritable(path_, errno);
  }
  if (replaces) fchmod(descriptor_, old.st_mode & 07777);
}

void FileWriter::put(std::span<const std::byte> bytes) {
  const QuietWrites quiet;
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_unwritable(path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void FileWriter::write(std::span<const std::byte> bytes) {
  if (gzipper_) gzipper_->write(bytes);
  else put(bytes);
}

void FileWriter::commit() {
  if (gzipper_) gzipper_->finish();
  while (fsync(descriptor_) != 0)
    if (errno != EINTR) throw_unwritable(path_, errno);
  // Renamed while it is locked, so that no other process takes it for a leftover. It is synced, so closing it cannot
  // lose anything.
  if (renameat(folder_.descriptor(), temporary_.c_str(), folder_.descriptor(), name_.c_str()) != 0)
    throw_unwritable(path_, errno);
  temporary_.clear();
  close(std::exchange(descriptor_, -1));
  // Until its folder is on the disk too, a file may be gone after a power cut.
  if (const int error = folder_.sync(); error != 0) throw_unwritable(path_, error);
}

FileWriter::Packing FileWriter::packing_for(const std::string& path) {
  if (!path.ends_with(".gz")) return Packing::none;
  if (!can_compress())
    throw_file_error(path, "cannot be gzipped: this Pando was built without zlib",
                     "give a name that does not end in .gz, or build Pando with zlib1g-dev");
  return Packing::gzip;
}

void throw_unwritable(const std::string& path, int error) {
  throw_file_error(path, fmt::format("cannot be written: {}", std::strerror(error)),
                   error == ENOSPC || error == EDQUOT ? "make room for it"
                   : error == EFBIG                   ? "raise the limit on the size of files (ulimit -f)"
                                                      : "check its folder and permissions");
}

void write_file(const std::string& path, std::string_view bytes) {
  FileWriter file(path);
  file.write(std::as_bytes(std::span(bytes)));
  file.commit();
}

}  // namespace pando
