// SPDX-License-Identifier: Apache-2.0
#include "data/formats/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "io/byte_order.h"
#include "io/file_writer.h"

namespace pando::data {

namespace {

constexpr const char* save_npy_again = "save it again with numpy.save";
// NumPy's own headers are below 200 bytes.
constexpr std::uint64_t largest_npy_header = 1 << 16;

struct NpyType {
  std::string_view code;
  DType dtype;
};
constexpr NpyType npy_types[] = {{"'<f4'", DType::float32}, {"'<f8'", DType::float64}, {"'<i4'", DType::int32},
                                 {"'<i8'", DType::int64},   {"'|u1'", DType::uint8},   {"'|b1'", DType::boolean}};

// The header: a Python dictionary, such as {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
std::string read_header(ByteFile& file) {
  const std::vector<std::byte> magic = file.read_exactly(8, "the header");
  if (std::memcmp(magic.data(), "\x93NUMPY", 6) != 0) file.fail("is not an NPY file", save_npy_again);
  const int version = std::to_integer<int>(magic[6]);
  if (version != 1 && version != 2)
    file.fail(fmt::format("is an NPY file of version {}", version), "versions 1 and 2 are read");
  const std::uint64_t length = little_endian(file.read_exactly(version == 1 ? 2 : 4, "the header"));
  if (length > largest_npy_header) file.fail(fmt::format("has a header of {} bytes", length), save_npy_again);
  const std::vector<std::byte> text = file.read_exactly(length, "the header");
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

// What follows 'key': in the header.
std::string_view entry(const ByteFile& file, std::string_view header, std::string_view key) {
  const std::string quoted = fmt::format("'{}':", key);
  const std::size_t at = header.find(quoted);
  if (at == std::string_view::npos) file.fail(fmt::format("has no '{}' in its header", key), save_npy_again);
  header.remove_prefix(at + quoted.size());
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

DType parse_type(const ByteFile& file, std::string_view text) {
  for (const NpyType& type : npy_types)
    if (text.starts_with(type.code)) return type.dtype;
  file.fail(fmt::format("has elements of the type {}", text.substr(0, text.find(','))),
            "only '<f4', '<f8', '<i4', '<i8', '|u1' and '|b1' are read; cast it with astype");
}

// A tuple such as (2, 3), (2,) or ().
Shape parse_shape(const ByteFile& file, std::string_view text) {
  const auto malformed = [&] { file.fail("has a malformed 'shape' in its header", save_npy_again); };
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
    if (rest.empty() ? shape.rank() == 1 : rest.front() != ',') malformed();
    rest.remove_prefix(std::min(rest.find_first_not_of(' ', 1), rest.size()));
  }
  return shape;
}

std::string tuple_text(const Shape& shape) {
  std::string text = "(";
  for (std::int64_t size : shape) text += fmt::format("{}{}", text.size() > 1 ? ", " : "", size);
  return text + (shape.rank() == 1 ? ",)" : ")");
}

}  // namespace

Array read_npy(ByteFile& file) {
  const std::string header = read_header(file);
  const DType dtype = parse_type(file, entry(file, header, "descr"));
  if (!entry(file, header, "fortran_order").starts_with("False"))
    file.fail("is in Fortran order", "save numpy.ascontiguousarray of it");
  const Shape shape = parse_shape(file, entry(file, header, "shape"));
  Array array = file.read_array(dtype, shape);
  file.expect_end();
  // In C++ a bool whose byte is neither 0 nor 1 is undefined.
  if (dtype == DType::boolean)
    for (std::byte& byte : std::span(array.mutable_raw(), array.bytes())) byte = std::byte{byte != std::byte{0}};
  return array;
}

Array read_npy(const std::string& path) {
  ByteFile file(path);
  return read_npy(file);
}

std::vector<std::byte> npy_header(const std::string& path, const Array& array) {
  constexpr std::size_t magic_size = 10, alignment = 64;
  const NpyType* type = std::find_if(std::begin(npy_types), std::end(npy_types),
                                     [&](const NpyType& known) { return known.dtype == array.dtype(); });
  if (type == std::end(npy_types))
    throw_file_error(path, fmt::format("NumPy's files hold no {}", name(array.dtype())),
                     "cast it with astype to float32");
  std::string text =
      fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': {}, }}", type->code, tuple_text(array.shape()));
  // The elements begin at a multiple of 64 bytes, so that they are aligned in a program that maps the file into memory.
  while ((magic_size + text.size() + 1) % alignment != 0) text += ' ';
  text += '\n';
  const std::string magic("\x93NUMPY\1\0", 8);
  std::vector<std::byte> header;
  const auto append = [&](char character) { header.push_back(static_cast<std::byte>(character)); };
  std::for_each(magic.begin(), magic.end(), append);
  append_little_endian(header, text.size(), 2);
  std::for_each(text.begin(), text.end(), append);
  return header;
}

void write_npy(const std::string& path, const Array& array) {
  const std::vector<std::byte> header = npy_header(path, array);
  FileWriter file(path, FileWriter::packing_for(path));
  file.write(header);
  file.write({array.raw(), array.bytes()});
  file.commit();
}

}  // namespace pando::data
