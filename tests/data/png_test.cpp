// SPDX-License-Identifier: Apache-2.0
// PNG files of every kind are read as they are, and refused with the file, the problem and the remedy.
#include <pando/data/images.h>

#include <gtest/gtest.h>

#include <cmath>

#include "tests/data/png_bytes.h"
#include "tests/data/temporary_folder.h"
#include "tests/message.h"

namespace pando {
namespace {

using Bytes = std::vector<int>;

class Png : public testing::Test {
 protected:
  Array read(const std::string& bytes) { return data::read_png(folder.write("image.png", bytes)); }
  Bytes pixels(const PngParts& parts) {
    const Array image = read(png_file(parts));
    const std::uint8_t* begin = image.data<std::uint8_t>();
    return {begin, begin + image.elements()};
  }
  std::string refusal(const std::string& bytes) {
    const std::string path = folder.write("image.png", bytes);
    const std::string text = message([&] { data::read_png(path); });
    EXPECT_TRUE(text.starts_with(path + ": ")) << text;
    return text.substr(path.size() + 2);
  }

  TemporaryFolder folder;
};

#ifdef PANDO_WITH_ZLIB

std::string row(std::initializer_list<int> bytes) {
  std::string text;
  for (int byte : bytes) text += static_cast<char>(byte);
  return text;
}

TEST_F(Png, HasAnAxisForItsChannels) {
  EXPECT_EQ(read(grey_png(3, 2, "abcdef")).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(read(png_file({.kind = 4, .rows = row({0, 1, 2})})).shape(), (Shape{1, 1, 2}));
  EXPECT_EQ(read(png_file({.kind = 2, .rows = row({0, 1, 2, 3})})).shape(), (Shape{1, 1, 3}));
  EXPECT_EQ(read(png_file({.kind = 6, .rows = row({0, 1, 2, 3, 4})})).shape(), (Shape{1, 1, 4}));
  EXPECT_EQ(read(grey_png(3, 2, "abcdef")).dtype(), DType::uint8);
}

TEST_F(Png, SpreadsFewBitsOverTheWholeRange) {
  EXPECT_EQ(pixels({.width = 10, .bits = 1, .rows = row({0, 0b10110000, 0b01000000})}),
            (Bytes{255, 0, 255, 255, 0, 0, 0, 0, 0, 255}));
  EXPECT_EQ(pixels({.width = 5, .bits = 2, .rows = row({0, 0b00011011, 0b10000000})}), (Bytes{0, 85, 170, 255, 170}));
  EXPECT_EQ(pixels({.width = 3, .bits = 4, .rows = row({0, 0x0f, 0x70})}), (Bytes{0, 255, 119}));
}

TEST_F(Png, KeepsTheUpperOfSixteenBits) {
  EXPECT_EQ(pixels({.width = 2, .bits = 16, .rows = row({0, 1, 200, 255, 3})}), (Bytes{1, 255}));
  EXPECT_EQ(pixels({.bits = 16, .kind = 6, .rows = row({0, 1, 9, 2, 9, 3, 9, 4, 9})}), (Bytes{1, 2, 3, 4}));
}

TEST_F(Png, LooksColoursUpInThePalette) {
  const std::string palette = row({1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(pixels({.width = 2, .kind = 3, .rows = row({0, 2, 0}), .palette = palette}), (Bytes{7, 8, 9, 1, 2, 3}));
  EXPECT_EQ(pixels({.width = 3, .bits = 2, .kind = 3, .rows = row({0, 0b01100000}), .palette = palette}),
            (Bytes{4, 5, 6, 7, 8, 9, 1, 2, 3}));
  // A colour that it lacks is black.
  EXPECT_EQ(pixels({.kind = 3, .rows = row({0, 77}), .palette = palette}), (Bytes{0, 0, 0}));
}

// The five rows hold the same pixels, 10, 20, 30, 40, each with another filter.
TEST_F(Png, UndoesEveryFilter) {
  const std::string rows = row({0, 10, 20, 30, 40}) + row({1, 10, 10, 10, 10}) + row({2, 0, 0, 0, 0}) +
                           row({3, 5, 5, 5, 5}) + row({4, 0, 0, 0, 0});
  Bytes wanted;
  for (int i = 0; i < 5; ++i) wanted.insert(wanted.end(), {10, 20, 30, 40});
  EXPECT_EQ(pixels({.width = 4, .height = 5, .rows = rows}), wanted);
  // Neighbours are whole pixels to the left; sums wrap around.
  EXPECT_EQ(pixels({.width = 2, .kind = 2, .rows = row({1, 250, 1, 2, 10, 20, 30})}), (Bytes{250, 1, 2, 4, 21, 32}));
  // Of left, above and corner the nearest to left + above - corner: the corner.
  EXPECT_EQ(pixels({.width = 2, .height = 2, .rows = row({0, 50, 60}) + row({4, 246, 7})}), (Bytes{50, 60, 40, 57}));
}

int paeth_by_the_book(int a, int b, int c) {
  const int p = a + b - c, pa = std::abs(p - a), pb = std::abs(p - b), pc = std::abs(p - c);
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

// Encodes random rows of bytes as the specification says, and expects them back.
TEST_F(Png, ReadsBackWhatEveryFilterMakesOfNoise) {
  std::uint32_t state = 1;
  const auto noise = [&] { return static_cast<int>((state = state * 1664525 + 1013904223) >> 24); };
  constexpr int width = 7, height = 11, pixel = 4, size = width * pixel;
  Bytes raw(height * size);
  for (int& byte : raw) byte = noise();
  std::string rows;
  for (int i = 0; i < height; ++i) {
    const int filter = i % 5;
    rows += static_cast<char>(filter);
    for (int j = 0; j < size; ++j) {
      const int left = j < pixel ? 0 : raw[static_cast<std::size_t>(i * size + j - pixel)];
      const int above = i == 0 ? 0 : raw[static_cast<std::size_t>((i - 1) * size + j)];
      const int corner = i == 0 || j < pixel ? 0 : raw[static_cast<std::size_t>((i - 1) * size + j - pixel)];
      const int guess = filter == 0   ? 0
                        : filter == 1 ? left
                        : filter == 2 ? above
                        : filter == 3 ? (left + above) / 2
                                      : paeth_by_the_book(left, above, corner);
      rows += static_cast<char>(raw[static_cast<std::size_t>(i * size + j)] - guess);
    }
  }
  EXPECT_EQ(pixels({.width = width, .height = height, .kind = 6, .rows = rows}), raw);
}

// Which of the seven passes a pixel belongs to: the pattern of the specification.
constexpr const char* adam7[8] = {"16462646", "77777777", "56565656", "77777777",
                                  "36463646", "77777777", "56565656", "77777777"};

TEST_F(Png, PutsTheRowsOfInterlacedImagesWhereTheyBelong) {
  for (const auto& [width, height] : {std::pair<int, int>{8, 8}, {1, 1}, {13, 9}, {3, 5}, {5, 1}, {1, 7}}) {
    Bytes wanted;
    std::string rows;
    for (int i = 0; i < width * height; ++i) wanted.push_back(i % 251);
    for (char pass = '1'; pass <= '7'; ++pass)
      for (int i = 0; i < height; ++i) {
        std::string one;
        for (int j = 0; j < width; ++j)
          if (adam7[i % 8][j % 8] == pass) one += static_cast<char>(wanted[static_cast<std::size_t>(i * width + j)]);
        if (!one.empty()) rows += '\0' + one;
      }
    EXPECT_EQ(pixels({.width = static_cast<std::uint32_t>(width),
                      .height = static_cast<std::uint32_t>(height),
                      .interlaced = true,
                      .rows = rows}),
              wanted)
        << width << " x " << height;
  }
}

TEST_F(Png, MayHaveItsPixelsInSeveralChunksAndOthersBesides) {
  const std::string packed = zlib_stored(row({0, 1, 2, 3}));
  const std::string file = png_signature + png_chunk("IHDR", png_header({.width = 3})) + png_chunk("tEXt", "a\0b") +
                           png_chunk("IDAT", packed.substr(0, 5)) + png_chunk("IDAT", "") +
                           png_chunk("IDAT", packed.substr(5)) + png_chunk("tIME", "1234567") + png_chunk("IEND", "");
  EXPECT_EQ(read(file).shape(), (Shape{1, 3, 1}));
}

TEST_F(Png, RefusesRowsThatDoNotFitTheHeader) {
  EXPECT_EQ(refusal(png_file({.width = 3, .rows = row({0, 1, 2})})),
            "has fewer pixels than its header announces; fetch it again, or save it again as PNG");
  EXPECT_EQ(refusal(png_file({.width = 3, .rows = row({0, 1, 2, 3, 4})})),
            "has more pixels than its header announces; fetch it again, or save it again as PNG");
  EXPECT_EQ(refusal(png_file({.rows = row({5, 1})})),
            "has rows with a filter that PNG does not have; fetch it again, or save it again as PNG");
}

TEST_F(Png, RefusesDamagedPixels) {
  std::string packed = zlib_stored(row({0, 1, 2, 3}));
  const auto with = [&](const std::string& data) {
    return png_signature + png_chunk("IHDR", png_header({.width = 3})) + png_chunk("IDAT", data) +
           png_chunk("IEND", "");
  };
  const std::string damaged = "the compressed pixels are damaged; fetch it again, or save it again as PNG";
  EXPECT_EQ(refusal(with(packed.substr(0, packed.size() - 1))), damaged);
  EXPECT_EQ(refusal(with("nonsense")), damaged);
  packed.back() ^= 1;
  EXPECT_EQ(refusal(with(packed)), damaged);
}

// A header that announces much costs nothing: memory grows with what is really there.
TEST_F(Png, DoesNotBelieveHugeSizes) {
  EXPECT_EQ(refusal(png_file({.width = 8192, .height = 8192, .bits = 16, .kind = 6, .rows = row({0, 1})})),
            "has fewer pixels than its header announces; fetch it again, or save it again as PNG");
}

TEST_F(Png, NoticesEveryFlippedBitAndEveryTruncation) {
  const std::string whole = png_file({.width = 3, .height = 2, .rows = row({0, 1, 2, 3}) + row({1, 4, 5, 6})});
  for (std::size_t i = 0; i < 8 * whole.size(); ++i) {
    std::string flipped = whole;
    flipped[i / 8] ^= static_cast<char>(1 << i % 8);
    EXPECT_THROW(read(flipped), Error) << "bit " << i;
  }
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(read(whole.substr(0, size)), Error) << size << " bytes";
}

#else

TEST_F(Png, SaysThatZlibIsNotBuiltIn) {
  EXPECT_EQ(refusal(grey_png(1, 1, "a")),
            "is compressed, and this Pando was built without zlib; build Pando with zlib1g-dev");
}

#endif

TEST_F(Png, RefusesWhatIsNoPngFile) {
  EXPECT_EQ(refusal(""), "is not a PNG image; convert it to PNG");
  EXPECT_EQ(refusal("\xff\xd8\xff\xe0 a photograph"), "is not a PNG image; convert it to PNG");
  EXPECT_EQ(refusal(png_signature), "ends too early; fetch it again, or save it again as PNG");
}

TEST_F(Png, RefusesAWrongHeader) {
  const std::string wrong = "has a kind of pixels that PNG does not have; fetch it again, or save it again as PNG";
  EXPECT_EQ(refusal(png_file({.bits = 3})), wrong);
  EXPECT_EQ(refusal(png_file({.bits = 16, .kind = 3})), wrong);
  EXPECT_EQ(refusal(png_file({.bits = 4, .kind = 2})), wrong);
  EXPECT_EQ(refusal(png_file({.kind = 5})), wrong);
  EXPECT_EQ(refusal(png_file({.kind = 7})), wrong);
  EXPECT_EQ(refusal(png_file({.width = 0})), "has 0 x 1 pixels; 1 to 67108864 are read; make it smaller");
  EXPECT_EQ(refusal(png_file({.width = 0xffffffff, .height = 0xffffffff})),
            "has 4294967295 x 4294967295 pixels; 1 to 67108864 are read; make it smaller");
}

TEST_F(Png, RefusesPartsThatAreMissingOrTooMany) {
  const std::string header = png_chunk("IHDR", png_header({})), end = png_chunk("IEND", "");
  const std::string rest = "; fetch it again, or save it again as PNG", pixels = png_chunk("IDAT", "");
  EXPECT_EQ(refusal(png_signature + end), "has no header" + rest);
  EXPECT_EQ(refusal(png_signature + pixels + header + end), "does not begin with its header" + rest);
  EXPECT_EQ(refusal(png_signature + header + header + end), "has a wrong header" + rest);
  EXPECT_EQ(refusal(png_signature + header + end), "has no pixels" + rest);
  EXPECT_EQ(refusal(png_signature + header + pixels + png_chunk("tEXt", "") + pixels + end),
            "has pixels in two places" + rest);
  EXPECT_EQ(refusal(png_signature + png_chunk("IHDR", png_header({.kind = 3})) + pixels + end),
            "has no palette" + rest);
  EXPECT_EQ(refusal(png_signature + header + png_chunk("PLTE", "ab") + end), "has a wrong palette" + rest);
  EXPECT_EQ(refusal(png_signature + header + png_chunk("ABCD", "") + end),
            "has a part that is not known; save it again as PNG");
}

}  // namespace
}  // namespace pando
