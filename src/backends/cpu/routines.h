// SPDX-License-Identifier: Apache-2.0
// Routines: the inner loops of the CPU kernels, compiled once per instruction set from routines/*.cpp and reached
// through tables of function pointers. They take plain pointers and sizes and know nothing about graphs or plans. Their
// sources include no standard library templates, because the linker would merge those across instruction sets.
#pragma once
#include "backends/cpu/instruction_set.h"
#include "backends/cpu/routines/conv_planes.h"
#include "backends/cpu/routines/conv_pooled.h"
#include "backends/cpu/routines/elementwise.h"
#include "backends/cpu/routines/loss.h"
#include "backends/cpu/routines/matmul.h"
#include "backends/cpu/routines/norm.h"
#include "backends/cpu/routines/pool.h"
#include "backends/cpu/routines/random.h"
#include "backends/cpu/routines/reduce.h"
#include "backends/cpu/routines/update.h"

namespace pando::cpu {

struct Routines {
  InstructionSet instruction_set;
  ElementwiseRoutines elementwise;
  MatmulRoutines matmul;
  PoolRoutines pool;
  ReduceRoutines reduce;
  LossRoutines loss;
  NormRoutines norm;
  RandomRoutines random;
  PooledRoutines pooled;
  PlaneRoutines planes;
  UpdateRoutines update;
};

const Routines& routines_for(InstructionSet set);
// The products of bfloat16 by this machine that go with an instruction set, the slowest first.
std::vector<const MixedMatmulRoutines*> mixed_products_for(InstructionSet set);
// With products of bfloat16 where this machine multiplies them faster.
Routines with_mixed_products(const Routines& routines);

}  // namespace pando::cpu
