#include "data/npy.h"

#include <fmt/format.h>

#include <charconv>
#include <algorithm>
#include <string_view>

#include "data/byte_file.h"

namespace pando {

namespace {

constexpr const char* save_again = "save it again with numpy.save";
// NumPy's own headers are below 200 bytes.
constexpr std::uint64_t largest_header = 1 << 16;

std::uint64_t little_endian(const std::vector<std::byte>& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

// The header: a Python dictionary, such as {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
std::string read_header(ByteFile& file) {
  const std::vector<std::byte> magic = file.read_exactly(8, "the header");
  if (std::memcmp(magic.data(), "\x93NUMPY", 6) != 0) file.fail("is no NPY file", save_again);
  const int version = std::to_integer<int>(magic[6]);
  if (version != 1 && version != 2)
    file.fail(fmt::format("is an NPY file of version {}", version), "versions 1 and 2 are read");
  const std::uint64_t length = little_endian(file.read_exactly(version == 1 ? 2 : 4, "the header"));
  if (length > largest_header) file.fail(fmt::format("has a header of {} bytes", length), save_again);
  const std::vector<std::byte> text = file.read_exactly(length, "the header");
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

// What follows 'key': in the header.
std::string_view entry(const ByteFile& file, std::string_view header, std::string_view key) {
  const std::string quoted = fmt::format("'{}':", key);
  const std::size_t at = header.find(quoted);
  if (at == std::string_view::npos) file.fail(fmt::format("has no '{}' in its header", key), save_again);
  header.remove_prefix(at + quoted.size());
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

DType parse_type(const ByteFile& file, std::string_view text) {
  const std::string_view code = text.substr(0, 5);
  if (code == "'<f4'") return DType::float32;
  if (code == "'<f8'") return DType::float64;
  if (code == "'<i4'") return DType::int32;
  if (code == "'<i8'") return DType::int64;
  if (code == "'|u1'") return DType::uint8;
  if (code == "'|b1'") return DType::boolean;
  file.fail(fmt::format("has elements of the type {}", text.substr(0, text.find(','))),
            "only '<f4', '<f8', '<i4', '<i8', '|u1' and '|b1' are read; cast it with astype");
}

Shape parse_shape(const ByteFile& file, std::string_view text) {
  const auto malformed = [&] { file.fail("has a malformed 'shape' in its header", save_again); };
  const std::size_t end = text.find(')');
  if (text.empty() || text.front() != '(' || end == std::string_view::npos) malformed();
  Shape shape;
  for (std::string_view rest = text.substr(1, end - 1); !rest.empty();) {
    std::int64_t size = -1;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    if (error != std::errc() || size < 0) malformed();
    if (shape.rank() == Shape::max_rank)
      file.fail("has too many axes", fmt::format("at most {} are read", Shape::max_rank));
    shape.append(size);
    rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
    rest.remove_prefix(std::min(rest.find_first_not_of(", "), rest.size()));
  }
  return shape;
}

}  // namespace

Array read_npy(const std::string& path) {
  ByteFile file(path);
  const std::string header = read_header(file);
  const DType dtype = parse_type(file, entry(file, header, "descr"));
  if (!entry(file, header, "fortran_order").starts_with("False"))
    file.fail("is in Fortran order", "save numpy.ascontiguousarray of it");
  const Shape shape = parse_shape(file, entry(file, header, "shape"));
  const std::vector<std::byte> bytes =
      file.read_exactly(file.announced_bytes(dtype, shape), fmt::format("its {}{}", name(dtype), to_string(shape)));
  file.expect_end();
  Array array(dtype, shape);
  std::copy(bytes.begin(), bytes.end(), array.mutable_raw());
  // A bool of another byte than 0 and 1 is not defined in C++.
  if (dtype == DType::boolean)
    for (std::size_t i = 0; i < bytes.size(); ++i) array.mutable_raw()[i] = std::byte{bytes[i] != std::byte{0}};
  return array;
}

}  // namespace pando
