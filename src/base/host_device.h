// SPDX-License-Identifier: Apache-2.0
// For headers of functions that kernels share. PANDO_HOST_DEVICE marks those that CUDA compiles too. Code between
// PANDO_KERNEL_BEGIN and PANDO_KERNEL_END gets separate symbols for each instruction set it is compiled for. Otherwise
// the linker would keep only one copy of an inline function, perhaps one that this machine cannot run.
// PANDO_INLINE marks functions of single elements: a call left in a loop would keep it from being vectorised.
#pragma once

#if defined(__CUDACC__)
#define PANDO_HOST_DEVICE __host__ __device__
#else
#define PANDO_HOST_DEVICE
#endif
#define PANDO_INLINE PANDO_HOST_DEVICE __attribute__((always_inline)) inline

#if defined(PANDO_INSTRUCTION_SET)
#define PANDO_KERNEL_BEGIN inline namespace PANDO_INSTRUCTION_SET {
#define PANDO_KERNEL_END }
#else
#define PANDO_KERNEL_BEGIN
#define PANDO_KERNEL_END
#endif
