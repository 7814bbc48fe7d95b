// The bytes of a file, decompressed if it is gzipped.
#pragma once
#include <pando/dtype.h>
#include <pando/shape.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pando {

// Reads from front to back. All errors are Error, and name the file and the remedy.
class ByteFile {
 public:
  // Throws if the file cannot be opened, or is gzipped and Pando was built without zlib.
  explicit ByteFile(const std::string& path);
  ~ByteFile();
  ByteFile(const ByteFile&) = delete;
  ByteFile& operator=(const ByteFile&) = delete;

  const std::string& path() const { return path_; }
  // The next `count` bytes, or fewer at the end of the file. Memory grows with what is really there, so that a `count`
  // taken from a malformed header costs nothing.
  std::vector<std::byte> read(std::uint64_t count);
  // As read(), but throws if the file ends before; `what` names the bytes: "the header".
  std::vector<std::byte> read_exactly(std::uint64_t count, const std::string& what);
  // The bytes of an array that a header announces; throws if no 64 bits can count them.
  std::uint64_t announced_bytes(DType dtype, const Shape& shape) const;
  // Throws if there are bytes left.
  void expect_end();
  // Throws: "PATH: `problem`; `remedy`".
  [[noreturn]] void fail(const std::string& problem, const std::string& remedy) const;

 private:
  struct Stream;

  std::string path_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace pando
