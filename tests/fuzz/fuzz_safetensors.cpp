// SPDX-License-Identifier: Apache-2.0
#include "data/formats/safetensors.h"
#include "tests/fuzz/fuzz.h"

// What was read is written, and reads back as the same arrays.
void pando::read_bytes(std::span<const std::byte> bytes) {
  const data::Safetensors contents = data::parse_safetensors(bytes, "input");
  const std::vector<std::byte> written = surely([&] { return data::safetensors_bytes(contents); });
  const data::Safetensors back = surely([&] { return data::parse_safetensors(written, "output"); });
  if (data::safetensors_bytes(back) != written) throw std::logic_error("what was written reads back as something else");
}
