// SPDX-License-Identifier: Apache-2.0
// Safetensors files are read as others write them, written as others read them, and refused with the file, the problem
// and the remedy.
#include "data/formats/safetensors.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/data/temporary_folder.h"
#include "tests/message.h"

namespace pando {
namespace {

using data::Safetensors, data::parse_safetensors, data::read_safetensors, data::safetensors_bytes,
    data::write_safetensors;

constexpr const char* remedy = "; save it again with safetensors.numpy.save_file";

// The length of the header, the header, the data.
std::string file_of(const std::string& header, const std::string& bytes) {
  std::string file;
  for (std::size_t i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> 8 * i & 0xff);
  return file + header + bytes;
}

Safetensors parse(const std::string& file) { return parse_safetensors(std::as_bytes(std::span(file)), "file"); }

// Without the name of the file and the remedy.
std::string refusal(const std::string& file) {
  const std::string text = message([&] { parse(file); });
  EXPECT_TRUE(text.starts_with("file: ")) << text;
  EXPECT_TRUE(text.ends_with(remedy)) << text;
  return text.substr(6, text.size() - 6 - std::strlen(remedy));
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool same_bits(const Array& a, const Array& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

Safetensors one_of_each_type() {
  Array half(DType::bfloat16, {2});
  half.mutable_data<BFloat16>()[0].bits = 0x3f80;
  half.mutable_data<BFloat16>()[1].bits = 0xc040;
  return {.tensors = {{"flag", Array::of<std::uint8_t>({1, 0, 1}, {3}).astype(DType::boolean)},
                      {"float32", Array::of<float>({1.5f, -2.25f, 0.0f, 3e38f, 1e-45f, -0.0f}, {2, 3})},
                      {"uint8", Array::of<std::uint8_t>({0, 127, 255}, {3, 1})},
                      {"int64", Array::scalar<std::int64_t>(-1234567890123456789)},
                      {"bfloat16", half},
                      {"int32", Array::of<std::int32_t>({-2147483647, 7}, {2})},
                      {"float64", Array::of<double>({0.1, -1e300}, {1, 2})},
                      {"nothing", Array(DType::float32, {0, 5})}},
          .metadata = {{"format", "pt"}, {"note", "a \"quoted\" line\n"}}};
}

TEST(Safetensors, ReadsAFileThatWasWrittenByHand) {
  const std::string header = R"({"__metadata__":{"format":"pt"},"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},)"
                             R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}   )";
  const Safetensors contents = parse(file_of(header, std::string("\0\0\x80\x3f\0\0\0\xc0\1\2\xff", 11)));
  ASSERT_EQ(contents.tensors.size(), 2u);
  EXPECT_EQ(contents.tensors[0].name, "b");
  EXPECT_TRUE(same_bits(contents.tensors[0].array, Array::of<std::uint8_t>({1, 2, 255}, {3})));
  EXPECT_EQ(contents.tensors[1].name, "a");
  EXPECT_TRUE(same_bits(contents.tensors[1].array, Array::of<float>({1.0f, -2.0f}, {1, 2})));
  ASSERT_EQ(contents.metadata.size(), 1u);
  EXPECT_EQ(contents.metadata[0].second, "pt");
}

TEST(Safetensors, WritesTheBytesThatTheFormatSays) {
  const std::string header = R"({"x": {"dtype": "I32", "shape": [1], "data_offsets": [0, 4]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(text_of(safetensors_bytes({.tensors = {{"x", Array::of<std::int32_t>({258}, {1})}}, .metadata = {}})),
            file_of(padded, std::string("\2\1\0\0", 4)));
  EXPECT_EQ(text_of(safetensors_bytes({})), file_of("{}      ", ""));
}

TEST(Safetensors, ReadsBackEveryTypeInOrder) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/arrays.safetensors";
  const Safetensors contents = one_of_each_type();
  write_safetensors(path, contents);
  const Safetensors back = read_safetensors(path);
  ASSERT_EQ(back.tensors.size(), contents.tensors.size());
  for (std::size_t i = 0; i < back.tensors.size(); ++i) {
    EXPECT_EQ(back.tensors[i].name, contents.tensors[i].name);
    EXPECT_TRUE(same_bits(back.tensors[i].array, contents.tensors[i].array)) << back.tensors[i].name;
  }
  EXPECT_EQ(back.metadata, contents.metadata);
}

