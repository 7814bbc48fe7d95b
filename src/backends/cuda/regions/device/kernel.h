// SPDX-License-Identifier: Apache-2.0
// What begins the source of a kernel: PANDO_KERNEL(name, number of pointers) { body }, in which `t` is the thread,
// `p.at` are the pointers, `cluster` is the number of the cluster, and of the block if a cluster has one. Before it, or
// in other sources, are functions that it calls, PANDO_FUNCTION void name(parameters) { PANDO_THIS_THREAD body }.
#pragma once
#include "backends/cuda/kernels/update_rules.h"
#include "backends/cuda/regions/device/casts.h"
#include "backends/cuda/regions/device/images.h"
#include "backends/cuda/regions/device/pooled_images.h"
#include "backends/cuda/regions/device/rows.h"
#include "backends/cuda/regions/device/updates.h"
#include "base/philox.h"

// Where a recorded step reads the clock. A source that defines PANDO_MARKED takes one pointer more, to its marks:
// PANDO_MARKS(condition, first) says where those of a scope begin, PANDO_MARK(number) is one of them. The first thread
// of a cluster writes them if the condition is true. Functions take PANDO_MARKS_PARAMETER after their parameters. In
// other sources nothing is left of all this.
#ifdef PANDO_MARKED
#define PANDO_MARKS(is_marked, first) \
  unsigned long long* const marks = (is_marked) && is_first(t) ? p.marks + (first) : nullptr;
#define PANDO_MARK(number) \
  if (marks != nullptr) marks[number] = read_clock();
#define PANDO_MARKS_PARAMETER , unsigned long long* marks
#define PANDO_MARKS_ARGUMENT , marks
#else
#define PANDO_MARKS(is_marked, first)
#define PANDO_MARK(number)
#define PANDO_MARKS_PARAMETER
#define PANDO_MARKS_ARGUMENT
#endif

namespace pando::region {

template <int count>
struct KernelPointers {
  char* at[count];
#ifdef PANDO_MARKED
  unsigned long long* marks;
#endif
};

}  // namespace pando::region

using namespace pando;
using namespace pando::region;

#ifdef PANDO_EMULATED

template <int count>
void take_pointers(KernelPointers<count>& p, char* const* pointers) {
  for (int i = 0; i < count; ++i) p.at[i] = pointers[i];
#ifdef PANDO_MARKED
  p.marks = reinterpret_cast<unsigned long long*>(pointers[count]);
#endif
}
thread_local unsigned char* pando::region::emulated_memory[pando::region::ranks];
thread_local bool pando::region::emulated_backwards;
thread_local unsigned long long pando::region::emulated_clock;
#define PANDO_BLOCK_VALUE static thread_local
#define PANDO_FUNCTION static
// Each phase runs all threads.
#define PANDO_THIS_THREAD Thread t{};
using Address = char*;
inline Address address_of(char* pointer) { return pointer; }
inline char* pointer_to(Address address) { return address; }
// Runs one cluster; blocks have `bytes` of shared memory each.
#define PANDO_KERNEL(name, count)                                                                              \
  static void name##_body(const KernelPointers<count>& p, int cluster, Thread& t);                             \
  extern "C" void name(char* const* pointers, int cluster, unsigned char* memory, int bytes, bool backwards) { \
    for (int rank = 0; rank < ranks; ++rank) emulated_memory[rank] = memory + rank * bytes;                    \
    emulated_backwards = backwards;                                                                            \
    KernelPointers<count> p;                                                                                   \
    take_pointers(p, pointers);                                                                                \
    Thread t{};                                                                                                \
    name##_body(p, cluster, t);                                                                                \
  }                                                                                                            \
  static void name##_body(const KernelPointers<count>& p, int cluster, Thread& t)

#else

#define PANDO_BLOCK_VALUE __shared__
#define PANDO_FUNCTION extern "C" __device__ __noinline__
// A function asks for it again: of a parameter the compiler would not know that it is not negative.
#define PANDO_THIS_THREAD const Thread t{static_cast<int>(threadIdx.x), static_cast<int>(blockIdx.x) % ranks};
// What functions take instead of a pointer: it says that the memory is global, as that of a kernel's pointers is.
using Address = unsigned long long;
PANDO_DEVICE Address address_of(char* pointer) { return __cvta_generic_to_global(pointer); }
PANDO_DEVICE char* pointer_to(Address address) { return static_cast<char*>(__cvta_global_to_generic(address)); }
#define PANDO_KERNEL(name, count)                                                              \
  PANDO_DEVICE void name##_body(const KernelPointers<count>& p, int cluster, const Thread& t); \
  extern "C" __global__ void __launch_bounds__(PANDO_THREADS, 1)                               \
      name(const __grid_constant__ KernelPointers<count> p) {                                  \
    PANDO_THIS_THREAD                                                                          \
    name##_body(p, static_cast<int>(blockIdx.x) / ranks, t);                                   \
  }                                                                                            \
  PANDO_DEVICE void name##_body(const KernelPointers<count>& p, int cluster, const Thread& t)

#endif
