// IDX files: the format of MNIST.
#pragma once
#include <pando/array.h>

namespace pando {

// Reads uint8, int32, float32 and float64, plain or gzipped. Throws Error, naming the file, what is wrong with it and
// the remedy; a size that the header announces is never trusted with memory.
Array read_idx(const std::string& path);

}  // namespace pando
