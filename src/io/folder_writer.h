// Folders of files that are there whole or not at all.
#pragma once
#include <string>
#include <vector>

namespace pando {

// The files are written into a folder beside it, which takes its place only when everything is on the disk: whatever
// goes wrong before, the folder is what it was. All errors are Error, and name the folder and the remedy.
class FolderWriter {
 public:
  // A folder that is there may hold only these files, so that nothing else is lost with it.
  FolderWriter(const std::string& path, const std::vector<std::string>& files);
  // Removes what was written if commit() was not reached.
  ~FolderWriter();
  FolderWriter(const FolderWriter&) = delete;
  FolderWriter& operator=(const FolderWriter&) = delete;

  // Where to write the file of this name.
  std::string file(const std::string& name) const { return temporary_ + "/" + name; }
  // To be called once, at the end.
  void commit();

 private:
  void check_replaceable(const std::vector<std::string>& files) const;
  void create();
  void exchange();
  [[noreturn]] void fail(int error) const;

  std::string path_, target_, temporary_;
};

}  // namespace pando
