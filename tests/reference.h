// SPDX-License-Identifier: Apache-2.0
// Arrays that a make_reference.py stored, and the numbers that it starts from.
#pragma once
#include <pando/data/files.h>

#include <map>

namespace pando {

// An array of the file, which is read once for all calls with it.
inline Array read_reference(const std::string& path, const std::string& name) {
  static std::map<std::string, std::map<std::string, Array>> files;
  auto file = files.find(path);
  if (file == files.end()) file = files.emplace(path, data::read_npz(path)).first;
  const auto found = file->second.find(name);
  if (found == file->second.end())
    throw Error("reference.npz has no array '" + name + "'; run make_reference.py again");
  return found->second;
}

// The numbers in [-1, 1) of make_reference.py.
inline Array hashed(std::uint32_t number, const Shape& shape, double scale = 1.0, double offset = 0.0) {
  Array array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    std::uint32_t h = static_cast<std::uint32_t>(i) * 2654435761u + number * 40503u * 65537u + 271u;
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    h *= 3266489917u;
    h ^= h >> 16;
    const double u = static_cast<double>(h >> 8) / 16777216.0;
    array.mutable_data<float>()[i] = static_cast<float>((2 * u - 1) * scale + offset);
  }
  return array;
}

}  // namespace pando
