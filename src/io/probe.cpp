// SPDX-License-Identifier: Apache-2.0
#include "io/probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/paths.h"
#include "io/byte_store.h"
#include "io/file_writer.h"
#include "io/folder.h"
#include "io/folder_writer.h"

namespace pando {

namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw_file_error(path, fmt::format("cannot be written: {}", std::strerror(error)),
                   "give a folder that can be made and written");
}

// A file without a name is gone when it is closed, even if the process is killed.
int error_of_making_a_file_in(const std::string& folder) {
  const int descriptor = open_descriptor(AT_FDCWD, folder, O_TMPFILE | O_WRONLY, 0600);
  if (descriptor >= 0) {
    close(descriptor);
    return 0;
  }
  // Some file systems have no such files. There a folder is made and removed: root has all permissions, even where the
  // system makes no folder, as in /proc.
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return errno;
  std::string made = folder + "/.pando-XXXXXX";
  if (mkdtemp(made.data()) == nullptr) return errno;
  return rmdir(made.c_str()) == 0 ? 0 : errno;
}

}  // namespace

void probe_file(const std::string& path) { const FileWriter unfinished(path); }

void probe_log(const std::string& path) {
  const auto check = [&](int error) {
    if (error != 0)
      throw_file_error(path, fmt::format("cannot be written: {}", std::strerror(error)),
                       "check its folder and permissions");
  };
  if (is_folder(path)) check(EISDIR);
  if (path_exists(path)) check(faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0 ? 0 : errno);
  else check(error_of_making_a_file_in(folder_of(path)));
}

void probe_folder(const std::string& path) {
  std::string folder = path.empty() ? "." : path;
  struct stat found = {};
  // Missing folders would be made in the nearest one that exists.
  while (stat(folder.c_str(), &found) != 0) {
    if (errno != ENOENT) fail(path, errno);
    // A link to nothing: no folder can be made in its place.
    if (lstat(folder.c_str(), &found) == 0) fail(path, ENOENT);
    folder = folder_of(folder);
  }
  if (!S_ISDIR(found.st_mode)) fail(path, ENOTDIR);
  if (const int error = error_of_making_a_file_in(folder); error != 0) fail(path, error);
}

void probe_folder(const std::string& path, const std::vector<std::string>& files) {
  probe_folder(folder_of(path));
  // A folder that would have to be made first holds nothing.
  if (is_folder(folder_of(path))) const FolderWriter unfinished(path, files);
}

std::string folder_of(const std::string& path) {
  std::filesystem::path plain = std::filesystem::path(path).lexically_normal();
  if (!plain.has_filename()) plain = plain.parent_path();
  const std::string folder = plain.parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace pando
