// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "frontends/keras/files/memory_limit.h"
#include "frontends/keras/files/model_json.h"
#include "tests/fuzz/fuzz.h"

// A model that was read is written, and reads back as the same.
void pando::read_bytes(std::span<const std::byte> bytes) {
  const auto read = [](std::string_view text, std::uint64_t memory) {
    const keras::MemoryLimit limit(memory);
    return keras::read_model(Json::parse(text, "input"), "input");
  };
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string written = keras::model_json(read(text, 1 << 20)).text();
  if (surely([&] { return keras::model_json(read(written, 1 << 21)).text(); }) != written)
    throw std::logic_error("what was written reads back as something else");
}
