// Files that are there whole or not at all.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "io/compression.h"

namespace pando {

// Writes beside the file, under another name, and takes its place only when everything is on the disk: whatever goes
// wrong before, the file is what it was. When commit() returns, the file is there even after a power cut. All errors
// are Error, and name the file and the remedy.
class FileWriter {
 public:
  enum class Packing { none, gzip };

  explicit FileWriter(const std::string& path, Packing packing = Packing::none);
  // Removes what was written if commit() was not reached.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(std::span<const std::byte> bytes);
  // To be called once, at the end.
  void commit();

  // Gzip for paths that end in .gz. Throws if Pando was built without zlib.
  static Packing packing_for(const std::string& path);

 private:
  void create();
  void put(std::span<const std::byte> bytes);
  void sync_folder() const;
  [[noreturn]] void fail(int error) const;

  std::string path_, target_, temporary_;
  int descriptor_ = -1;
  std::unique_ptr<Gzipper> gzipper_;
};

}  // namespace pando
