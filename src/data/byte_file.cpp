#include "data/byte_file.h"

#include <pando/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#ifdef PANDO_WITH_ZLIB
#include <zlib.h>
#endif

namespace pando {

namespace {

constexpr const char* fetch_again = "fetch it again";

[[noreturn]] void throw_file_error(const std::string& path, const std::string& problem, const std::string& remedy) {
  throw Error(fmt::format("{}: {}; {}", path, problem, remedy));
}

[[noreturn]] void throw_unreadable(const std::string& path, int error) {
  throw_file_error(path, fmt::format("cannot be read: {}", std::strerror(error)), "check its name and permissions");
}

}  // namespace

#ifdef PANDO_WITH_ZLIB

// zlib passes files that are not gzipped through.
struct ByteFile::Stream {
  explicit Stream(const std::string& path) : file(gzopen(path.c_str(), "rb")) {
    if (file == nullptr) throw_unreadable(path, errno);
  }
  ~Stream() { gzclose(file); }

  std::size_t read(const std::string& path, std::byte* out, std::size_t count) {
    const int got = gzread(file, out, static_cast<unsigned>(count));
    int code = Z_OK;
    gzerror(file, &code);
    if (code == Z_ERRNO) throw_unreadable(path, errno);
    if (code == Z_BUF_ERROR) throw_file_error(path, "the gzip data end too early", fetch_again);
    if (got < 0 || code != Z_OK) throw_file_error(path, "the gzip data are damaged", fetch_again);
    return static_cast<std::size_t>(got);
  }

  gzFile file;
};

#else

struct ByteFile::Stream {
  explicit Stream(const std::string& path) : file(std::fopen(path.c_str(), "rb")) {
    if (file == nullptr) throw_unreadable(path, errno);
    const bool gzipped = std::fgetc(file) == 0x1f && std::fgetc(file) == 0x8b;
    std::rewind(file);
    if (!gzipped) return;
    std::fclose(file);
    throw_file_error(path, "is gzipped, and this Pando was built without zlib",
                     "decompress it with gzip -d, or build Pando with zlib1g-dev");
  }
  ~Stream() { std::fclose(file); }

  std::size_t read(const std::string& path, std::byte* out, std::size_t count) {
    const std::size_t got = std::fread(out, 1, count, file);
    if (std::ferror(file) != 0) throw_unreadable(path, errno);
    return got;
  }

  std::FILE* file;
};

#endif

ByteFile::ByteFile(const std::string& path) : path_(path) {
  // Opening a folder succeeds, and reading it fails with a message that misleads.
  if (std::filesystem::is_directory(path)) throw_unreadable(path, EISDIR);
  stream_ = std::make_unique<Stream>(path);
}

ByteFile::~ByteFile() = default;

std::vector<std::byte> ByteFile::read(std::uint64_t count) {
  constexpr std::uint64_t first_piece = 1 << 16, largest_piece = 1 << 24;
  std::vector<std::byte> bytes;
  std::uint64_t piece = first_piece;
  while (bytes.size() < count) {
    const std::size_t before = bytes.size();
    const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(piece, count - before));
    bytes.resize(before + wanted);
    const std::size_t got = stream_->read(path_, bytes.data() + before, wanted);
    bytes.resize(before + got);
    if (got < wanted) break;
    piece = std::min(piece * 2, largest_piece);
  }
  return bytes;
}

std::vector<std::byte> ByteFile::read_exactly(std::uint64_t count, const std::string& what) {
  std::vector<std::byte> bytes = read(count);
  if (bytes.size() < count)
    fail(fmt::format("ends after {} of the {} bytes of {}", bytes.size(), count, what), fetch_again);
  return bytes;
}

std::uint64_t ByteFile::announced_bytes(DType dtype, const Shape& shape) const {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(dtype));
  for (std::int64_t size : shape)
    if (__builtin_mul_overflow(bytes, size, &bytes))
      fail(fmt::format("announces the impossible shape {}", to_string(shape)), fetch_again);
  return static_cast<std::uint64_t>(bytes);
}

void ByteFile::expect_end() {
  if (!read(1).empty()) fail("has more bytes than its header announces", fetch_again);
}

void ByteFile::fail(const std::string& problem, const std::string& remedy) const {
  throw_file_error(path_, problem, remedy);
}

}  // namespace pando
