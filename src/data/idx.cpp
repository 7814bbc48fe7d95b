#include "data/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "data/byte_file.h"

namespace pando {

namespace {

std::optional<DType> idx_dtype(std::byte code) {
  switch (std::to_integer<int>(code)) {
    case 0x08: return DType::uint8;
    case 0x0C: return DType::int32;
    case 0x0D: return DType::float32;
    case 0x0E: return DType::float64;
    default: return std::nullopt;
  }
}

std::int64_t big_endian(const std::byte* bytes) {
  std::int64_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::int64_t>(bytes[i]);
  return value;
}

DType read_type(ByteFile& file, const std::vector<std::byte>& magic) {
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0})
    file.fail(fmt::format("is no IDX file: it begins with {:02x} {:02x} but must begin with 00 00",
                          std::to_integer<int>(magic[0]), std::to_integer<int>(magic[1])),
              "give one in the format of MNIST");
  const std::optional<DType> dtype = idx_dtype(magic[2]);
  if (!dtype)
    file.fail(fmt::format("has elements of the IDX type {:#04x}", std::to_integer<int>(magic[2])),
              "only 0x08 (uint8), 0x0c (int32), 0x0d (float32) and 0x0e (float64) are read");
  return *dtype;
}

Shape read_shape(ByteFile& file, int rank) {
  if (rank > Shape::max_rank)
    file.fail(fmt::format("has {} axes", rank), fmt::format("at most {} are read", Shape::max_rank));
  const std::vector<std::byte> sizes = file.read_exactly(4 * static_cast<std::uint64_t>(rank), "the header");
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) shape.append(big_endian(sizes.data() + 4 * axis));
  return shape;
}

// IDX is big-endian; of the machines that Pando runs on none is.
void reverse_elements(std::vector<std::byte>& bytes, std::size_t element_size) {
  for (std::size_t i = 0; i < bytes.size(); i += element_size)
    std::reverse(bytes.data() + i, bytes.data() + i + element_size);
}

}  // namespace

Array read_idx(const std::string& path) {
  ByteFile file(path);
  const std::vector<std::byte> magic = file.read_exactly(4, "the header");
  const DType dtype = read_type(file, magic);
  const Shape shape = read_shape(file, std::to_integer<int>(magic[3]));
  std::vector<std::byte> bytes =
      file.read_exactly(file.announced_bytes(dtype, shape), fmt::format("its {}{}", name(dtype), to_string(shape)));
  file.expect_end();
  if (size_of(dtype) > 1) reverse_elements(bytes, size_of(dtype));
  Array array(dtype, shape);
  std::copy(bytes.begin(), bytes.end(), array.mutable_raw());
  return array;
}

}  // namespace pando
