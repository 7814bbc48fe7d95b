// SPDX-License-Identifier: Apache-2.0
// Zeroing touches all memory once, so that no step has to wait until the system finds it. Large pages make that
// cheaper; they are used if rounding up to them adds little.
#include "runtime/memory.h"

#include <pando/base/error.h>

#include <fmt/format.h>

#include <cstring>
#include <new>
#include <utility>

#include "base/machine/large_pages.h"
#include "base/machine/usable_memory.h"
#include "base/text.h"
#include "plan/plan.h"

namespace pando {

namespace {

// Whether rounding up to whole large pages, as their alignment does, adds an eighth at most.
bool suits_large_pages(std::size_t bytes) {
  const std::size_t rest = bytes % large_page;
  return bytes >= large_page && (rest == 0 || (large_page - rest) * 8 <= bytes);
}

template <std::size_t alignment>
constexpr std::align_val_t aligned{alignment};

class HostMemory final : public Memory {
 public:
  Allocation allocate(std::size_t bytes, const std::string& what) override {
    void* data = nullptr;
    // Linux grants more memory than there is and ends the process later.
    if (bytes <= usable_memory())
      data = suits_large_pages(bytes) ? ::operator new(bytes, aligned<large_page>, std::nothrow)
                                      : ::operator new(bytes == 0 ? 1 : bytes, aligned<buffer_alignment>, std::nothrow);
    if (data == nullptr)
      throw Error(
          fmt::format("cannot allocate {} for {}; use a smaller batch or a smaller model", bytes_text(bytes), what));
    use_large_pages(data, bytes);
    // The system takes memory from the node of the core that touches it first: that of the tile which uses it, or else
    // of this thread, which spares small programs the wait.
    if (bytes < large_page) std::memset(data, 0, bytes);
    return {shared_from_this(), reinterpret_cast<std::uintptr_t>(data), bytes};
  }
  void set_zero(const Place& place, std::size_t bytes) override { std::memset(pointer(place), 0, bytes); }
  void write(const Place& to, const std::byte* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(pointer(to), from, bytes);
  }
  void read(std::byte* to, const Place& from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, pointer(from), bytes);
  }
  std::byte* host_pointer(const Place& place) const override { return pointer(place); }
  std::byte* kernel_pointer(const Place& place) const override { return pando::host_pointer(place); }

 private:
  static std::byte* pointer(const Place& place) { return reinterpret_cast<std::byte*>(place.address); }
  void release(std::uintptr_t address, std::size_t bytes) noexcept override {
    void* data = reinterpret_cast<void*>(address);
    if (suits_large_pages(bytes)) ::operator delete(data, aligned<large_page>);
    else ::operator delete(data, aligned<buffer_alignment>);
  }
};

}  // namespace

Allocation& Allocation::operator=(Allocation&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  std::swap(owner_, other.owner_);
  std::swap(is_foreign_, other.is_foreign_);
  return *this;
}

Allocation::~Allocation() {
  if (memory_ && !is_foreign_) memory_->release(address_, bytes_);
}

void Memory::copy(const Place& to, const Place& from, std::size_t bytes) {
  const std::unique_ptr<std::byte[]> buffer(new std::byte[bytes]);
  from.memory->read(buffer.get(), from, bytes);
  write(to, buffer.get(), bytes);
}

const std::shared_ptr<Memory>& host_memory() {
  // It is never destroyed, because objects that live until the end of the process may release memory last.
  static const auto& memory = *new std::shared_ptr<Memory>(std::make_shared<HostMemory>());
  return memory;
}

Place host_place(const std::byte* data) { return {host_memory().get(), reinterpret_cast<std::uintptr_t>(data)}; }

std::byte* host_pointer(const Place& place) { return place.memory->host_pointer(place); }

void copy_bytes(const Place& to, const Place& from, std::size_t bytes) {
  if (std::byte* host = host_pointer(to)) from.memory->read(host, from, bytes);
  else if (const std::byte* data = host_pointer(from)) to.memory->write(to, data, bytes);
  else to.memory->copy(to, from, bytes);
}

}  // namespace pando
