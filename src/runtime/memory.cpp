// Zeroing touches all memory once, so that no step has to wait until the system finds it. Large pages make that
// cheaper; they are used if rounding up to them adds little.
#include "runtime/memory.h"

#include <pando/base/error.h>

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "base/large_pages.h"
#include "base/text.h"
#include "plan/plan.h"

namespace pando {

namespace {

// Linux grants more memory than there is and ends the process later, so a request for more than the machine has is
// refused here.
std::size_t physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : SIZE_MAX;
}

// Whether rounding up to whole large pages, as their alignment does, adds an eighth at most.
bool suits_large_pages(std::size_t bytes) {
  const std::size_t rest = bytes % large_page;
  return bytes >= large_page && (rest == 0 || (large_page - rest) * 8 <= bytes);
}

template <std::size_t alignment>
HostMemory allocate(std::size_t bytes) {
  constexpr std::align_val_t aligned{alignment};
  return {static_cast<std::byte*>(::operator new(bytes, aligned, std::nothrow)),
          [](std::byte* data) { ::operator delete(data, aligned); }};
}

}  // namespace

HostMemory allocate_host_memory(std::size_t bytes, const std::string& what) {
  HostMemory memory(nullptr, nullptr);
  if (bytes <= physical_memory())
    memory =
        suits_large_pages(bytes) ? allocate<large_page>(bytes) : allocate<buffer_alignment>(bytes == 0 ? 1 : bytes);
  if (memory == nullptr)
    throw Error(
        fmt::format("cannot allocate {} for {}; use a smaller batch or a smaller model", bytes_text(bytes), what));
  use_large_pages(memory.get(), bytes);
  std::memset(memory.get(), 0, bytes);
  return memory;
}

}  // namespace pando
