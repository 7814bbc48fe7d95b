// SPDX-License-Identifier: Apache-2.0
// IDX files are read and written as they are, and refused with the file, the problem and the remedy.
#include "data/formats/idx.h"

#include <gtest/gtest.h>

#include "tests/data/idx_bytes.h"
#include "tests/data/temporary_folder.h"
#include "tests/message.h"

#ifdef PANDO_WITH_ZLIB
#include <zlib.h>
#endif

namespace pando {
namespace {

using data::read_idx, data::write_idx;

class Idx : public testing::Test {
 protected:
  std::string refusal(const std::string& bytes) {
    const std::string path = folder.write("file", bytes);
    const std::string text = message([&] { read_idx(path); });
    EXPECT_TRUE(text.starts_with(path + ": ")) << text;
    return text.substr(path.size() + 2);
  }

  TemporaryFolder folder;
};

TEST_F(Idx, ReadsBytes) {
  const Array array = read_idx(folder.write("file", idx_header(8, {2, 3}) + std::string("\0\1\2\3\4\xff", 6)));
  EXPECT_EQ(array.dtype(), DType::uint8);
  EXPECT_EQ(array.shape(), (Shape{2, 3}));
  EXPECT_EQ(array.data<std::uint8_t>()[4], 4);
  EXPECT_EQ(array.data<std::uint8_t>()[5], 255);
}

TEST_F(Idx, TurnsBigEndianElementsAround) {
  const Array integers =
      read_idx(folder.write("file", idx_header(12, {2}) + std::string("\0\0\1\2\xff\xff\xff\xfe", 8)));
  EXPECT_EQ(integers.data<std::int32_t>()[0], 258);
  EXPECT_EQ(integers.data<std::int32_t>()[1], -2);
  const Array floats = read_idx(folder.write("file", idx_header(13, {1}) + std::string("\x3f\xc0\0\0", 4)));
  EXPECT_EQ(floats.data<float>()[0], 1.5f);
  const Array doubles = read_idx(folder.write("file", idx_header(14, {1}) + std::string("\xc0\4\0\0\0\0\0\0", 8)));
  EXPECT_EQ(doubles.data<double>()[0], -2.5);
}

TEST_F(Idx, ReadsEmptyArrays) {
  EXPECT_EQ(read_idx(folder.write("file", idx_header(8, {0, 28, 28}))).shape(), (Shape{0, 28, 28}));
}

TEST_F(Idx, WritesWhatItReads) {
  const std::string path = folder.path() + "/file";
  write_idx(path, Array::of<std::int32_t>({258, -2}, {1, 2}));
  std::ifstream stream(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}),
            idx_header(12, {1, 2}) + std::string("\0\0\1\2\xff\xff\xff\xfe", 8));
  write_idx(path, Array::of<double>({1.5, -2.5}, {2}));
  EXPECT_EQ(read_idx(path).data<double>()[1], -2.5);
  write_idx(path, Array::scalar(7.0f));
  EXPECT_EQ(read_idx(path).shape(), Shape{});
  write_idx(path, Array(DType::uint8, {0, 28, 28}));
  EXPECT_EQ(read_idx(path).shape(), (Shape{0, 28, 28}));
}

TEST_F(Idx, SaysWhatCannotBeWritten) {
  const std::string path = folder.path() + "/file";
  EXPECT_EQ(message([&] { write_idx(path, Array(DType::int64, {2})); }),
            path + ": IDX files hold no int64; cast it with astype to uint8, int32, float32 or float64");
  EXPECT_EQ(message([&] {
              write_idx(path, Array(DType::uint8, {0, 1ll << 32}));
            }),
            path + ": the shape [0, 4294967296] is too large for an IDX file; write it with write_npy");
}

TEST_F(Idx, RefusesWhatIsNoIdxFile) {
  EXPECT_EQ(refusal("hello"),
            "is not an IDX file: it begins with 68 65 but must begin with 00 00; give one in the format of MNIST");
  EXPECT_EQ(refusal(idx_header(11, {1}) + "ab"),
            "has elements of the IDX type 0x0b; only 0x08 (uint8), 0x0c (int32), 0x0d (float32) and 0x0e (float64) are "
            "read");
  EXPECT_EQ(refusal(std::string("\0\0\x08\xff", 4)), "has 255 axes; at most 8 are read");
}

TEST_F(Idx, RefusesTruncatedFiles) {
  EXPECT_EQ(refusal(""), "ends after 0 of the 4 bytes of the header; fetch it again");
  EXPECT_EQ(refusal(idx_header(8, {2, 3}).substr(0, 9)), "ends after 5 of the 8 bytes of the header; fetch it again");
  EXPECT_EQ(refusal(idx_header(8, {2, 3}) + "abcde"), "ends after 5 of the 6 bytes of its uint8[2, 3]; fetch it again");
}

TEST_F(Idx, RefusesBytesLeftOver) {
  EXPECT_EQ(refusal(idx_header(8, {2}) + "abc"), "has more bytes than its header announces; fetch it again");
}

// These would take 4 EiB, or wrap around to few bytes, if the header were believed.
TEST_F(Idx, DoesNotBelieveHugeSizes) {
  EXPECT_EQ(refusal(idx_header(8, {0x80000000, 0x80000000}) + "abc"),
            "ends after 3 of the 4611686018427387904 bytes of its uint8[2147483648, 2147483648]; fetch it again");
  EXPECT_EQ(refusal(idx_header(14, {0x80000000, 0x80000000, 4}) + "abc"),
            "announces the impossible shape [2147483648, 2147483648, 4]; fetch it again");
  EXPECT_EQ(refusal(idx_header(8, {0, 0x80000000, 0x80000000, 0x80000000})),
            "announces the impossible shape [0, 2147483648, 2147483648, 2147483648]; fetch it again");
}

