// SPDX-License-Identifier: Apache-2.0
// Files of savers: what a session kept, read field by field from a safetensors file.
#include "frontends/tf1/session_state.h"
#include "tests/fuzz/fuzz.h"

// What was read is written, and reads back as the same.
void pando::read_bytes(std::span<const std::byte> bytes) {
  const auto read = [](std::span<const std::byte> file) {
    return tf1::session_state_of(data::parse_safetensors(file, "input"), "input");
  };
  const auto write = [](const tf1::SessionState& state) { return data::safetensors_bytes(tf1::to_safetensors(state)); };
  const std::vector<std::byte> written = write(read(bytes));
  if (write(surely([&] { return read(written); })) != written)
    throw std::logic_error("what was written reads back as something else");
}
