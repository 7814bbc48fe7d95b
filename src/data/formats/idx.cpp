// SPDX-License-Identifier: Apache-2.0
#include "data/formats/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <iterator>

#include "io/byte_order.h"
#include "io/file_writer.h"

namespace pando::data {

namespace {

struct IdxType {
  int code;
  DType dtype;
};
constexpr IdxType idx_types[] = {
    {0x08, DType::uint8}, {0x0C, DType::int32}, {0x0D, DType::float32}, {0x0E, DType::float64}};

DType read_type(ByteFile& file, const std::vector<std::byte>& magic) {
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0})
    file.fail(fmt::format("is not an IDX file: it begins with {:02x} {:02x} but must begin with 00 00",
                          std::to_integer<int>(magic[0]), std::to_integer<int>(magic[1])),
              "give one in the format of MNIST");
  for (const IdxType& type : idx_types)
    if (type.code == std::to_integer<int>(magic[2])) return type.dtype;
  file.fail(fmt::format("has elements of the IDX type {:#04x}", std::to_integer<int>(magic[2])),
            "only 0x08 (uint8), 0x0c (int32), 0x0d (float32) and 0x0e (float64) are read");
}

Shape read_shape(ByteFile& file, int rank) {
  if (rank > Shape::max_rank)
    file.fail(fmt::format("has {} axes", rank), fmt::format("at most {} are read", Shape::max_rank));
  const std::vector<std::byte> sizes = file.read_exactly(4 * static_cast<std::uint64_t>(rank), "the header");
  Shape shape;
  for (std::size_t i = 0; i < sizes.size(); i += 4)
    shape.append(static_cast<std::int64_t>(big_endian(std::span(sizes).subspan(i, 4))));
  return shape;
}

// IDX is big-endian; none of the machines that Pando runs on is.
void reverse_elements(std::span<std::byte> bytes, std::size_t element_size) {
  for (std::size_t i = 0; element_size > 1 && i < bytes.size(); i += element_size)
    std::reverse(bytes.data() + i, bytes.data() + i + element_size);
}

std::vector<std::byte> idx_header(const std::string& path, const Array& array) {
  const IdxType* type = std::find_if(std::begin(idx_types), std::end(idx_types),
                                     [&](const IdxType& known) { return known.dtype == array.dtype(); });
  if (type == std::end(idx_types))
    throw_file_error(path, fmt::format("IDX files hold no {}", name(array.dtype())),
                     "cast it with astype to uint8, int32, float32 or float64");
  std::vector<std::byte> header;
  append_big_endian(header, static_cast<std::uint64_t>(type->code), 3);
  append_big_endian(header, static_cast<std::uint64_t>(array.shape().rank()), 1);
  for (std::int64_t size : array.shape()) {
    if (size > std::numeric_limits<std::uint32_t>::max())
      throw_file_error(path, fmt::format("the shape {} is too large for an IDX file", to_string(array.shape())),
                       "write it with write_npy");
    append_big_endian(header, static_cast<std::uint64_t>(size), 4);
  }
  return header;
}

}  // namespace

Array read_idx(ByteFile& file) {
  const std::vector<std::byte> magic = file.read_exactly(4, "the header");
  const DType dtype = read_type(file, magic);
  const Shape shape = read_shape(file, std::to_integer<int>(magic[3]));
  Array array = file.read_array(dtype, shape);
  file.expect_end();
  reverse_elements({array.mutable_raw(), array.bytes()}, size_of(dtype));
  return array;
}

Array read_idx(const std::string& path) {
  ByteFile file(path);
  return read_idx(file);
}

void write_idx(const std::string& path, const Array& array) {
  const std::vector<std::byte> header = idx_header(path, array);
  std::vector<std::byte> bytes(array.raw(), array.raw() + array.bytes());
  reverse_elements(bytes, size_of(array.dtype()));
  FileWriter file(path, FileWriter::packing_for(path));
  file.write(header);
  file.write(bytes);
  file.commit();
}

}  // namespace pando::data
