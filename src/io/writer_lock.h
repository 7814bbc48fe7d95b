// SPDX-License-Identifier: Apache-2.0
// WriterLock: a file that names the one process that writes in its folder, on any machine that shares the folder.
//
// The file is locked as long as the process lives, so a file that can be locked was left by a process that is gone.
// Where the file system has no locks, or a child of a dead process still holds one, what the file says of its owner
// decides.
#pragma once
#include <string>

#include "io/folder.h"

namespace pando {

class WriterLock {
 public:
  // The folder must outlive this. If another process writes there, is_taken() is true and owner() names it. If the file
  // cannot be written, as on a full disk, is_ours() and is_taken() are false and problem() says why: the folder can be
  // used, but is not guarded.
  explicit WriterLock(const Folder& folder);
  // Removes the file.
  ~WriterLock();
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

  static constexpr const char* file_name = ".writer.lock";
  bool is_ours() const { return descriptor_ >= 0; }
  bool is_taken() const { return is_taken_; }
  const std::string& problem() const { return problem_; }
  // Empty if the process is just beginning. "process 123 on HOST since 2026-11-17 04:00:12 UTC".
  const std::string& owner() const { return owner_; }
  // Whether the owner is on another machine, so that this one cannot tell whether it still runs.
  bool is_far() const { return is_far_; }

 private:
  // Returns false if the file was removed meanwhile, so that another attempt is needed.
  bool try_to_take();
  bool is_left(Lock lock, const std::string& text);
  bool write_owner();

  const Folder& folder_;
  int descriptor_ = -1;
  std::string owner_, problem_;
  bool is_taken_ = false, is_far_ = false;
};

}  // namespace pando
