// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/regions/runtime_linker.h"

#include <pando/base/error.h>

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "backends/cuda/opened_library.h"

namespace pando::cuda {

namespace {

// What is used of nvJitLink, whose header need not be there when Pando is built.
struct NvJitLink {
  using Handle = void*;
  // The kind of input that NVRTC makes for an architecture.
  static constexpr int cubin = 1;
  int (*create)(Handle*, std::uint32_t, const char**) = nullptr;
  int (*add)(Handle, int, const void*, std::size_t, const char*) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*size)(Handle, std::size_t*) = nullptr;
  int (*get)(Handle, void*) = nullptr;
  int (*log_size)(Handle, std::size_t*) = nullptr;
  int (*log)(Handle, char*) = nullptr;
  int (*destroy)(Handle*) = nullptr;
  int (*version)(unsigned*, unsigned*) = nullptr;
  bool is_whole = false;
};

NvJitLink find_linker() {
  OpenedLibrary library(
      {"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so", "/usr/local/cuda/lib64/libnvJitLink.so"});
  NvJitLink found;
  library.find("nvJitLinkCreate", found.create);
  library.find("nvJitLinkAddData", found.add);
  library.find("nvJitLinkComplete", found.complete);
  library.find("nvJitLinkGetLinkedCubinSize", found.size);
  library.find("nvJitLinkGetLinkedCubin", found.get);
  library.find("nvJitLinkGetErrorLogSize", found.log_size);
  library.find("nvJitLinkGetErrorLog", found.log);
  library.find("nvJitLinkDestroy", found.destroy);
  library.find("nvJitLinkVersion", found.version);
  found.is_whole = library.missing().empty();
  return found;
}
const NvJitLink& linker() {
  static const NvJitLink found = find_linker();
  return found;
}

}  // namespace

bool has_linker(int nvrtc_major, int nvrtc_minor) {
  if (!linker().is_whole) return false;
  unsigned major = 0, minor = 0;
  linker().version(&major, &minor);
  return std::pair(static_cast<int>(major), static_cast<int>(minor)) >= std::pair(nvrtc_major, nvrtc_minor);
}

std::string link(const std::vector<std::string>& parts, int architecture) {
  const std::string target = fmt::format("-arch=sm_{}", architecture);
  const char* options[] = {target.c_str()};
  NvJitLink::Handle handle = nullptr;
  if (linker().create(&handle, 1, options) != 0) throw InternalError("nvJitLink cannot begin");
  const std::unique_ptr<NvJitLink::Handle, void (*)(NvJitLink::Handle*)> owner(
      &handle, [](NvJitLink::Handle* h) { linker().destroy(h); });
  bool failed = false;
  for (const std::string& part : parts)
    failed = failed || linker().add(handle, NvJitLink::cubin, part.data(), part.size(), "part of a region") != 0;
  failed = failed || linker().complete(handle) != 0;
  std::size_t size = 0;
  if (failed) {
    linker().log_size(handle, &size);
    std::string log(size, '\0');
    linker().log(handle, log.data());
    throw InternalError(fmt::format("nvJitLink refuses the parts of a region:\n{}", log));
  }
  linker().size(handle, &size);
  std::string bytes(size, '\0');
  linker().get(handle, bytes.data());
  return bytes;
}

}  // namespace pando::cuda
