// SPDX-License-Identifier: Apache-2.0
// Folders of files that are there whole or not at all.
#pragma once
#include <string>
#include <vector>

#include "io/folder.h"

namespace pando {

// The files are written into another folder next to it, which replaces it only when everything is on the disk: if
// anything goes wrong before, the folder is unchanged. Leftovers of killed processes for the same folder are removed.
// All errors are Error, and name the folder and the remedy.
class FolderWriter {
 public:
  // These are the files that will be written. An existing folder may hold only these, so that nothing else is lost with
  // it.
  FolderWriter(const std::string& path, const std::vector<std::string>& files);
  // Removes what was written if commit() was not reached.
  ~FolderWriter();
  FolderWriter(const FolderWriter&) = delete;
  FolderWriter& operator=(const FolderWriter&) = delete;

  // Where to write the file of this name.
  std::string file(const std::string& name) const { return parent_path_ + "/" + temporary_ + "/" + name; }
  // To be called once, at the end.
  void commit();

 private:
  void check_replaceable() const;
  void create();
  void exchange();

  std::string path_, parent_path_, name_, temporary_;
  std::vector<std::string> files_;
  Folder parent_;
  // Locked as long as it is written.
  Folder folder_;
};

}  // namespace pando
