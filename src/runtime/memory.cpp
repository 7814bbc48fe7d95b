#include "runtime/memory.h"

#include <pando/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "base/text.h"
#include "plan/plan.h"

namespace pando {

namespace {

constexpr std::align_val_t alignment{buffer_alignment};

// Linux hands out more than there is and ends the process later; asking for more than all of it is refused here.
std::size_t physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : SIZE_MAX;
}

}  // namespace

HostMemory allocate_host_memory(std::size_t bytes, const std::string& what) {
  void* memory = bytes <= physical_memory() ? ::operator new(bytes == 0 ? 1 : bytes, alignment, std::nothrow) : nullptr;
  if (memory == nullptr)
    throw Error(
        fmt::format("cannot allocate {} for {}; use a smaller batch or a smaller model", bytes_text(bytes), what));
  std::memset(memory, 0, bytes);
  return {static_cast<std::byte*>(memory), [](std::byte* data) { ::operator delete(data, alignment); }};
}

}  // namespace pando
