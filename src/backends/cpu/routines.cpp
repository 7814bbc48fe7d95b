#include "backends/cpu/routines.h"

#include <pando/error.h>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace pando::cpu {

#define PANDO_DECLARE_FILLS(set)                    \
  namespace set {                                   \
  void fill(ElementwiseRoutines&);                  \
  void fill(MatrixRoutines&);                       \
  void fill(PoolRoutines&);                         \
  void fill(ReduceRoutines&);                       \
  void fill(NormaliseRoutines&);                    \
  void fill(RandomRoutines&);                       \
  void fill(UpdateRoutines&);                       \
  }                                                 \
  static Routines make_##set() {                    \
    Routines routines{};                            \
    routines.instruction_set = InstructionSet::set; \
    set::fill(routines.elementwise);                \
    set::fill(routines.matrix);                     \
    set::fill(routines.pool);                       \
    set::fill(routines.reduce);                     \
    set::fill(routines.normalise);                  \
    set::fill(routines.random);                     \
    set::fill(routines.update);                     \
    return routines;                                \
  }

PANDO_DECLARE_FILLS(portable)
#if defined(__aarch64__)
PANDO_DECLARE_FILLS(neon)
#elif defined(__x86_64__)
PANDO_DECLARE_FILLS(avx2)
PANDO_DECLARE_FILLS(avx512)
#endif
#undef PANDO_DECLARE_FILLS

#if defined(__aarch64__)
namespace bfloat16 {
extern const MixedMatrixRoutines routines;
}
#endif

Routines with_mixed_products(const Routines& routines) {
  Routines mixed = routines;
#if defined(__aarch64__)
  if (routines.instruction_set == InstructionSet::neon && (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0)
    mixed.matrix.mixed = &bfloat16::routines;
#endif
  return mixed;
}

// A table is filled by code of its own instruction set, so only that of a set this machine has may be made.
const Routines& routines_for(InstructionSet set) {
  switch (set) {
    case InstructionSet::portable: {
      static const Routines routines = make_portable();
      return routines;
    }
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
