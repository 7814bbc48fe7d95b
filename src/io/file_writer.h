// SPDX-License-Identifier: Apache-2.0
// Files that are there whole or not at all. Everything that Pando writes goes through FileWriter, except logs, which
// grow line by line.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "io/compression.h"
#include "io/folder.h"

namespace pando {

// Writes next to the file, under another name, and replaces the file only when everything is on the disk: if anything
// goes wrong before, the file is unchanged. Once commit() has returned, the file survives a power cut. Leftovers of
// killed processes for the same file are removed. All errors are Error, and name the file and the remedy; exceeding a
// limit on the size of files is an Error too, not a signal.
class FileWriter {
 public:
  enum class Packing { none, gzip };

  explicit FileWriter(const std::string& path, Packing packing = Packing::none);
  // The file of this name in a folder, even if the folder is moved. The folder must outlive this; messages name `path`.
  FileWriter(const Folder& folder, const std::string& name, const std::string& path);
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
  FileWriter(const std::string& path, const std::filesystem::path& target, Packing packing);
  void create();
  void put(std::span<const std::byte> bytes);

  std::string path_, name_, temporary_;
  // The folder of a path.
  Folder own_folder_;
  const Folder& folder_;
  int descriptor_ = -1;
  std::unique_ptr<Gzipper> gzipper_;
};

// Throws Error: "PATH: cannot be written: ...", with the remedy for this value of errno.
[[noreturn]] void throw_unwritable(const std::string& path, int error);

// The whole file at once.
void write_file(const std::string& path, std::string_view bytes);

}  // namespace pando
