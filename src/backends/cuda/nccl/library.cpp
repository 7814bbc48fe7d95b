// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/nccl/library.h"

#include <dlfcn.h>
#include <pando/base/error.h>

#include <fmt/format.h>

#include "backends/cuda/nccl/program.h"

namespace pando::cuda {

namespace {

template <class Function>
void find(void* library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr && missing.empty()) missing = name;
}

Nccl open() {
  Nccl found;
  void* library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    found.problem = "libnccl.so.2 is missing; install NCCL (libnccl2 of NVIDIA), or add its folder to LD_LIBRARY_PATH";
    return found;
  }
  std::string missing;
  find(library, "ncclGetVersion", found.get_version, missing);
  find(library, "ncclGetUniqueId", found.get_unique_id, missing);
  find(library, "ncclCommInitRank", found.comm_init_rank, missing);
  find(library, "ncclCommAbort", found.comm_abort, missing);
  find(library, "ncclCommGetAsyncError", found.comm_get_async_error, missing);
  find(library, "ncclGetErrorString", found.get_error_string, missing);
  find(library, "ncclGetLastError", found.get_last_error, missing);
  find(library, "ncclAllGather", found.all_gather, missing);
  find(library, "ncclSend", found.send, missing);
  find(library, "ncclRecv", found.recv, missing);
  find(library, "ncclGroupStart", found.group_start, missing);
  find(library, "ncclGroupEnd", found.group_end, missing);
  if (!missing.empty()) found.problem = fmt::format("libnccl.so.2 has no {}; install NCCL 2.13 or later", missing);
  else if (found.get_version(&found.version) != 0) found.problem = "NCCL does not tell its version; install it again";
  return found;
}

}  // namespace

const Nccl& nccl() {
  static const auto& found = *new Nccl(open());
  return found;
}

std::string why_no_nccl() { return nccl().problem; }

std::string version_of_nccl() {
  const int version = nccl().version;
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

void Nccl::check(int code, const char* what, Comm comm) const {
  if (code == 0 || code == in_progress) return;
  const char* last = get_last_error(comm);
  const std::string more = last == nullptr || *last == 0 ? "" : fmt::format(" ({})", last);
  const bool is_shared = more.find("Duplicate GPU") != std::string::npos;
  throw Error(fmt::format("NCCL failed {}: {}{}; {}", what, get_error_string(code), more,
                          is_shared ? "start at most as many workers on a machine as it has GPUs, or give each its own "
                                      "with CUDA_VISIBLE_DEVICES"
                                    : "NCCL_DEBUG=WARN makes it say more"));
}

}  // namespace pando::cuda
