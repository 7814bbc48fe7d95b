// SPDX-License-Identifier: Apache-2.0
#include "io/folder_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "io/byte_store.h"
#include "io/file_writer.h"
#include "io/leftovers.h"

namespace pando {

FolderWriter::FolderWriter(const std::string& path, const std::vector<std::string>& files)
    : path_(path), files_(files) {
  if (path.empty()) throw_file_error("''", "is not the name of a folder", "give one");
  // A link stays a link: what it points to is replaced.
  std::error_code absent;
  std::filesystem::path followed = std::filesystem::canonical(path, absent);
  if (absent) followed = std::filesystem::path(path).lexically_normal();
  // "model/" is "model".
  if (!followed.has_filename()) followed = followed.parent_path();
  name_ = followed.filename();
  parent_path_ = followed.has_parent_path() ? followed.parent_path().string() : ".";
  create();
}

FolderWriter::~FolderWriter() {
  if (!temporary_.empty()) remove_folder(parent_, temporary_, files_);
}

void FolderWriter::check_replaceable() const {
  struct stat old = {};
  if (fstatat(parent_.descriptor(), name_.c_str(), &old, 0) != 0) return;
  if (!S_ISDIR(old.st_mode)) throw_file_error(path_, "is not a folder", "give another name");
  const Folder folder(parent_, name_);
  if (!folder.is_open() || faccessat(folder.descriptor(), ".", R_OK, 0) != 0) throw_unwritable(path_, errno);
  for (const std::string& found : folder.names())
    if (std::find(files_.begin(), files_.end(), found) == files_.end())
      throw_file_error(path_, fmt::format("holds '{}', which would be lost", found), "give the name of another folder");
}

void FolderWriter::create() {
  std::error_code error;
  std::filesystem::create_directories(parent_path_, error);
  if (error) throw_unwritable(path_, error.value());
  parent_ = Folder(parent_path_);
  if (!parent_.is_open()) throw_unwritable(path_, errno);
  check_replaceable();
  sweep_folders(parent_, name_, files_);
  std::string temporary;
  folder_ = create_temporary_folder(parent_, name_, temporary);
  if (!folder_.is_open()) throw_unwritable(path_, errno);
  temporary_ = temporary;
  struct stat old = {};
  if (fstatat(parent_.descriptor(), name_.c_str(), &old, 0) == 0) fchmod(folder_.descriptor(), old.st_mode & 07777);
}

void FolderWriter::commit() {
  if (const int error = folder_.sync(); error != 0) throw_unwritable(path_, error);
  // This succeeds if there is no folder, or an empty one.
  const int parent = parent_.descriptor();
  if (renameat(parent, temporary_.c_str(), parent, name_.c_str()) == 0) temporary_.clear();
  else if (errno == ENOTEMPTY || errno == EEXIST) exchange();
  else throw_unwritable(path_, errno);
  if (const int error = parent_.sync(); error != 0) throw_unwritable(path_, error);
}

// Afterwards the temporary folder is the old one, to be removed.
void FolderWriter::exchange() {
  const int parent = parent_.descriptor();
  if (renameat2(parent, temporary_.c_str(), parent, name_.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) throw_unwritable(path_, errno);
  // Some file systems cannot swap folders in one action. If the process is killed in between, the old folder does not
  // have a temporary name, so it is not removed as a leftover.
  const std::string old = temporary_ + ".old";
  if (renameat(parent, name_.c_str(), parent, old.c_str()) != 0) throw_unwritable(path_, errno);
  if (renameat(parent, temporary_.c_str(), parent, name_.c_str()) != 0) {
    const int error = errno;
    renameat(parent, old.c_str(), parent, name_.c_str());
    throw_unwritable(path_, error);
  }
  temporary_ = old;
}

}  // namespace pando
