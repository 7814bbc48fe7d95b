// SPDX-License-Identifier: Apache-2.0
// NumPy's files are read and written as they are, and refused with the file, the problem and the remedy.
#include <pando/data/files.h>

#include <gtest/gtest.h>

#include "tests/data/temporary_folder.h"
#include "tests/message.h"

namespace pando {
namespace {

using data::read_npy, data::write_npy;

std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = std::string("\x93NUMPY") + version + '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  if (version == 2) bytes += std::string(2, '\0');
  return bytes + header + data;
}

std::string described(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

class Npy : public testing::Test {
 protected:
  Array read(const std::string& bytes) { return read_npy(folder.write("file.npy", bytes)); }
  std::string refusal(const std::string& bytes) {
    const std::string path = folder.write("file.npy", bytes);
    const std::string text = message([&] { read_npy(path); });
    EXPECT_TRUE(text.starts_with(path + ": ")) << text;
    return text.substr(path.size() + 2);
  }

  TemporaryFolder folder;
};

template <class T>
void expect_round_trip(const Array& array, const std::vector<T>& values, const Shape& shape) {
  EXPECT_EQ(array.dtype(), dtype_of<T>);
  EXPECT_EQ(array.shape(), shape);
  EXPECT_EQ(std::vector<T>(array.data<T>(), array.data<T>() + array.elements()), values);
}

TEST_F(Npy, ReadsEveryType) {
  const std::vector<float> floats = {1.5f, -2, 3, 4, 5, 6};
  expect_round_trip(read(npy(described("<f4", "(2, 3)"), bytes_of(floats))), floats, {2, 3});
  const std::vector<double> doubles = {1.5, -2};
  expect_round_trip(read(npy(described("<f8", "(2,)"), bytes_of(doubles))), doubles, {2});
  const std::vector<std::int32_t> integers = {1, -2};
  expect_round_trip(read(npy(described("<i4", "(1, 2, 1)"), bytes_of(integers))), integers, {1, 2, 1});
  const std::vector<std::int64_t> longs = {std::int64_t{1} << 40};
  expect_round_trip(read(npy(described("<i8", "()"), bytes_of(longs))), longs, {});
  const std::vector<std::uint8_t> bytes = {0, 255};
  expect_round_trip(read(npy(described("|u1", "(2,)"), bytes_of(bytes))), bytes, {2});
  const Array booleans = read(npy(described("|b1", "(3,)"), std::string("\0\1\2", 3)));
  EXPECT_EQ(booleans.dtype(), DType::boolean);
  EXPECT_EQ(booleans.data<std::uint8_t>()[2], 1);
}

TEST_F(Npy, ReadsVersionTwo) {
  const std::vector<float> floats = {1, 2};
  expect_round_trip(read(npy(described("<f4", "(2,)"), bytes_of(floats), 2)), floats, {2});
}

TEST_F(Npy, WritesWhatNumPyWrites) {
  const std::string path = folder.path() + "/file.npy";
  write_npy(path, Array::of<float>({1.5f, -2}, {2}));
  std::ifstream stream(path, std::ios::binary);
  std::string header = described("<f4", "(2,)");
  header.resize(117, ' ');
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), npy(header + "\n", bytes_of<float>({1.5f, -2})));
}

TEST_F(Npy, ReadsWhatItWrites) {
  const std::string path = folder.path() + "/file.npy";
  write_npy(path, Array::of<std::int64_t>({1, -2, 3, 4, 5, 1ll << 40}, {1, 2, 3}));
  expect_round_trip<std::int64_t>(read_npy(path), {1, -2, 3, 4, 5, 1ll << 40}, {1, 2, 3});
  write_npy(path, Array::scalar(2.5));
  expect_round_trip<double>(read_npy(path), {2.5}, {});
  for (DType dtype : {DType::uint8, DType::boolean, DType::int32, DType::float32}) {
    write_npy(path, Array(dtype, {0, 3}));
    EXPECT_EQ(read_npy(path).dtype(), dtype);
  }
}

TEST_F(Npy, SaysWhatCannotBeWritten) {
  const std::string path = folder.path() + "/file.npy";
  EXPECT_EQ(message([&] { write_npy(path, Array(DType::bfloat16, {2})); }),
            path + ": NumPy's files hold no bfloat16; cast it with astype to float32");
}

TEST_F(Npy, RefusesOtherFilesAndVersions) {
  EXPECT_EQ(refusal("not a NumPy file"), "is not an NPY file; save it again with numpy.save");
  EXPECT_EQ(refusal("\x93NUM"), "ends after 4 of the 8 bytes of the header; fetch it again");
  EXPECT_EQ(refusal(npy("", "", 3)), "is an NPY file of version 3; versions 1 and 2 are read");
  EXPECT_EQ(refusal(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12)),
            "has a header of 4294967295 bytes; save it again with numpy.save");
}

TEST_F(Npy, RefusesOtherTypesAndOrders) {
  EXPECT_EQ(refusal(npy(described(">f4", "(2,)"), "")),
            "has elements of the type '>f4'; only '<f4', '<f8', '<i4', '<i8', '|u1' and '|b1' are read; cast it with "
            "astype");
  EXPECT_EQ(refusal(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", "")),
            "is in Fortran order; save numpy.ascontiguousarray of it");
}

TEST_F(Npy, RefusesMalformedHeaders) {
  EXPECT_EQ(refusal(npy("{'fortran_order': False, 'shape': (2,), }", "")),
            "has no 'descr' in its header; save it again with numpy.save");
  EXPECT_EQ(refusal(npy(described("<f4", "(2, x)"), "")),
            "has a malformed 'shape' in its header; save it again with numpy.save");
  for (const char* shape : {"(2)", "(2 3)", "(2,,)", "(,)", "2", "(99999999999999999999,)"})
    EXPECT_EQ(refusal(npy(described("<f4", shape), "")),
              "has a malformed 'shape' in its header; save it again with numpy.save");
  EXPECT_EQ(refusal(npy(described("<f4", "(-2,)"), "")),
            "has a malformed 'shape' in its header; save it again with numpy.save");
  EXPECT_EQ(refusal(npy("{'descr': '<f4', 'fortran_order': False, 'shape':", "")),
            "has a malformed 'shape' in its header; save it again with numpy.save");
  EXPECT_EQ(refusal(npy(described("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), "")), "has too many axes; at most 8 are read");
}

TEST_F(Npy, RefusesWrongLengths) {
  EXPECT_EQ(refusal(npy(described("<f4", "(2,)"), "abcde")),
            "ends after 5 of the 8 bytes of its float32[2]; fetch it again");
  EXPECT_EQ(refusal(npy(described("<f4", "(1,)"), "abcde")),
            "has more bytes than its header announces; fetch it again");
  EXPECT_EQ(refusal(npy(described("<f4", "(4611686018427387904, 4)"), "")),
            "announces the impossible shape [4611686018427387904, 4]; fetch it again");
}

}  // namespace
}  // namespace pando