TEST(Safetensors, PutEveryElementAtAMultipleOfItsSize) {
  const std::string bytes = text_of(safetensors_bytes(one_of_each_type()));
  // Those of eight bytes come first, in the order given.
  EXPECT_NE(bytes.find(R"("int64": {"dtype": "I64", "shape": [], "data_offsets": [0, 8]})"), std::string::npos);
  EXPECT_NE(bytes.find(R"("float64": {"dtype": "F64", "shape": [1, 2], "data_offsets": [8, 24]})"), std::string::npos);
  EXPECT_NE(bytes.find(R"("float32": {"dtype": "F32", "shape": [2, 3], "data_offsets": [24, 48]})"), std::string::npos);
  EXPECT_NE(bytes.find(R"("flag": {"dtype": "BOOL", "shape": [3], "data_offsets": [60, 63]})"), std::string::npos);
}

TEST(Safetensors, MakeBooleansOfAnyByte) {
  const Array flags =
      parse(file_of(R"({"f":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})", std::string("\0\7\1", 3)))
          .tensors[0]
          .array;
  EXPECT_TRUE(same_bits(flags, Array::of<std::uint8_t>({0, 1, 1}, {3}).astype(DType::boolean)));
}

TEST(Safetensors, AreRefusedWhenTheyAreNone) {
  EXPECT_EQ(refusal("short"), "is not a safetensors file: it has only 5 bytes");
  EXPECT_EQ(refusal("{\"a\": 1}"),
            "is not a safetensors file, or was cut off: it announces a header of 9021026962656797307 bytes");
  EXPECT_EQ(refusal(file_of("{}", "").substr(0, 9)),
            "is not a safetensors file, or was cut off: it announces a header of 2 bytes");
  EXPECT_EQ(refusal(std::string("\1\xe1\xf5\5\0\0\0\0", 8)),
            "is not a safetensors file, or was cut off: it announces a header of 100000001 bytes");
  EXPECT_EQ(refusal(file_of("{\"a\"}", "")), "its header is not JSON: line 1, column 5: a colon is missing");
  EXPECT_EQ(refusal(file_of("[]", "")), "its header is a list but should be an object");
}

TEST(Safetensors, AreRefusedForWhatTheirHeaderSays) {
  const auto header_refusal = [](const std::string& entry, std::size_t bytes = 0) {
    return refusal(file_of("{\"a\":" + entry + "}", std::string(bytes, '\0')));
  };
  EXPECT_EQ(header_refusal(R"({"shape":[],"data_offsets":[0,4]})", 4), "'a' has no 'dtype'");
  EXPECT_EQ(header_refusal(R"({"dtype":"F16","shape":[2],"data_offsets":[0,4]})", 4),
            "'a' has elements of the type F16, and F64, F32, BF16, I64, I32, U8 and BOOL are read");
  EXPECT_EQ(header_refusal(R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})", 8),
            "the shape of 'a' is an integer but should be a list");
  EXPECT_EQ(header_refusal(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,8]})", 8),
            "the shape of 'a' has the number -1");
  EXPECT_EQ(header_refusal(R"({"dtype":"F32","shape":[],"data_offsets":[4]})", 4),
            "the data_offsets of 'a' are 1 numbers but should be 2");
  EXPECT_EQ(header_refusal(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", 4),
            "'a' lies from 0 to 4, which does not fit its float32[2]");
  EXPECT_EQ(header_refusal(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})", 4),
            "'a' lies from 4 to 0, which does not fit its float32[1]");
  EXPECT_EQ(header_refusal(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})"),
            "'a' has the impossible shape [4294967296, 4294967296]");
  EXPECT_EQ(header_refusal(R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]})", 4),
            "a shape has at most 8 axes; reshape to fewer");
  EXPECT_EQ(header_refusal(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})", 8),
            "has a gap or an overlap at byte 0 of its data");
  EXPECT_EQ(header_refusal(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})", 5),
            "has 5 bytes of data, but its header announces 4");
  EXPECT_EQ(header_refusal(R"({"dtype":"F32","shape":[1000000],"data_offsets":[0,4000000]})", 4),
            "has 4 bytes of data, but its header announces 4000000");
  EXPECT_EQ(refusal(file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                            R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                            "xyz")),
            "has a gap or an overlap at byte 2 of its data");
  EXPECT_EQ(refusal(file_of(R"({"a":{},"a":{}})", "")),
            "its header is not JSON: line 1, column 12: the member 'a' appears twice");
  EXPECT_EQ(refusal(file_of(R"({"__metadata__":{"step":3}})", "")),
            "'step' of __metadata__ is an integer but should be a string");
}

