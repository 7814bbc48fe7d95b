// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "io/json.h"
#include "tests/fuzz/fuzz.h"

// What was read is written, and reads back as the same.
void pando::read_bytes(std::span<const std::byte> bytes) {
  const std::string text = Json::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "input").text(2);
  if (surely([&] { return Json::parse(text, "output"); }).text(2) != text)
    throw std::logic_error("what was written reads back as something else");
}
