// SPDX-License-Identifier: Apache-2.0
// NumPy's archives are read and written as they are, and refused with the file, the problem and the remedy.
#include "data/formats/npz.h"

#include <gtest/gtest.h>

#include "io/crc32.h"
#include "tests/data/temporary_folder.h"
#include "tests/data/zip_bytes.h"
#include "tests/message.h"

#ifdef PANDO_WITH_ZLIB
#include <zlib.h>
#endif

namespace pando {
namespace {

using data::read_npz, data::write_npz;

std::uint32_t checksum(const std::string& text) { return crc32(std::as_bytes(std::span(text))); }

// An NPY file of `count` bytes.
std::string npy_of_bytes(std::size_t announced, const std::string& elements) {
  const std::string header =
      "{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::to_string(announced) + ",), }\n";
  return std::string("\x93NUMPY\1\0", 8) + little(header.size(), 2) + header + elements;
}

ZipPiece stored(const std::string& name, const std::string& content) { return {name, content, checksum(content)}; }

class Npz : public testing::Test {
 protected:
  std::string refusal(const std::string& bytes) {
    const std::string path = folder.write("file.npz", bytes);
    const std::string text = message([&] { read_npz(path); });
    EXPECT_TRUE(text.starts_with(path + ": ")) << text;
    return text.substr(path.size() + 2);
  }

  TemporaryFolder folder;
  const std::string abc = npy_of_bytes(3, "abc");
};

TEST_F(Npz, ReadsWhatNumPyStores) {
  const std::map<std::string, Array> arrays = read_npz(PANDO_SOURCE_FOLDER "/tests/fuzz/corpus/npz/savez.npz");
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays.at("weights").shape(), (Shape{2, 3}));
  EXPECT_EQ(arrays.at("weights").data<float>()[5], 5);
  EXPECT_EQ(arrays.at("labels").data<std::uint8_t>()[2], 3);
  EXPECT_TRUE(read_npz(PANDO_SOURCE_FOLDER "/tests/fuzz/corpus/npz/empty.npz").empty());
}

TEST_F(Npz, ReadsWhatItWrites) {
  const std::string path = folder.path() + "/file.npz";
  write_npz(path, {{"layer/kernel", Array::of<float>({1, 2, 3, 4}, {2, 2})},
                   {"", Array::scalar(std::int64_t{7})},
                   {"empty", Array(DType::boolean, {0, 5})}});
  const std::map<std::string, Array> arrays = read_npz(path);
  ASSERT_EQ(arrays.size(), 3u);
  EXPECT_EQ(arrays.at("layer/kernel").data<float>()[3], 4);
  EXPECT_EQ(arrays.at("").item<int>(), 7);
  EXPECT_EQ(arrays.at("empty").shape(), (Shape{0, 5}));
  write_npz(path, {});
  EXPECT_TRUE(read_npz(path).empty());
}

