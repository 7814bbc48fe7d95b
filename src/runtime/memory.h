// SPDX-License-Identifier: Apache-2.0
// Memory: where the arenas, feeds and variables of devices are. The host has one, and a backend has its own or works in
// the host's. Kernels use pointers; everything above them names a Place.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace pando {

class Memory;

// Only its memory knows what the address means.
struct Place {
  Memory* memory = nullptr;
  std::uintptr_t address = 0;

  explicit operator bool() const { return memory != nullptr; }
  friend Place operator+(const Place& place, std::size_t bytes) { return {place.memory, place.address + bytes}; }
};

// A piece of memory, which it releases at its end. It keeps the memory alive.
class Allocation {
 public:
  Allocation() = default;
  // For implementations of Memory::allocate().
  Allocation(std::shared_ptr<Memory> memory, std::uintptr_t address, std::size_t bytes)
      : memory_(std::move(memory)), address_(address), bytes_(bytes) {}
  // A piece that someone else has allocated there. It is not released, but `owner` is kept as long.
  Allocation(std::shared_ptr<Memory> memory, std::uintptr_t address, std::shared_ptr<const void> owner)
      : memory_(std::move(memory)), address_(address), owner_(std::move(owner)), is_foreign_(true) {}
  Allocation(Allocation&& other) noexcept = default;
  Allocation& operator=(Allocation&& other) noexcept;
  ~Allocation();

  Place place() const { return {memory_.get(), address_}; }

 private:
  std::shared_ptr<Memory> memory_;
  std::uintptr_t address_ = 0;
  std::size_t bytes_ = 0;
  std::shared_ptr<const void> owner_;
  bool is_foreign_ = false;
};

// Any number of threads may use a memory, each with its own places.
class Memory : public std::enable_shared_from_this<Memory> {
 public:
  virtual ~Memory() = default;
  // Aligned as plan.h says; it may contain anything. Throws Error naming `what` the memory is for if there is not
  // enough.
  virtual Allocation allocate(std::size_t bytes, const std::string& what) = 0;
  virtual void set_zero(const Place& place, std::size_t bytes) = 0;
  virtual void write(const Place& to, const std::byte* from, std::size_t bytes) = 0;
  virtual void read(std::byte* to, const Place& from, std::size_t bytes) = 0;
  // Copies from a memory that the host cannot reach either: by default through the host.
  virtual void copy(const Place& to, const Place& from, std::size_t bytes);
  // Where the host finds a place of this memory, or null if it cannot reach it.
  virtual std::byte* host_pointer(const Place& place) const = 0;
  // Where kernels that work in this memory find a place of this or another one, or null if it must be copied for them.
  virtual std::byte* kernel_pointer(const Place& place) const = 0;

 private:
  friend class Allocation;
  virtual void release(std::uintptr_t address, std::size_t bytes) noexcept = 0;
};

// The memory of this process.
const std::shared_ptr<Memory>& host_memory();
// The place of something that the host has; programs only write to places of outputs.
Place host_place(const std::byte* data);
// Where the host finds the place, or null if it cannot reach it.
std::byte* host_pointer(const Place& place);
// Copies between any two memories.
void copy_bytes(const Place& to, const Place& from, std::size_t bytes);

}  // namespace pando
