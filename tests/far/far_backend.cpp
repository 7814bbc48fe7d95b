// SPDX-License-Identifier: Apache-2.0
#include "tests/far/far_backend.h"

#include <pando/base/error.h>

#include <cstring>
#include <new>

#include "program/backends.h"

namespace pando {

namespace {

constexpr std::uintptr_t wrong_bits = std::uintptr_t{0x5a5a} << 48;
// As float32 and float64 it is not a number; as an integer it is negative.
constexpr int poison = 0xff;
constexpr std::align_val_t alignment{buffer_alignment};

const bool registered = [] {
  register_backend("far", [](const DeviceOptions& options) {
    return std::make_unique<FarBackend>(options.tiles, options.instruction_set);
  });
  return true;
}();

}  // namespace

Allocation FarMemory::allocate(std::size_t bytes, const std::string& what) {
  // The host's memory has the limits, and the message for what goes beyond them.
  host_memory()->allocate(bytes, what);
  void* data = ::operator new(bytes == 0 ? 1 : bytes, alignment);
  std::memset(data, poison, bytes);
  return {shared_from_this(), reinterpret_cast<std::uintptr_t>(data) ^ wrong_bits, bytes};
}

void FarMemory::release(std::uintptr_t address, std::size_t bytes) noexcept {
  void* data = reinterpret_cast<void*>(address ^ wrong_bits);
  std::memset(data, poison, bytes);
  ::operator delete(data, alignment);
}

std::byte* FarMemory::pointer(const Place& place) const {
  if (place.memory != this) throw InternalError("a far memory was asked for a place of another memory");
  return reinterpret_cast<std::byte*>(place.address ^ wrong_bits);
}

std::byte* FarMemory::kernel_pointer(const Place& place) const {
  return place.memory == this ? pointer(place) : nullptr;
}

void FarMemory::set_zero(const Place& place, std::size_t bytes) { std::memset(pointer(place), 0, bytes); }

void FarMemory::write(const Place& to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(pointer(to), from, bytes);
}

void FarMemory::read(std::byte* to, const Place& from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, pointer(from), bytes);
}

}  // namespace pando
