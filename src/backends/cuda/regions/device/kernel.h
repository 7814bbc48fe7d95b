// SPDX-License-Identifier: Apache-2.0
// What begins the source of a kernel: PANDO_KERNEL(name, number of pointers) { body }. In the body, `t` is the thread,
// `p.at` are the pointers, and `cluster` is the number of the cluster, or of the block if a cluster has one block.
// Before it, or in other sources, are functions that it calls, PANDO_FUNCTION void name(parameters) { PANDO_THIS_THREAD
// body }.
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
