// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/routines/loss.h"

#include "backends/cpu/routines/lanes.h"
#include "ops/scalar.h"

namespace pando::cpu::inline PANDO_INSTRUCTION_SET {

namespace {

namespace math = scalar::math;

// exp(x[i] - largest) of up to 16 elements, then zeros.
template <class T>
inline Lanes<T> shifted_exp(const T* x, std::int64_t count, T largest) {
  T buffer[lane_count];
  store_lanes(buffer, load_lanes(x, count, T(-__builtin_inf())));
  for (int i = 0; i < lane_count; ++i) buffer[i] = math::exp(buffer[i] - largest);
  return load_lanes(buffer);
}

// The sum of exp(x - largest); the terms are left in `terms` unless it is null.
template <class T>
inline T sum_of_exp(T* terms, const T* x, std::int64_t columns, T largest) {
  return static_cast<T>(sum_of<T>(columns, [=](std::int64_t i, std::int64_t n) {
    const Lanes<T> term = shifted_exp(x + i, n, largest);
    if (terms != nullptr) store_lanes(terms + i, term, n);
    return term;
  }));
}

template <class T>
inline T largest_logit(const T* x, std::int64_t columns) {
  return largest_of(x, columns, T(-__builtin_inf()));
}

template <class T>
void softmax(T* y, const T* x, std::int64_t columns, std::int64_t first, std::int64_t last) {
  for (std::int64_t r = first; r < last; ++r) {
    T* row = y + r * columns;
    const T* from = x + r * columns;
    const T sum = sum_of_exp(row, from, columns, largest_logit(from, columns));
    const Lanes<T> factor = splat_lanes(T(1) / sum);
    for_lanes(columns,
              [=](std::int64_t i, std::int64_t n) { store_lanes(row + i, load_lanes(row + i, n) * factor, n); });
  }
}

template <class T>
void softmax_gradient(T* dx, const T* dy, const T* y, std::int64_t columns, std::int64_t first, std::int64_t last) {
  for (std::int64_t r = first; r < last; ++r) {
    const T *g = dy + r * columns, *probabilities = y + r * columns;
    T* const row = dx + r * columns;
    const Lanes<T> sum = splat_lanes(static_cast<T>(sum_of<T>(columns, [=](std::int64_t i, std::int64_t n) {
      return load_lanes(g + i, n) * load_lanes(probabilities + i, n);
    })));
    for_lanes(columns, [=](std::int64_t i, std::int64_t n) {
      store_lanes(row + i, load_lanes(probabilities + i, n) * (load_lanes(g + i, n) - sum), n);
    });
  }
}

template <class T>
void log_softmax(T* y, const T* x, std::int64_t columns, std::int64_t first, std::int64_t last) {
  for (std::int64_t r = first; r < last; ++r) {
    T* row = y + r * columns;
    const T* from = x + r * columns;
    const T largest = largest_logit(from, columns);
    const Lanes<T> shift = splat_lanes(largest);
    const Lanes<T> log_sum = splat_lanes(math::log(sum_of_exp<T>(nullptr, from, columns, largest)));
    for_lanes(columns, [=](std::int64_t i, std::int64_t n) {
      store_lanes(row + i, (load_lanes(from + i, n) - shift) - log_sum, n);
    });
  }
}

template <class T>
void cross_entropy(T* loss, T* delta, const T* logits, const T* targets, std::int64_t columns, std::int64_t first,
                   std::int64_t last) {
  for (std::int64_t r = first; r < last; ++r) {
    const T *x = logits + r * columns, *target = targets + r * columns;
    T* row = delta != nullptr ? delta + r * columns : nullptr;
    const T largest = largest_logit(x, columns);
    const T mass =
        static_cast<T>(sum_of<T>(columns, [=](std::int64_t i, std::int64_t n) { return load_lanes(target + i, n); }));
    // Before delta is written, which may be where the logits are.
    const T chosen = static_cast<T>(sum_of<T>(columns, [=](std::int64_t i, std::int64_t n) {
      return load_lanes(target + i, n) * (load_lanes(x + i, n) - splat_lanes(largest));
    }));
    const T sum = sum_of_exp(row, x, columns, largest);
    if (loss != nullptr) loss[r] = math::log(sum) * mass - chosen;
    if (row == nullptr) continue;
    const Lanes<T> factor = splat_lanes(mass / sum);
    for_lanes(columns, [=](std::int64_t i, std::int64_t n) {
      store_lanes(row + i, load_lanes(row + i, n) * factor - load_lanes(target + i, n), n);
    });
  }
}

template <class T>
void sparse_cross_entropy(T* loss, T* delta, const T* logits, const std::int32_t* labels, std::int64_t ignored,
                          std::int64_t columns, std::int64_t first, std::int64_t last) {
  for (std::int64_t r = first; r < last; ++r) {
    const T* x = logits + r * columns;
    T* row = delta != nullptr ? delta + r * columns : nullptr;
    if (labels[r] == ignored) {
      if (loss != nullptr) loss[r] = 0;
      if (row != nullptr)
        for_lanes(columns, [=](std::int64_t i, std::int64_t n) { store_lanes(row + i, splat_lanes(T(0)), n); });
      continue;
    }
    const bool valid = labels[r] >= 0 && labels[r] < columns;
    const T largest = largest_logit(x, columns);
    const T chosen = valid ? x[labels[r]] - largest : T(__builtin_nan(""));
    const T sum = sum_of_exp(row, x, columns, largest);
    if (loss != nullptr) loss[r] = math::log(sum) - chosen;
    if (row == nullptr) continue;
    const Lanes<T> factor = splat_lanes(valid ? T(1) / sum : T(__builtin_nan("")));
    for_lanes(columns,
              [=](std::int64_t i, std::int64_t n) { store_lanes(row + i, load_lanes(row + i, n) * factor, n); });
    if (valid) row[labels[r]] -= T(1);
  }
}

template <class T>
constexpr LossRoutinesOf<T> loss = {
    .softmax = softmax<T>,
    .softmax_gradient = softmax_gradient<T>,
    .log_softmax = log_softmax<T>,
    .cross_entropy = cross_entropy<T>,
    .sparse_cross_entropy = sparse_cross_entropy<T>,
};

}  // namespace

void fill(LossRoutines& table) { table = {.float32 = loss<float>, .float64 = loss<double>}; }

}  // namespace pando::cpu::inline PANDO_INSTRUCTION_SET
