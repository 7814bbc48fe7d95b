#include "backends/cpu/routines.h"

#include <pando/error.h>

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

const Routines& routines_for(InstructionSet set) {
  static const Routines portable_routines = make_portable();
#if defined(__aarch64__)
  static const Routines neon_routines = make_neon();
  if (set == InstructionSet::neon) return neon_routines;
#elif defined(__x86_64__)
  static const Routines avx2_routines = make_avx2(), avx512_routines = make_avx512();
  if (set == InstructionSet::avx2) return avx2_routines;
  if (set == InstructionSet::avx512) return avx512_routines;
#endif
  if (set != InstructionSet::portable) throw InternalError("an instruction set that is not compiled in was chosen");
  return portable_routines;
}

}  // namespace pando::cpu