TEST_F(Npz, SaysWhatCannotBeWritten) {
  const std::string path = folder.path() + "/file.npz";
  EXPECT_EQ(message([&] {
              write_npz(path, {{"w", Array(DType::bfloat16, {2})}});
            }),
            path + ": w.npy: NumPy's files hold no bfloat16; cast it with astype to float32");
  EXPECT_EQ(message([&] {
              write_npz(path, {{std::string(70'000, 'w'), Array()}});
            }),
            path + ": a name of 70000 bytes is too long; use names of at most 65531");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Npz, ReadsCommentsAndSeveralArrays) {
  const std::string path = folder.write("file.npz", zip({stored("a.npy", abc), stored("b.npy", abc)}, "PK\5\6 no end"));
  EXPECT_EQ(read_npz(path).at("b").data<std::uint8_t>()[0], 'a');
}

TEST_F(Npz, RefusesWhatIsNoArchive) {
  const std::string no_archive = "is not an NPZ file, or only the beginning of one; save it again with numpy.savez";
  EXPECT_EQ(refusal(""), no_archive);
  EXPECT_EQ(refusal("hello"), no_archive);
  const std::string whole = zip({stored("a.npy", abc)});
  EXPECT_EQ(refusal(whole.substr(0, whole.size() - 1)), no_archive);
  EXPECT_EQ(refusal(whole.substr(0, whole.size() / 2)), no_archive);
}

TEST_F(Npz, RefusesWhatIsNoArray) {
  EXPECT_EQ(refusal(zip({stored("a.txt", "hello")})),
            "holds 'a.txt', which is not an array; only entries that end in .npy are read");
  EXPECT_EQ(refusal(zip({stored("a.npy", "hello, hello")})),
            "a.npy: is not an NPY file; save it again with numpy.save");
  EXPECT_EQ(refusal(zip({stored("a.npy", abc), stored("a.npy", abc)})),
            "holds 'a.npy' twice; save it again with numpy.savez");
}

TEST_F(Npz, RefusesOtherMethods) {
  ZipPiece piece = stored("a.npy", abc);
  piece.method = 14;
  EXPECT_EQ(refusal(zip({piece})),
            "'a.npy' in it is compressed by method 14; only stored and deflated arrays are read; save it again with "
            "numpy.savez");
  piece.flags = 1;
  EXPECT_EQ(refusal(zip({piece})), "'a.npy' in it is encrypted; save it again with numpy.savez");
}

// It would take 4 GB, or the file's bytes again and again, if the directory were believed.
TEST_F(Npz, DoesNotBelieveSizesAndPlaces) {
  ZipPiece huge = stored("a.npy", npy_of_bytes(4'000'000'000, "abc"));
  EXPECT_EQ(refusal(zip({huge})),
            "a.npy: ends after 3 of the 4000000000 bytes of its uint8[4000000000]; fetch it again");
  huge.size = 4'000'000'000;
  EXPECT_EQ(refusal(zip({huge})),
            "has a damaged ZIP directory ('a.npy' overlaps what follows it); save it again with numpy.savez");
  ZipPiece twice = stored("b.npy", abc);
  twice.offset = 0;
  EXPECT_EQ(refusal(zip({stored("a.npy", abc), twice})),
            "has a damaged ZIP directory ('b.npy' overlaps what follows it); save it again with numpy.savez");
  ZipPiece two_sizes = stored("a.npy", abc);
  two_sizes.inflated_size = 3;
  EXPECT_EQ(refusal(zip({two_sizes})),
            "has a damaged ZIP directory ('a.npy' has two sizes); save it again with numpy.savez");
  ZipPiece elsewhere = stored("a.npy", abc);
  elsewhere.offset = 5;
  EXPECT_EQ(refusal(zip({elsewhere})),
            "has a damaged ZIP directory ('a.npy' is not where it says); save it again with numpy.savez");
  elsewhere.offset = 0xffffffff;
  EXPECT_EQ(refusal(zip({elsewhere})),
            "has a damaged ZIP directory ('a.npy' has no sizes); save it again with numpy.savez");
}

TEST_F(Npz, RefusesDamagedDirectories) {
  std::string bytes = zip({stored("a.npy", abc)});
  const std::size_t end = bytes.size() - 22;
  const auto with = [&](std::size_t at, char value) {
    std::string changed = bytes;
    changed[at] = value;
    return changed;
  };
  EXPECT_EQ(refusal(with(end + 10, 2)),
            "has a damaged ZIP directory (1 entries instead of 2); save it again with numpy.savez");
  EXPECT_EQ(refusal(with(end + 12, 20)),
            "has a damaged ZIP directory (it ends too early); save it again with numpy.savez");
  EXPECT_EQ(refusal(with(end + 18, 1)),
            "has a damaged ZIP directory (it is not in the file); save it again with numpy.savez");
  const std::string path = folder.path() + "/own.npz";
  write_npz(path, {{"a", Array()}});
  std::ifstream stream(path, std::ios::binary);
  std::string own(std::istreambuf_iterator<char>(stream), {});
  own[own.size() - 22 - 20 + 8] ^= 1;
  EXPECT_EQ(refusal(own), "has a damaged ZIP directory (no ZIP64 record); save it again with numpy.savez");
}

TEST_F(Npz, RefusesChangedBytes) {
  std::string bytes = zip({stored("a.npy", abc)});
  bytes[bytes.find("abc")] = 'x';
  EXPECT_EQ(refusal(bytes), "a.npy: does not have the CRC-32 that its archive announces; fetch it again");
}

#ifdef PANDO_WITH_ZLIB

std::string deflated(const std::string& content) {
  z_stream z = {};
  deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, content.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  z.avail_in = static_cast<unsigned>(content.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<unsigned>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

ZipPiece packed(const std::string& name, const std::string& content) {
  return {.name = name,
          .content = deflated(content),
          .checksum = checksum(content),
          .method = 8,
          .inflated_size = static_cast<std::int64_t>(content.size())};
}

TEST_F(Npz, ReadsWhatNumPyCompresses) {
  const std::map<std::string, Array> arrays =
      read_npz(PANDO_SOURCE_FOLDER "/tests/fuzz/corpus/npz/savez_compressed.npz");
  ASSERT_EQ(arrays.size(), 3u);
  EXPECT_EQ(arrays.at("layer/kernel").shape(), (Shape{20, 30}));
  EXPECT_EQ(arrays.at("count").data<std::int64_t>()[0], std::int64_t{1} << 40);
  EXPECT_EQ(arrays.at("flag").item<int>(), 1);
}

// 50 kB that inflate to 50 MB: no more of them is inflated than the header announces.
TEST_F(Npz, RefusesBombs) {
  EXPECT_EQ(refusal(zip({packed("a.npy", npy_of_bytes(10, std::string(50'000'000, '\0')))})),
            "a.npy: has more bytes than its header announces; fetch it again");
  ZipPiece small = packed("a.npy", npy_of_bytes(4'000'000, "abc"));
  small.inflated_size = 4'000'000;
  EXPECT_EQ(refusal(zip({small})),
            "a.npy: its uint8[4000000] takes 3.8 MiB, more than 71 compressed bytes can hold; fetch it again");
}

// 10 kB that are what their headers announce, 10 MB.
TEST_F(Npz, TakesNoMoreMemoryForCompressedArraysThanItMay) {
  const ZipPiece piece = packed("a.npy", npy_of_bytes(5'000'000, std::string(5'000'000, '\0')));
  ZipPiece other = piece;
  other.name = "b.npy";
  const std::string path = folder.write("file.npz", zip({piece, other}));
  EXPECT_EQ(read_npz(ByteStore(path), 10'000'000).size(), 2u);
  EXPECT_EQ(message([&] { read_npz(ByteStore(path), 3'000'000); }),
            path +
                ": a.npy: its uint8[5000000] would take 4.8 MiB when it is decompressed, but a compressed file may "
                "take 2.9 MiB here; decompress the file and read that, or read it where there is more memory");
  // All arrays together count.
  EXPECT_EQ(message([&] { read_npz(ByteStore(path), 9'000'000); }),
            path +
                ": b.npy: its uint8[5000000] would take 4.8 MiB when it is decompressed, but a compressed file may "
                "take 3.8 MiB here; decompress the file and read that, or read it where there is more memory");
  // What is not compressed takes no more than the file on the disk.
  write_npz(path, {{"a", Array(DType::uint8, {5'000'000})}});
  EXPECT_EQ(read_npz(ByteStore(path), 10).size(), 1u);
}

TEST_F(Npz, RefusesDamagedCompression) {
  ZipPiece piece = packed("a.npy", npy_of_bytes(300, std::string(300, 'a')));
  piece.content.resize(piece.content.size() - 3);
  EXPECT_EQ(refusal(zip({piece})), "a.npy: the compressed data end too early; fetch it again");
  piece = packed("a.npy", abc);
  piece.content += "more";
  EXPECT_EQ(refusal(zip({piece})), "a.npy: the compressed data are damaged; fetch it again");
  piece.content = "\xff\xff\xff";
  EXPECT_EQ(refusal(zip({piece})), "a.npy: the compressed data are damaged; fetch it again");
}

#else

TEST_F(Npz, SaysThatCompressionIsNotBuiltIn) {
  ZipPiece piece = stored("a.npy", "anything");
  piece.method = 8;
  EXPECT_EQ(
      refusal(zip({piece})),
      "a.npy: is compressed, and this Pando was built without zlib; save it with numpy.savez, or build Pando with "
      "zlib1g-dev");
}

#endif

}  // namespace
}  // namespace pando
