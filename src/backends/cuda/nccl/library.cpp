// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/nccl/library.h"

#include <pando/base/error.h>

#include <fmt/format.h>

#include "backends/cuda/nccl/program.h"
#include "backends/cuda/opened_library.h"

namespace pando::cuda {

namespace {

Nccl open() {
  Nccl found;
  OpenedLibrary library({"libnccl.so.2"});
  if (!library.is_open()) {
    found.problem = "libnccl.so.2 is missing; install NCCL (libnccl2 of NVIDIA), or add its folder to LD_LIBRARY_PATH";
    return found;
  }
  library.find("ncclGetVersion", found.get_version);
  library.find("ncclGetUniqueId", found.get_unique_id);
  library.find("ncclCommInitRank", found.comm_init_rank);
  library.find("ncclCommAbort", found.comm_abort);
  library.find("ncclCommGetAsyncError", found.comm_get_async_error);
  library.find("ncclGetErrorString", found.get_error_string);
  library.find("ncclGetLastError", found.get_last_error);
  library.find("ncclAllGather", found.all_gather);
  library.find("ncclSend", found.send);
  library.find("ncclRecv", found.recv);
  library.find("ncclGroupStart", found.group_start);
  library.find("ncclGroupEnd", found.group_end);
  if (!library.missing().empty())
    found.problem = fmt::format("libnccl.so.2 has no {}; install NCCL 2.13 or later", library.missing());
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
