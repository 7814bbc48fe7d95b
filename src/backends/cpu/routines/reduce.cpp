// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/routines/reduce.h"

#include <type_traits>

#include "backends/cpu/routines/lanes.h"

namespace pando::cpu::inline PANDO_INSTRUCTION_SET {

namespace {

// Integers are added as unsigned ones, which wrap.
template <class T>
struct Sum {
  using Held = Total<T>;

  static void clear(void* totals, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) static_cast<Held*>(totals)[i] = Held(0);
  }

  static void rows(void* totals, const void* x, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* row = static_cast<const T*>(x) + r * stride;
      static_cast<Held*>(totals)[r] +=
          sum_of<T>(columns, [row](std::int64_t i, std::int64_t n) { return load_lanes(row + i, n); });
    }
  }

  static void columns(void* totals, const void* x, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
    if (columns == stride && columns < lane_count)
      return narrow_columns(static_cast<Held*>(totals), static_cast<const T*>(x), rows, columns);
    wide_columns(totals, x, rows, columns, stride);
  }

  // As many rows as fill whole vectors of lanes are summed side by side.
  static void narrow_columns(Held* totals, const T* x, std::int64_t rows, std::int64_t columns) {
    std::int64_t together = lane_count;
    while (together > 1 && together / 2 * columns % lane_count == 0) together /= 2;
    const std::int64_t width = together * columns, whole = rows / together;
    Held sums[lane_count * lane_count] = {};
    wide_columns(sums, x, whole, width, width);
    for (std::int64_t i = 0; i < width; ++i) totals[i % columns] += sums[i];
    wide_columns(totals, x + whole * width, rows - whole * together, columns, columns);
  }

  // 64 rows at a time, so that memory is read from front to back.
  static void wide_columns(void* totals, const void* x, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
    for (std::int64_t begin = 0; begin < rows; begin += 64) {
      const std::int64_t end = begin + 64 < rows ? begin + 64 : rows;
      for (std::int64_t c = 0; c < columns; c += lane_count)
        add_columns(static_cast<Held*>(totals) + c, static_cast<const T*>(x) + c, begin, end, columns - c, stride);
    }
  }

  static void add_columns(Held* totals, const T* x, std::int64_t begin, std::int64_t end, std::int64_t count,
                          std::int64_t stride) {
    if (count >= lane_count)
      return add_terms<T>(totals, begin, end, Held(1), [=](std::int64_t r) { return load_lanes(x + r * stride); });
    Held last[lane_count] = {};
    add_terms<T>(last, begin, end, Held(1), [=](std::int64_t r) { return load_lanes(x + r * stride, count); });
    for (std::int64_t i = 0; i < count; ++i) totals[i] += last[i];
  }

  static void merge(void* totals, const void* more, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) static_cast<Held*>(totals)[i] += static_cast<const Held*>(more)[i];
  }

  static void store(void* out, const void* totals, std::int64_t count, [[maybe_unused]] double divisor) {
    for (std::int64_t i = 0; i < count; ++i) {
      const Held total = static_cast<const Held*>(totals)[i];
      // The mean of no numbers is NaN; integers have no mean.
      if constexpr (std::is_same_v<Held, double>) static_cast<T*>(out)[i] = static_cast<T>(total / divisor);
      else static_cast<T*>(out)[i] = total;
    }
  }
};

template <class T>
struct Max {
  static constexpr T least = [] {
    if constexpr (std::is_same_v<T, std::int32_t>) return T(-0x7fffffff - 1);
    else if constexpr (std::is_same_v<T, std::int64_t>) return T(-0x7fffffffffffffff - 1);
    else return T(-__builtin_inf());
  }();

  static void clear(void* totals, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) static_cast<T*>(totals)[i] = least;
  }

  static void rows(void* totals, const void* x, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
    for (std::int64_t r = 0; r < rows; ++r) {
      T& total = static_cast<T*>(totals)[r];
      total = larger_of(total, largest_of(static_cast<const T*>(x) + r * stride, columns, least));
    }
  }

  static void columns(void* totals_memory, const void* x, std::int64_t rows, std::int64_t columns,
                      std::int64_t stride) {
    auto* totals = static_cast<T*>(totals_memory);
    for (std::int64_t c = 0; c < columns; c += lane_count) {
      const std::int64_t count = columns - c;
      const T* column = static_cast<const T*>(x) + c;
      Lanes<T> best = load_lanes(totals + c, count);
      for (std::int64_t r = 0; r < rows; ++r) best = larger(best, load_lanes(column + r * stride, count));
      store_lanes(totals + c, best, count);
    }
  }

  static void merge(void* totals, const void* more, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      T& total = static_cast<T*>(totals)[i];
      total = larger_of(total, static_cast<const T*>(more)[i]);
    }
  }

  static void store(void* out, const void* totals, std::int64_t count, double) {
    for (std::int64_t i = 0; i < count; ++i) static_cast<T*>(out)[i] = static_cast<const T*>(totals)[i];
  }
};

template <class T>
void argmax(std::int32_t* out, const void* x, std::int64_t count, std::int64_t distance, std::int64_t size,
            std::int64_t stride) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T* from = static_cast<const T*>(x) + i * distance;
    T best = from[0];
    std::int64_t place = 0;
    // Once NaN is found nothing is larger.
    for (std::int64_t k = 1; k < size && best == best; ++k) {
      const T value = from[k * stride];
      if (!(value > best) && value == value) continue;
      best = value;
      place = k;
    }
    out[i] = static_cast<std::int32_t>(place);
  }
}

template <class Of>
constexpr ReduceRoutine routine = {Of::clear, Of::rows, Of::columns, Of::merge, Of::store};

}  // namespace

void fill(ReduceRoutines& table) {
  table.sum = {routine<Sum<float>>, routine<Sum<double>>, routine<Sum<std::uint32_t>>, routine<Sum<std::uint64_t>>};
  table.max = {routine<Max<float>>, routine<Max<double>>, routine<Max<std::int32_t>>, routine<Max<std::int64_t>>};
  table.argmax = {argmax<float>, argmax<double>, argmax<std::int32_t>, argmax<std::int64_t>};
}

}  // namespace pando::cpu::inline PANDO_INSTRUCTION_SET
