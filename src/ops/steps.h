// SPDX-License-Identifier: Apache-2.0
// Parts of values at regular steps along an axis, and what is put back there: for windows that no kernel knows.
#pragma once
#include <pando/graph/graph.h>

#include "ops/window.h"

namespace pando {

// Elements start, start + step and so on along the axis, `count` of them; they must be there.
Value take_steps(Value x, int axis, std::int64_t start, std::int64_t step, std::int64_t count);
// The transpose of take_steps: an axis of `size` elements that has those of x in these places and zeros between them.
Value put_at_steps(Value x, int axis, std::int64_t start, std::int64_t step, std::int64_t size);
// x with elements of that value before and after those of the axis.
Value pad_axis(Value x, int axis, std::int64_t before, std::int64_t after, double value = 0);
// The largest element of each window along an axis of x, the first of equals; `window` says in its first axis how the
// windows lie.
Value max_along(Value x, int axis, const Window& window);

}  // namespace pando
