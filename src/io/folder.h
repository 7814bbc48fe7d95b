// Folder: a folder that is open. Its files are named within it, so they stay its files wherever it is moved, and
// whatever takes its old name, another folder or a link.
#pragma once
#include <string>
#include <vector>

namespace pando {

// open() and openat() with O_CLOEXEC; the descriptor is never one of 0 to 2, so that no message goes into the file
// where a program runs without standard streams. -1 and errno if it cannot be opened.
int open_descriptor(int folder, const std::string& name, int flags, int mode = 0);

// Tries to lock the file or folder for this process until it is closed, without waiting.
enum class Lock {
  ours,
  // Another process has it.
  taken,
  // The file system has no locks: there is no protection.
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
  // What is in it, in any order; nothing if it may not be read.
  std::vector<std::string> names() const;
  // Puts on the disk what it lists. Returns 0 or the error; a folder that cannot be synced at all is not one.
  int sync() const;
  // Whether this path leads to it.
  bool is_at(const std::string& path) const;
  // The path that leads to it now, as far as the system tells; empty if there is none.
  std::string current_path() const;

 private:
  explicit Folder(int parent, const std::string& name);
  int descriptor_ = -1;
};

}  // namespace pando
