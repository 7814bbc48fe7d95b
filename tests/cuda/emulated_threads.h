// SPDX-License-Identifier: Apache-2.0
// What regions/device/gpu.h has, for the host: each thread of a cluster is one of the host's, and waits at the same
// barriers. The thread sanitizer then finds what no barrier orders. PANDO_THREADS is best small.
#pragma once
#include <barrier>
#include <cstring>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#define PANDO_DEVICE inline
#define PANDO_UNROLL
#define PANDO_PHASE(...) \
  { __VA_ARGS__; }
#define PANDO_OWN_BARRIER emulated->own[t.rank]->arrive_and_wait();
#define PANDO_CLUSTER_BARRIER emulated->all->arrive_and_wait();
#define PANDO_FUNCTION static
#define PANDO_THIS_THREAD const Thread t = emulated_thread;
// Runs one cluster; blocks have `bytes` of shared memory each.
#define PANDO_KERNEL(name, count)                                                                    \
  static void name##_body(const KernelPointers<count>& p, int cluster, const Thread& t);             \
  extern "C" void name(char* const* pointers, int cluster, unsigned char* memory, int bytes, bool) { \
    KernelPointers<count> p;                                                                         \
    std::memcpy(&p, pointers, sizeof p);                                                             \
    run_cluster(memory, bytes, [&](const Thread& t) { name##_body(p, cluster, t); });                \
  }                                                                                                  \
  static void name##_body(const KernelPointers<count>& p, int cluster, const Thread& t)

namespace pando::region {

struct EmulatedCluster {
  unsigned char* memory;
  int bytes;
  std::optional<std::barrier<>> all, own[ranks];
};
inline thread_local EmulatedCluster* emulated;
inline thread_local Thread emulated_thread;

inline unsigned long long read_clock() { return 0; }
inline bool is_first(const Thread& t) { return t.index == 0 && t.rank == 0; }
template <class T>
T* shared_of(int rank, int offset) {
  return reinterpret_cast<T*>(emulated->memory + rank * emulated->bytes + offset);
}
template <class T>
T* shared(const Thread& t, int offset) {
  return shared_of<T>(t.rank, offset);
}

// A copy that has begun may write at any time until a thread has waited for it. It writes at the first moment and again
// at the last one.
struct EmulatedCopy {
  char* to;
  const char* from;
  int bytes;
  void write() const {
    for (int i = 0; i < bytes; ++i) to[i] = from[i];
  }
};
// The last group is the one that goes on.
inline thread_local std::deque<std::vector<EmulatedCopy>> emulated_copies(1);
template <int bytes>
void begin_copy(const Thread& t, int offset, const void* from) {
  emulated_copies.back().push_back({shared<char>(t, offset), static_cast<const char*>(from), bytes});
  emulated_copies.back().back().write();
}
inline void end_group_of_copies() { emulated_copies.emplace_back(); }
template <int later>
void wait_for_copies() {
  if (later == 0) end_group_of_copies();
  while (emulated_copies.size() > later + 1) {
    for (const EmulatedCopy& copy : emulated_copies.front()) copy.write();
    emulated_copies.pop_front();
  }
}
inline void wait_for_kernel_before() {}

using Address = char*;
inline Address address_of(char* pointer) { return pointer; }
inline char* pointer_to(Address address) { return address; }

template <class Run>
void run_cluster(unsigned char* memory, int bytes, Run run) {
  EmulatedCluster cluster{memory, bytes, {}, {}};
  cluster.all.emplace(ranks * threads);
  for (auto& own : cluster.own) own.emplace(threads);
  std::vector<std::thread> running;
  for (int i = 0; i < ranks * threads; ++i)
    running.emplace_back([&, i] {
      emulated = &cluster;
      emulated_thread = {i % threads, i / threads};
      run(emulated_thread);
    });
  for (std::thread& thread : running) thread.join();
}

}  // namespace pando::region
