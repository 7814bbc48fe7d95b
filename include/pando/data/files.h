// Files of arrays: IDX, the format of MNIST; NPY and NPZ, those of NumPy; PNG images.
#pragma once
#include <pando/base/array.h>

#include <map>
#include <string>

// All functions throw Error if a file is wrong, naming the file, the problem and the remedy. Memory is never allocated
// just because a file announces a size. A new file is written next to the old one and then replaces it, so a full disk
// or a crash leaves the old file whole.
namespace pando::data {

// uint8, int32, float32 and float64; gzipped files are read too, and written if the path ends in .gz.
PANDO_API Array read_idx(const std::string& path);
PANDO_API void write_idx(const std::string& path, const Array& array);

// float32, float64, int32, int64, uint8 and bool, of version 1 and 2, little-endian, in C order; gzipped as IDX files.
PANDO_API Array read_npy(const std::string& path);
PANDO_API void write_npy(const std::string& path, const Array& array);

// What numpy.savez and numpy.savez_compressed write: arrays as in NPY files, by name. Writes them as savez does.
PANDO_API std::map<std::string, Array> read_npz(const std::string& path);
PANDO_API void write_npz(const std::string& path, const std::map<std::string, Array>& arrays);

// An image as uint8 [height, width, channels]: grey (1 channel), grey and alpha (2), red, green, blue (3), and alpha
// (4). Palettes become colours; 16-bit values keep their upper 8 bits; values of fewer than 8 bits are scaled to 0 to
// 255. Needs zlib.
PANDO_API Array read_png(const std::string& path);

}  // namespace pando::data
