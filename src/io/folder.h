// SPDX-License-Identifier: Apache-2.0
// Folder: an open folder. Its files are opened relative to it, so they stay the same files even if it is moved and
// another folder or a link takes its old name.
#pragma once
#include <string>
#include <vector>

namespace pando {

// open() and openat() with O_CLOEXEC; the descriptor is never one of 0 to 2, so that no message goes into the file if a
// program runs without standard streams. -1 and errno if it cannot be opened.
int open_descriptor(int folder, const std::string& name, int flags, int mode = 0);

// Tries to lock the file or folder for this process until it is closed, without waiting.
enum class Lock {
  ours,
  // Another process has the lock.
  taken,
  // The file system has no locks, so there is no protection.
  impossible
};
Lock lock_descriptor(int descriptor);

class Folder {
 public:
  // Not open.
  Folder() = default;
  // If the folder cannot be opened, is_open() is false and errno says why.
  explicit Folder(const std::string& path);
  Folder(const Folder& parent, const std::string& name);
  ~Folder();
  Folder(Folder&& other) noexcept;
  Folder& operator=(Folder&& other) noexcept;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  Lock lock() const { return lock_descriptor(descriptor_); }
  // The names in the folder, in any order; empty if it may not be read.
  std::vector<std::string> names() const;
  // Puts its list of files on the disk. Returns 0 or the error; that a folder cannot be synced at all is not an error.
  int sync() const;
  // Whether this path leads to the folder.
  bool is_at(const std::string& path) const;
  // The path that leads to the folder now, as far as the system knows; empty if there is none.
  std::string current_path() const;

 private:
  explicit Folder(int parent, const std::string& name);
  int descriptor_ = -1;
};

}  // namespace pando
