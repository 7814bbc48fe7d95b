// SPDX-License-Identifier: Apache-2.0
// JPEG files byte by byte, written from the specification: baseline images whose blocks of 8 x 8 pixels have one value
// each, which decoders must give back exactly.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace pando {

struct JpegParts {
  int width = 8, height = 8;
  // 1 is grey, 3 red, green, blue, 4 the colours of printers.
  int channels = 1;
  // The value of each block, row by row, the channels of a block one after the other.
  std::vector<int> blocks = {};
};

inline std::string jpeg_segment(char marker, const std::string& data) {
  const std::size_t size = data.size() + 2;
  return std::string("\xff") + marker + static_cast<char>(size >> 8) + static_cast<char>(size) + data;
}

// Bits, the first one being the highest of its byte. A byte of ones is followed by a zero.
class JpegBits {
 public:
  void add(unsigned value, int count) {
    for (int i = count - 1; i >= 0; --i) {
      byte_ = byte_ << 1 | (value >> i & 1);
      if (++filled_ == 8) flush();
    }
  }
  std::string padded() {
    while (filled_ > 0) add(1, 1);
    return bytes_;
  }

 private:
  void flush() {
    bytes_ += static_cast<char>(byte_);
    if ((byte_ & 0xff) == 0xff) bytes_ += '\0';
    byte_ = 0;
    filled_ = 0;
  }
  std::string bytes_;
  unsigned byte_ = 0;
  int filled_ = 0;
};

// The difference to the block before, as a number of bits (a code of four bits) and those bits; then the end of the
// block (a code of one bit), because all other coefficients are zero.
inline std::string jpeg_scan(const JpegParts& parts) {
  JpegBits bits;
  std::vector<int> before(static_cast<std::size_t>(parts.channels));
  for (std::size_t i = 0; i < parts.blocks.size(); ++i) {
    int& last = before[i % before.size()];
    // A step of 8 is one step of a pixel's value.
    const int value = parts.blocks[i] - 128, difference = value - last;
    last = value;
    int size = 0;
    while (std::abs(difference) >> size != 0) ++size;
    bits.add(static_cast<unsigned>(size), 4);
    bits.add(static_cast<unsigned>(difference > 0 ? difference : difference + (1 << size) - 1), size);
    bits.add(0, 1);
  }
  return bits.padded();
}

inline std::string jpeg_file(const JpegParts& parts) {
  const char channels = static_cast<char>(parts.channels);
  std::string components, selectors;
  for (char i = 1; i <= channels; ++i) {
    components += std::string{i, '\x11', '\0'};
    selectors += std::string{i, '\0'};
  }
  const std::string size = {static_cast<char>(parts.height >> 8), static_cast<char>(parts.height),
                            static_cast<char>(parts.width >> 8), static_cast<char>(parts.width)};
  const std::string lengths_of_4 = std::string("\0\0\0\x0c", 4) + std::string(12, '\0');
  const std::string length_of_1 = "\x01" + std::string(15, '\0');
  return std::string("\xff\xd8") +
         // The colours are stored as they are, instead of as brightness and differences.
         jpeg_segment('\xee', std::string("Adobe\0\x64\0\0\0\0\0", 12)) +
         jpeg_segment('\xdb', '\0' + std::string(64, '\x08')) +
         jpeg_segment('\xc0', '\x08' + size + channels + components) +
         jpeg_segment('\xc4', '\0' + lengths_of_4 + std::string("\0\1\2\3\4\5\6\7\10\11\12\13", 12)) +
         jpeg_segment('\xc4', '\x10' + length_of_1 + std::string(1, '\0')) +
         jpeg_segment('\xda', channels + selectors + std::string("\0\x3f\0", 3)) + jpeg_scan(parts) + "\xff\xd9";
}

}  // namespace pando
