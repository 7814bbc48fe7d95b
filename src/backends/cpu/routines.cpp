// SPDX-License-Identifier: Apache-2.0
// Every routine is compiled once for each instruction set, in a namespace of its own; the tables are filled here, at
// run time, for the sets that this processor has.
#include "backends/cpu/routines.h"

#include <pando/base/error.h>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace pando::cpu {

#define PANDO_DECLARE_FILLS(set)                    \
  namespace set {                                   \
  void fill(ElementwiseRoutines&);                  \
  void fill(MatmulRoutines&);                       \
  void fill(PoolRoutines&);                         \
  void fill(ReduceRoutines&);                       \
  void fill(LossRoutines&);                         \
  void fill(NormRoutines&);                         \
  void fill(RandomRoutines&);                       \
  void fill(PooledRoutines&);                       \
  void fill(PlaneRoutines&);                        \
  void fill(UpdateRoutines&);                       \
  }                                                 \
  static Routines make_##set() {                    \
    Routines routines{};                            \
    routines.instruction_set = InstructionSet::set; \
    set::fill(routines.elementwise);                \
    set::fill(routines.matmul);                     \
    set::fill(routines.pool);                       \
    set::fill(routines.reduce);                     \
    set::fill(routines.loss);                       \
    set::fill(routines.norm);                       \
    set::fill(routines.random);                     \
    set::fill(routines.pooled);                     \
    set::fill(routines.planes);                     \
    set::fill(routines.update);                     \
    return routines;                                \
  }

#ifdef PANDO_PORTABLE_ROUTINES
PANDO_DECLARE_FILLS(portable)
#endif
#if defined(__aarch64__)
PANDO_DECLARE_FILLS(neon)
#elif defined(__x86_64__)
PANDO_DECLARE_FILLS(avx2)
PANDO_DECLARE_FILLS(avx512)
#endif
#undef PANDO_DECLARE_FILLS

#if defined(__aarch64__)
namespace bfloat16 {
extern const MixedMatmulRoutines routines;
}
#elif defined(__x86_64__)
namespace avx512bf16 {
extern const MixedMatmulRoutines mixed_routines;
}
namespace amx {
extern const MixedMatmulRoutines mixed_routines;
}

namespace {

bool has_avx512_bf16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 5 & 1) != 0;
}

// The state of the AMX tiles is so large that Linux keeps it only for processes that ask for it, once for all threads.
bool has_amx() {
  static const bool granted = [] {
    constexpr unsigned bf16 = 1U << 22, tile = 1U << 24;
    constexpr long request_permission = 0x1023, tile_data = 18;
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & (bf16 | tile)) == (bf16 | tile) &&
           syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  }();
  return granted;
}

}  // namespace
#endif

std::vector<const MixedMatmulRoutines*> mixed_products_for([[maybe_unused]] InstructionSet set) {
  std::vector<const MixedMatmulRoutines*> found;
#if defined(__aarch64__)
  if (set == InstructionSet::neon && (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0) found.push_back(&bfloat16::routines);
#elif defined(__x86_64__)
  // Those of AMX round by AVX512_BF16.
  if (set == InstructionSet::avx512 && has_avx512_bf16()) {
    found.push_back(&avx512bf16::mixed_routines);
    if (has_amx()) found.push_back(&amx::mixed_routines);
  }
#endif
  return found;
}

Routines with_mixed_products(const Routines& routines) {
  Routines mixed = routines;
  const auto found = mixed_products_for(routines.instruction_set);
  if (!found.empty()) mixed.matmul.mixed = found.back();
  return mixed;
}

// A table is filled by code of its own instruction set, so only that of a set this machine has may be made.
const Routines& routines_for(InstructionSet set) {
  switch (set) {
#ifdef PANDO_PORTABLE_ROUTINES
    case InstructionSet::portable: {
      static const Routines routines = make_portable();
      return routines;
    }
#endif
#if defined(__aarch64__)
    case InstructionSet::neon: {
      static const Routines routines = make_neon();
      return routines;
    }
#elif defined(__x86_64__)
    case InstructionSet::avx2: {
      static const Routines routines = make_avx2();
      return routines;
    }
    case InstructionSet::avx512: {
      static const Routines routines = make_avx512();
      return routines;
    }
#endif
    default: throw InternalError("an instruction set that is not compiled in was chosen");
  }
}

}  // namespace pando::cpu
