// NPY files: NumPy's arrays.
#pragma once
#include <pando/array.h>

namespace pando {

// Reads versions 1 and 2, little-endian, C order, of float32, float64, int32, int64, uint8 and bool, plain or gzipped.
// Throws Error, naming the file, what is wrong with it and the remedy.
Array read_npy(const std::string& path);

}  // namespace pando
