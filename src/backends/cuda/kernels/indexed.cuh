// SPDX-License-Identifier: Apache-2.0
// The kernels of elements chosen along an axis. To write, the updates are sorted by their indices; then one thread
// applies all updates of an element in their order, so that sums have one order. The host compiles them too, for tests.
#pragma once
#include "backends/cuda/kernels/sorting.cuh"
#include "ops/indexed.h"

namespace pando::cuda {

// An index out of range gives zeros; the executor finds it, and ends the run with an error.
template <class E>
__global__ void take_elements(const E* x, const std::int32_t* indices, E* out, const IndexedAxis axis,
                              const std::int64_t elements) {
  for (std::int64_t i = first_element(); i < elements; i += element_stride()) {
    const std::int64_t inner = i % axis.inner, row = i / axis.inner, place = row % axis.count, outer = row / axis.count;
    const std::int64_t index = indices[outer * axis.outer_step + place * axis.step + inner * axis.inner_step];
    out[i] = index >= 0 && index < axis.size ? x[(outer * axis.size + index) * axis.inner + inner] : E(0);
  }
}

// Rows of indices that differ: those of each outer and inner position, unless they are repeated.
struct IndexRows {
  std::int64_t outer = 1, inner = 1;

  explicit IndexRows(const IndexedAxis& axis)
      : outer(axis.outer_step == 0 ? 1 : axis.outer), inner(axis.inner_step == 0 ? 1 : axis.inner) {}
  __device__ std::int64_t row_of(std::int64_t outer_position, std::int64_t inner_position) const {
    return (outer == 1 ? 0 : outer_position) * inner + (inner == 1 ? 0 : inner_position);
  }
};

struct ReadIndices {
  const std::int32_t* indices;
  IndexedAxis axis;
  IndexRows rows;

  __device__ std::uint32_t operator()(std::int64_t row, std::int64_t index) const {
    const std::int64_t outer = row / rows.inner, inner = row % rows.inner;
    return static_cast<std::uint32_t>(indices[outer * axis.outer_step + index * axis.step + inner * axis.inner_step]);
  }
};

// The thread of the first update of an element applies all of them.
template <class T, class Combine>
__global__ void apply_updates(const Placed<std::uint32_t>* sorted, const T* updates, T* out, const IndexedAxis axis,
                              const IndexRows rows, const std::int64_t elements) {
  const Combine combine(nullptr);
  for (std::int64_t i = first_element(); i < elements; i += element_stride()) {
    const std::int64_t inner = i % axis.inner, row = i / axis.inner, outer = row / axis.count;
    std::int64_t place = row % axis.count;
    const Placed<std::uint32_t>* const own = sorted + rows.row_of(outer, inner) * axis.count;
    const auto index = static_cast<std::int32_t>(own[place].key);
    if (index < 0 || index >= axis.size || (place > 0 && own[place - 1].key == own[place].key)) continue;
    T& to = out[(outer * axis.size + index) * axis.inner + inner];
    const T* const from = updates + outer * axis.count * axis.inner + inner;
    T value = to;
    for (; place < axis.count && own[place].key == static_cast<std::uint32_t>(index); ++place)
      value = combine(value, from[own[place].place * axis.inner]);
    to = value;
  }
}

// The thread of the last update of an element writes it.
template <class T>
__global__ void set_updates(const Placed<std::uint32_t>* sorted, const T* updates, T* out, const IndexedAxis axis,
                            const IndexRows rows, const std::int64_t elements) {
  for (std::int64_t i = first_element(); i < elements; i += element_stride()) {
    const std::int64_t inner = i % axis.inner, row = i / axis.inner, place = row % axis.count, outer = row / axis.count;
    const Placed<std::uint32_t>* const own = sorted + rows.row_of(outer, inner) * axis.count;
    const auto index = static_cast<std::int32_t>(own[place].key);
    if (index < 0 || index >= axis.size || (place + 1 < axis.count && own[place + 1].key == own[place].key)) continue;
    out[(outer * axis.size + index) * axis.inner + inner] =
        updates[(outer * axis.count + own[place].place) * axis.inner + inner];
  }
}

}  // namespace pando::cuda
