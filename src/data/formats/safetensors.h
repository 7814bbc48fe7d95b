// SPDX-License-Identifier: Apache-2.0
// Safetensors files: arrays by name, as Hugging Face's libraries read and write them.
#pragma once
#include <pando/base/array.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/byte_store.h"

namespace pando::data {

struct NamedArray {
  std::string name;
  Array array;
};

struct Safetensors {
  std::vector<NamedArray> tensors;
  // Texts about the file, by name.
  std::vector<std::pair<std::string, std::string>> metadata;
};

// float32, float64, bfloat16, int32, int64, uint8 and bool. All throw Error naming the file and the remedy. Memory
// grows only with the bytes that are really in the file, and every byte of it must belong to one array.
void write_safetensors(const std::string& path, const Safetensors& contents);
// The arrays in the order of the header.
Safetensors read_safetensors(const std::string& path);

// The texts alone.
std::vector<std::pair<std::string, std::string>> read_safetensors_metadata(const ByteStore& store);

// The same in memory; `name` takes the place of the path in messages.
Safetensors parse_safetensors(std::span<const std::byte> bytes, const std::string& name);
std::vector<std::byte> safetensors_bytes(const Safetensors& contents);

}  // namespace pando::data