TEST_F(Idx, RefusesWhatCannotBeOpened) {
  const std::string path = folder.path() + "/absent";
  EXPECT_EQ(message([&] { read_idx(path); }),
            path + ": cannot be read: No such file or directory; check its name and permissions");
  EXPECT_EQ(message([&] { read_idx(folder.path()); }),
            folder.path() + ": cannot be read: Is a directory; check its name and permissions");
  EXPECT_EQ(message([] { read_idx("/dev/null"); }), "/dev/null: is not a regular file; copy its bytes into one");
}

#ifdef PANDO_WITH_ZLIB

class GzippedIdx : public Idx {
 protected:
  std::string gzipped(const std::string& bytes) {
    const std::string path = folder.path() + "/scratch.gz";
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
};

TEST_F(GzippedIdx, IsReadAsThePlainFile) {
  std::string pixels;
  for (int i = 0; i < 300 * 784; ++i) pixels += static_cast<char>(i * 7 % 251);
  const Array array = read_idx(folder.write("file.gz", gzipped(idx_header(8, {300, 28, 28}) + pixels)));
  EXPECT_EQ(array.shape(), (Shape{300, 28, 28}));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(array.raw()), array.bytes()), pixels);
}

TEST_F(GzippedIdx, IsWrittenWhereThePathSaysSo) {
  const Array array(DType::uint8, {100, 28, 28});
  const std::string path = folder.path() + "/images.gz";
  write_idx(path, array);
  EXPECT_LT(std::filesystem::file_size(path), 1000u);
  EXPECT_EQ(read_idx(path).shape(), array.shape());
}

// As those that `cat a.gz b.gz` makes.
TEST_F(GzippedIdx, MayHaveSeveralMembers) {
  EXPECT_EQ(read_idx(folder.write("file", gzipped(idx_header(8, {4}) + "ab") + gzipped("cd"))).shape(), (Shape{4}));
}

TEST_F(GzippedIdx, IsRefusedWhenDamaged) {
  std::string pixels;
  for (std::uint32_t i = 0, x = 1; i < 5000; ++i) pixels += static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  const std::string whole = gzipped(idx_header(8, {5000}) + pixels);
  EXPECT_EQ(refusal(whole.substr(0, whole.size() / 2)), "the compressed data end too early; fetch it again");
  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 1;
  EXPECT_EQ(refusal(flipped), "the compressed data are damaged; fetch it again");
  EXPECT_EQ(refusal("\x1f\x8bnonsense"), "the compressed data are damaged; fetch it again");
}

// A few bytes can inflate to gigabytes; no more of them are read than the header announces.
TEST_F(GzippedIdx, IsRefusedWhenItInflatesToMoreThanAnnounced) {
  EXPECT_EQ(refusal(gzipped(idx_header(8, {10}) + std::string(50'000'000, '\0'))),
            "has more bytes than its header announces; fetch it again");
  EXPECT_EQ(refusal(gzipped(idx_header(8, {10, 20}) + "abc")),
            "ends after 3 of the 200 bytes of its uint8[10, 20]; fetch it again");
}

// So few compressed bytes cannot hold what the header announces: no memory is taken for it, also where there is enough.
TEST_F(GzippedIdx, IsRefusedWhenItIsTooShortForWhatItAnnounces) {
  EXPECT_TRUE(
      refusal(gzipped(idx_header(14, {20'000'000}))).starts_with("its float64[20000000] takes 152.6 MiB, more than "));
}

// 10 kB that are what their header announces, 10 MB.
TEST_F(GzippedIdx, TakesNoMoreMemoryThanItMay) {
  const std::string bomb = gzipped(idx_header(8, {10, 1000, 1000}) + std::string(10'000'000, '\0'));
  ASSERT_LT(bomb.size(), 20'000u);
  const auto read = [](const std::string& bytes, std::uint64_t most) {
    ByteFile file("bomb", std::as_bytes(std::span(bytes)), most);
    return read_idx(file);
  };
  EXPECT_EQ(read(bomb, 10'000'000).shape(), (Shape{10, 1000, 1000}));
  EXPECT_EQ(
      message([&] { read(bomb, 1'000'000); }),
      "bomb: its uint8[10, 1000, 1000] would take 9.5 MiB when it is decompressed, but a compressed file may take "
      "976.6 KiB here; decompress the file and read that, or read it where there is more memory");
  // A header that lies is found out before memory is taken, also where more is announced than any machine has.
  EXPECT_TRUE(message([&] {
                read(gzipped(idx_header(8, {3'000'000'000, 3'000'000'000})), 1'000'000);
              }).starts_with("bomb: its uint8[3000000000, 3000000000] would take 7.8 EiB"));
  // What is not compressed takes no more than the file on the disk.
  EXPECT_EQ(read(idx_header(8, {3}) + "abc", 1).shape(), (Shape{3}));
}

#else

TEST_F(Idx, SaysThatGzipIsNotBuiltIn) {
  EXPECT_EQ(refusal("\x1f\x8bnonsense"),
            "is gzipped, and this Pando was built without zlib; decompress it with gzip -d, or build Pando with "
            "zlib1g-dev");
}

#endif

}  // namespace
}  // namespace pando