TEST(Safetensors, AreNotWrittenWithNamesThatCannotBeRead) {
  const Array array(DType::float32, {1});
  EXPECT_EQ(message([&] {
              safetensors_bytes({.tensors = {{"a", array}, {"a", array}}, .metadata = {}});
            }),
            "safetensors: two arrays are named 'a'; give them different names");
  EXPECT_EQ(message([&] {
              safetensors_bytes({.tensors = {{"__metadata__", array}}, .metadata = {}});
            }),
            "safetensors: an array cannot be named '__metadata__'; give it another name");
  EXPECT_EQ(message([] { read_safetensors("/no/such/file.safetensors"); }),
            "/no/such/file.safetensors: cannot be read: No such file or directory; check its name and permissions");
}

TEST(Safetensors, AreRefusedWhereverTheyAreCutOff) {
  const std::string file = text_of(safetensors_bytes(one_of_each_type()));
  for (std::size_t size = 0; size < file.size(); ++size)
    EXPECT_NE(message([&] { parse(file.substr(0, size)); }), "(nothing was thrown)") << size;
  EXPECT_NE(message([&] { parse(file + '\0'); }), "(nothing was thrown)");
}

// A flipped bit of the data is other data; one of the header is refused, or still describes arrays that fill the file.
TEST(Safetensors, WithAFlippedBitAreRefusedOrAreWholeArrays) {
  const std::string file = text_of(safetensors_bytes(one_of_each_type()));
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string flipped = file;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    try {
      std::size_t bytes = 0;
      for (const auto& [name, array] : parse(flipped).tensors) bytes += array.bytes();
      ASSERT_EQ(bytes, 66u) << bit;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, file.size());
}

// By NumPy alone, if this machine's Python has it.
TEST(Safetensors, AreReadByAnotherReader) {
  const auto runs = [](const std::string& command) { return std::system((command + " 2>/dev/null").c_str()) == 0; };
  std::string python;
  for (const char* one : {"python3", "/usr/bin/python3"})
    if (python.empty() && runs(one + std::string(" -c 'import numpy'"))) python = one;
  if (python.empty()) GTEST_SKIP() << "python3 has no numpy: install python3-numpy";
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/arrays.safetensors", log = folder.path() + "/log";
  write_safetensors(path, one_of_each_type());
  const std::string command = python + " " PANDO_SOURCE_FOLDER "/tests/data/read_safetensors.py " + path + " >" + log;
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream file(log);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}),
            "bfloat16 BF16 [2] [1.0, -3.0]\n"
            "flag BOOL [3] [True, False, True]\n"
            "float32 F32 [2, 3] [[1.5, -2.25, 0.0], [3.0000000054977558e+38, 1.401298464324817e-45, -0.0]]\n"
            "float64 F64 [1, 2] [[0.1, -1e+300]]\n"
            "int32 I32 [2] [-2147483647, 7]\n"
            "int64 I64 [] -1234567890123456789\n"
            "nothing F32 [0, 5] []\n"
            "uint8 U8 [3, 1] [[0], [127], [255]]\n"
            "metadata [('format', 'pt'), ('note', 'a \"quoted\" line\\n')]\n");
}

}  // namespace
}  // namespace pando
