// Memory for arenas, feeds and variables.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

namespace pando {

using HostMemory = std::unique_ptr<std::byte[], void (*)(std::byte*)>;

// Zeroed, aligned to a cache line. Throws Error naming `what` the memory is for if it is more than the machine has or
// can give.
HostMemory allocate_host_memory(std::size_t bytes, const std::string& what);

}  // namespace pando
