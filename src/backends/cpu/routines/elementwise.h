// SPDX-License-Identifier: Apache-2.0
// Elementwise ops over short contiguous blocks: what the interpreter of elementwise programs calls.
#pragma once
#include <cstdint>

namespace pando::cpu {

// out[i] = f(a[i], b[i], c[i]) for i < count; `out` may be one of the inputs. The types are those of the table entry.
using ElementwiseRoutine = void (*)(void* out, const void* a, const void* b, const void* c, std::int64_t count,
                                    const double* parameters);

struct ElementwiseRoutines {
  static constexpr int dtypes = 7;
  static constexpr int ops = 0
#define PANDO_OP(name) +1
#include "ops/ops.def"
      ;
  // By op (ops.def) and by the DType of the last argument; null where an op does not take the type.
  ElementwiseRoutine by_op[ops][dtypes];
  // cast[from][to].
  ElementwiseRoutine cast[dtypes][dtypes];
};

}  // namespace pando::cpu
