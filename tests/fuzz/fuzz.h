// SPDX-License-Identifier: Apache-2.0
// What every fuzzer of a reader does: a file is read, or refused with an Error; anything else is a bug.
#pragma once
#include <pando/base/error.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

namespace pando {

// Defined by each fuzzer: reads `bytes` as a file.
void read_bytes(std::span<const std::byte> bytes);

// Checks what must succeed once a file was read.
template <class Call>
auto surely(Call call) {
  try {
    return call();
  } catch (const Error& error) {
    throw std::logic_error(error.what());
  }
}

}  // namespace pando

extern "C" inline __attribute__((used)) int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    pando::read_bytes(std::as_bytes(std::span(data, size)));
  } catch (const pando::Error&) {
  }
  return 0;
}
