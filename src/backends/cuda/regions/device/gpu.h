// SPDX-License-Identifier: Apache-2.0
// What the kernels of a region ask of a GPU: its threads and their barriers, the shared memory of a block and of the
// others in its cluster, and copies from global memory. cluster.h includes this file, or the one that PANDO_EMULATION
// names: tests have headers that emulate a GPU on the host.
#pragma once

#define PANDO_DEVICE __device__ __forceinline__
#define PANDO_UNROLL _Pragma("unroll")
#define PANDO_PHASE(...) \
  { __VA_ARGS__; }
#define PANDO_OWN_BARRIER __syncthreads();
#if PANDO_RANKS == 1
#define PANDO_CLUSTER_BARRIER __syncthreads();
#else
#define PANDO_CLUSTER_BARRIER                                           \
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); \
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif

#define PANDO_BLOCK_VALUE __shared__
#define PANDO_FUNCTION extern "C" __device__ __noinline__
// A function asks for it again: of a parameter the compiler would not know that it is not negative.
#define PANDO_THIS_THREAD const Thread t{static_cast<int>(threadIdx.x), static_cast<int>(blockIdx.x) % ranks};
#define PANDO_KERNEL(name, count)                                                              \
  PANDO_DEVICE void name##_body(const KernelPointers<count>& p, int cluster, const Thread& t); \
  extern "C" __global__ void __launch_bounds__(PANDO_THREADS, 1)                               \
      name(const __grid_constant__ KernelPointers<count> p) {                                  \
    PANDO_THIS_THREAD                                                                          \
    name##_body(p, static_cast<int>(blockIdx.x) / ranks, t);                                   \
  }                                                                                            \
  PANDO_DEVICE void name##_body(const KernelPointers<count>& p, int cluster, const Thread& t)

namespace pando::region {

extern __shared__ __align__(16) unsigned char shared_memory[];
template <class T>
PANDO_DEVICE T* shared(const Thread&, int offset) {
  return reinterpret_cast<T*>(shared_memory + offset);
}
template <class T>
PANDO_DEVICE T* shared_of(int rank, int offset) {
  unsigned long long address;
  asm("mapa.u64 %0, %1, %2;" : "=l"(address) : "l"(reinterpret_cast<unsigned long long>(shared_memory)), "r"(rank));
  return reinterpret_cast<T*>(address + offset);
}
// In cycles. What comes before in the source is not moved after it.
PANDO_DEVICE unsigned long long read_clock() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
  return now;
}
PANDO_DEVICE bool is_first(const Thread& t) { return t.index == 0 && t.rank == 0; }

// Begins to copy a word of 4 or 16 bytes from global memory to this block's own.
template <int bytes>
PANDO_DEVICE void begin_copy(const Thread&, int offset, const void* from) {
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared_memory)) + offset;
  if (bytes == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}
// Makes a group of the copies that this thread has begun since the last group.
PANDO_DEVICE void end_group_of_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until all copies have come but those of the last `later` groups.
template <int later>
PANDO_DEVICE void wait_for_copies() {
  if (later == 0) asm volatile("cp.async.wait_all;" ::: "memory");
  else asm volatile("cp.async.wait_group %0;" ::"n"(later) : "memory");
}

// A kernel may begin while the one before it still runs. Here it waits for the end of that kernel, and then lets the
// next one begin. Before this call it may only read what the kernel before it does not write. Kernels before that one
// have ended already.
PANDO_DEVICE void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Functions take this instead of a pointer. It says that the memory is global, which the compiler knows of a kernel's
// own pointers.
using Address = unsigned long long;
PANDO_DEVICE Address address_of(char* pointer) { return __cvta_generic_to_global(pointer); }
PANDO_DEVICE char* pointer_to(Address address) { return static_cast<char*>(__cvta_global_to_generic(address)); }

}  // namespace pando::region
