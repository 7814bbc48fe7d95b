// SPDX-License-Identifier: Apache-2.0
// The bytes of a file or of memory, read at any place, as they are.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/folder.h"

namespace pando {

// Throws Error: "PATH: `problem`; `remedy`".
[[noreturn]] void throw_file_error(const std::string& path, const std::string& problem, const std::string& remedy);

// All errors are Error, and name the file and the remedy.
class ByteStore {
 public:
  // Opens a file; throws if it cannot be read or is not a regular file.
  explicit ByteStore(const std::string& path);
  // The file of this name in a folder, even if the folder is moved; messages name `path`.
  ByteStore(const Folder& folder, const std::string& name, const std::string& path);
  // `bytes` in memory, which must outlive the store; `name` takes the place of the path in messages.
  ByteStore(const std::string& name, std::span<const std::byte> bytes);
  ~ByteStore();
  ByteStore(const ByteStore&) = delete;
  ByteStore& operator=(const ByteStore&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  // Fills `out` with the bytes from `offset` on, and returns how many there were: fewer only at the end.
  std::size_t read(std::uint64_t offset, std::span<std::byte> out) const;
  // Throws: "PATH: `problem`; `remedy`".
  [[noreturn]] void fail(const std::string& problem, const std::string& remedy) const;

 private:
  void open(int folder, const std::string& name);

  std::string path_;
  std::uint64_t size_ = 0;
  int descriptor_ = -1;
  std::span<const std::byte> memory_;
};

}  // namespace pando
