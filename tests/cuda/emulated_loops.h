// SPDX-License-Identifier: Apache-2.0
// What regions/device/gpu.h has, for the host: a phase is a loop over all threads of a cluster, in one order or the
// other. A phase that reads what it writes gives different results.
#pragma once
#include <cstring>

#define PANDO_DEVICE inline
#define PANDO_UNROLL
#define PANDO_PHASE(...) run_phase(t, [&] { __VA_ARGS__; });
#define PANDO_OWN_BARRIER
#define PANDO_CLUSTER_BARRIER
#define PANDO_BLOCK_VALUE static thread_local
#define PANDO_FUNCTION static
// Each phase runs all threads.
#define PANDO_THIS_THREAD Thread t{};
// Runs one cluster; blocks have `bytes` of shared memory each.
#define PANDO_KERNEL(name, count)                                                                              \
  static void name##_body(const KernelPointers<count>& p, int cluster, Thread& t);                             \
  extern "C" void name(char* const* pointers, int cluster, unsigned char* memory, int bytes, bool backwards) { \
    for (int rank = 0; rank < ranks; ++rank) emulated_memory[rank] = memory + rank * bytes;                    \
    emulated_backwards = backwards;                                                                            \
    KernelPointers<count> p;                                                                                   \
    std::memcpy(&p, pointers, sizeof p);                                                                       \
    Thread t{};                                                                                                \
    name##_body(p, cluster, t);                                                                                \
  }                                                                                                            \
  static void name##_body(const KernelPointers<count>& p, int cluster, Thread& t)

namespace pando::region {

// Not inline: all libraries that a test loads would share one inline variable, but their regions have different numbers
// of ranks.
static thread_local unsigned char* emulated_memory[ranks];
static thread_local bool emulated_backwards;
// Counts phases.
static thread_local unsigned long long emulated_clock;

inline unsigned long long read_clock() { return emulated_clock; }
// All threads are at the same place between phases.
inline bool is_first(const Thread&) { return true; }
template <class T>
T* shared_of(int rank, int offset) {
  return reinterpret_cast<T*>(emulated_memory[rank] + offset);
}
template <class T>
T* shared(const Thread& t, int offset) {
  return shared_of<T>(t.rank, offset);
}
template <class Run>
void run_phase(Thread& t, Run run) {
  ++emulated_clock;
  for (int rank = 0; rank < ranks; ++rank)
    for (int index = 0; index < threads; ++index) {
      t = emulated_backwards ? Thread{threads - 1 - index, ranks - 1 - rank} : Thread{index, rank};
      run();
    }
}
template <int bytes>
void begin_copy(const Thread& t, int offset, const void* from) {
  std::memcpy(shared<char>(t, offset), from, bytes);
}
inline void end_group_of_copies() {}
template <int later>
void wait_for_copies() {}
inline void wait_for_kernel_before() {}

using Address = char*;
inline Address address_of(char* pointer) { return pointer; }
inline char* pointer_to(Address address) { return address; }

}  // namespace pando::region
