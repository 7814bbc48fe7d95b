// SPDX-License-Identifier: Apache-2.0
// What Pando uses of NCCL. It opens the library when workers need it: Pando is built without its header and library,
// and programs run without it.
#pragma once
#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <string>

namespace pando::cuda {

// The names are those of nccl.h, without "nccl". Codes are its ncclResult_t, whose 0 is success; types of numbers are
// its ncclDataType_t.
struct Nccl {
  using Comm = void*;
  struct UniqueId {
    std::array<char, 128> bytes = {};
  };
  static constexpr int in_progress = 7;
  static constexpr int type_of_bytes = 1;

  int (*get_version)(int*) = nullptr;
  int (*get_unique_id)(UniqueId*) = nullptr;
  int (*comm_init_rank)(Comm*, int, UniqueId, int) = nullptr;
  int (*comm_abort)(Comm) = nullptr;
  int (*comm_get_async_error)(Comm, int*) = nullptr;
  const char* (*get_error_string)(int) = nullptr;
  const char* (*get_last_error)(Comm) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int, Comm, cudaStream_t) = nullptr;
  int (*send)(const void*, std::size_t, int, int, Comm, cudaStream_t) = nullptr;
  int (*recv)(void*, std::size_t, int, int, Comm, cudaStream_t) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  // As NCCL counts them: 2.28.3 is 22803.
  int version = 0;
  // Why it cannot be used, with the remedy; empty if it can.
  std::string problem = {};

  // Throws Error unless the code is success. `what` was tried: "to connect the GPUs". The communicator may be null.
  void check(int code, const char* what, Comm comm = nullptr) const;
};

// Looks once for a process.
const Nccl& nccl();

}  // namespace pando::cuda
