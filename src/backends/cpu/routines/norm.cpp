// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/routines/norm.h"

#include "backends/cpu/routines/lanes.h"
#include "ops/scalar.h"

namespace pando::cpu::inline PANDO_INSTRUCTION_SET {

namespace {

namespace math = scalar::math;

// A group of up to 16 channels: the first of them, its place among those of the block, and their number.
struct Group {
  std::int64_t first, place, count;
};

template <class F>
inline void for_groups(const ChannelBlock& block, F f) {
  for (std::int64_t c = block.first; c < block.last; c += lane_count) {
    const std::int64_t rest = block.last - c;
    f(Group{c, c - block.first, rest < lane_count ? rest : lane_count});
  }
}

// Four arrays of one number per channel of the block, padded to whole groups.
template <class T>
struct ChannelNumbers {
  double *sums, *products;
  T *mean, *factor;

  explicit ChannelNumbers(const ChannelBlock& block) {
    const std::int64_t size = (block.last - block.first + lane_count - 1) / lane_count * lane_count;
    sums = block.scratch;
    products = sums + size;
    mean = reinterpret_cast<T*>(products + size);
    factor = mean + size;
    for (std::int64_t i = 0; i < 2 * size; ++i) sums[i] = 0;
  }
};

// Adds weight * term(group, row) over rows [first, last) to the totals of each group. 64 rows at a time, so that memory
// is read from front to back.
template <class T, class Term>
inline void add_rows(double* totals, const ChannelBlock& block, std::int64_t first, std::int64_t last, double weight,
                     Term term) {
  for (std::int64_t begin = first; begin < last; begin += 64) {
    const std::int64_t end = begin + 64 < last ? begin + 64 : last;
    for_groups(block, [=](const Group& group) {
      add_terms<T>(totals + group.place, begin, end, weight, [=](std::int64_t r) { return term(group, r); });
    });
  }
}

// The same over all rows, weighted by sample.
template <class T, class Term>
inline void add_weighted(double* totals, const ChannelBlock& block, const T* weights, Term term) {
  if (weights == nullptr) return add_rows<T>(totals, block, 0, block.samples * block.places, 1.0, term);
  for (std::int64_t s = 0; s < block.samples; ++s)
    add_rows<T>(totals, block, s * block.places, (s + 1) * block.places, static_cast<double>(weights[s]), term);
}

// 1 / the sum of the weights of all rows, or 0 if there is none: then the statistics are 0 rather than NaN.
template <class T>
inline double inverse_weight(const ChannelBlock& block, const T* weights) {
  double sum = weights == nullptr ? static_cast<double>(block.samples) : 0.0;
  for (std::int64_t s = 0; weights != nullptr && s < block.samples; ++s) sum += static_cast<double>(weights[s]);
  sum *= static_cast<double>(block.places);
  return sum != 0 ? 1 / sum : 0.0;
}

template <class T>
inline Lanes<T> lanes_of(const double* totals, double factor) {
  T buffer[lane_count];
  for (int i = 0; i < lane_count; ++i) buffer[i] = static_cast<T>(totals[i] * factor);
  return load_lanes(buffer);
}

template <class T>
inline void store_channels(T* to, const Lanes<T>& lanes, const Group& group) {
  if (to != nullptr) store_lanes(to + group.first, lanes, group.count);
}

// 1 / sqrt(variance + epsilon).
template <class T>
inline Lanes<T> inverse_root(const Lanes<T>& variance, double epsilon) {
  T buffer[lane_count];
  store_lanes(buffer, variance);
  for (int i = 0; i < lane_count; ++i) buffer[i] = T(1) / math::sqrt(buffer[i] + T(epsilon));
  return load_lanes(buffer);
}

template <class T>
void batch_norm(const BatchNormArguments<T>& a, const ChannelBlock& block) {
  const ChannelNumbers<T> numbers(block);
  const double share = inverse_weight(block, a.weights);
  const T *x = a.x, *mean = numbers.mean, *factor = numbers.factor;
  const std::int64_t stride = block.channels;
  const auto x_at = [=](const Group& group, std::int64_t r) {
    return load_lanes(x + group.first + r * stride, group.count);
  };
  const auto centered_at = [=](const Group& group, std::int64_t r) {
    return x_at(group, r) - load_lanes(mean + group.place);
  };
  add_weighted(numbers.sums, block, a.weights, x_at);
  for_groups(block, [&](const Group& group) {
    const Lanes<T> lanes = lanes_of<T>(numbers.sums + group.place, share);
    store_lanes(numbers.mean + group.place, lanes);
    store_channels(a.mean, lanes, group);
  });
  add_weighted(numbers.products, block, a.weights, [=](const Group& group, std::int64_t r) {
    const Lanes<T> centered = centered_at(group, r);
    return centered * centered;
  });
  for_groups(block, [&](const Group& group) {
    const Lanes<T> variance = lanes_of<T>(numbers.products + group.place, share);
    const Lanes<T> inverse = inverse_root(variance, a.epsilon);
    store_lanes(numbers.factor + group.place, inverse * load_lanes(a.scale + group.first, group.count));
    store_channels(a.variance, variance, group);
    store_channels(a.inverse_deviation, inverse, group);
  });
  if (a.y == nullptr) return;
  for (std::int64_t r = 0; r < block.samples * block.places; ++r)
    for_groups(block, [=, &a](const Group& group) {
      const Lanes<T> scaled = centered_at(group, r) * load_lanes(factor + group.place);
      const Lanes<T> offset = load_lanes(a.offset + group.first, group.count);
      store_lanes(a.y + group.first + r * stride, scaled + offset, group.count);
    });
}

// dx, from the mean of dy in numbers.mean, that of dy * x / deviation^2 in numbers.factor, both over the weights.
template <class T>
void batch_norm_dx(const BatchNormGradientArguments<T>& a, const ChannelBlock& block,
                   const ChannelNumbers<T>& numbers) {
  const std::int64_t stride = block.channels;
  for (std::int64_t s = 0; s < block.samples; ++s) {
    const Lanes<T> weight = splat_lanes(a.weights != nullptr ? a.weights[s] : T(1));
    for (std::int64_t r = s * block.places; r < (s + 1) * block.places; ++r)
      for_groups(block, [=, &a, &numbers](const Group& group) {
        const std::int64_t at = group.first + r * stride, count = group.count;
        const Lanes<T> centered = load_lanes(a.x + at, count) - load_lanes(a.mean + group.first, count);
        const Lanes<T> slope = load_lanes(numbers.factor + group.place);
        const Lanes<T> common = load_lanes(numbers.mean + group.place) + centered * slope;
        const Lanes<T> factor =
            load_lanes(a.inverse_deviation + group.first, count) * load_lanes(a.scale + group.first, count);
        store_lanes(a.dx + at, (load_lanes(a.dy + at, count) - weight * common) * factor, count);
      });
  }
}

template <class T>
void batch_norm_gradient(const BatchNormGradientArguments<T>& a, const ChannelBlock& block) {
  const ChannelNumbers<T> numbers(block);
  const std::int64_t stride = block.channels, rows = block.samples * block.places;
  const T *x = a.x, *dy = a.dy, *mean = a.mean;
  add_rows<T>(numbers.sums, block, 0, rows, 1.0, [=](const Group& group, std::int64_t r) {
    return load_lanes(dy + group.first + r * stride, group.count);
  });
  add_rows<T>(numbers.products, block, 0, rows, 1.0, [=](const Group& group, std::int64_t r) {
    const std::int64_t at = group.first + r * stride;
    const Lanes<T> centered = load_lanes(x + at, group.count) - load_lanes(mean + group.first, group.count);
    return load_lanes(dy + at, group.count) * centered;
  });
  const double share = inverse_weight(block, a.weights);
  for_groups(block, [&](const Group& group) {
    const double *sums = numbers.sums + group.place, *products = numbers.products + group.place;
    const Lanes<T> inverse = load_lanes(a.inverse_deviation + group.first, group.count);
    store_channels(a.doffset, lanes_of<T>(sums, 1.0), group);
    store_channels(a.dscale, lanes_of<T>(products, 1.0) * inverse, group);
    store_lanes(numbers.mean + group.place, lanes_of<T>(sums, share));
    store_lanes(numbers.factor + group.place, lanes_of<T>(products, share) * inverse * inverse);
  });
  if (a.dx != nullptr) batch_norm_dx(a, block, numbers);
}

template <class T>
void layer_norm(const LayerNormArguments<T>& a, std::int64_t columns, std::int64_t first, std::int64_t last) {
  // Rows of no elements have the statistics 0.
  const double share = columns > 0 ? 1 / static_cast<double>(columns) : 0.0;
  for (std::int64_t r = first; r < last; ++r) {
    const T* x = a.x + r * columns;
    const double sum = sum_of<T>(columns, [=](std::int64_t i, std::int64_t n) { return load_lanes(x + i, n); });
    const T mean = static_cast<T>(sum * share);
    const Lanes<T> means = splat_lanes(mean);
    const double squares = sum_of<T>(columns, [=](std::int64_t i, std::int64_t n) {
      const Lanes<T> centered = load_lanes(x + i, n, mean) - means;
      return centered * centered;
    });
    const T inverse = static_cast<T>(1 / math::sqrt(squares * share + a.epsilon));
    if (a.mean != nullptr) a.mean[r] = mean;
    if (a.inverse_deviation != nullptr) a.inverse_deviation[r] = inverse;
    if (a.y == nullptr) continue;
    T* y = a.y + r * columns;
    for_lanes(columns, [=, &a](std::int64_t i, std::int64_t n) {
      const Lanes<T> normalised = (load_lanes(x + i, n) - means) * splat_lanes(inverse);
      store_lanes(y + i, normalised * load_lanes(a.scale + i, n) + load_lanes(a.offset + i, n), n);
    });
  }
}

template <class T>
void layer_norm_gradient_rows(const LayerNormGradientArguments<T>& a, std::int64_t columns, std::int64_t first,
                              std::int64_t last) {
  for (std::int64_t r = first; r < last; ++r) {
    const T *x = a.x + r * columns, *dy = a.dy + r * columns, *scale = a.scale;
    const Lanes<T> mean = splat_lanes(a.mean[r]), inverse = splat_lanes(a.inverse_deviation[r]);
    // The gradient of the normalised row; zeros after its end.
    const auto inner = [=](std::int64_t i, std::int64_t n) { return load_lanes(dy + i, n) * load_lanes(scale + i, n); };
    const auto normalised = [=](std::int64_t i, std::int64_t n) { return (load_lanes(x + i, n) - mean) * inverse; };
    const double share = 1 / static_cast<double>(columns);
    const Lanes<T> shift = splat_lanes(static_cast<T>(sum_of<T>(columns, inner) * share));
    const double product =
        sum_of<T>(columns, [=](std::int64_t i, std::int64_t n) { return inner(i, n) * normalised(i, n); });
    const Lanes<T> tilt = splat_lanes(static_cast<T>(product * share));
    T* dx = a.dx + r * columns;
    for_lanes(columns, [=](std::int64_t i, std::int64_t n) {
      store_lanes(dx + i, ((inner(i, n) - shift) - normalised(i, n) * tilt) * inverse, n);
    });
  }
}

template <class T>
void layer_norm_gradient_columns(const LayerNormGradientArguments<T>& a, std::int64_t rows, std::int64_t columns,
                                 std::int64_t first, std::int64_t last) {
  for_groups({rows, 1, columns, first, last, nullptr}, [&a, rows, columns](const Group& group) {
    const T *x = a.x + group.first, *dy = a.dy + group.first, *mean = a.mean, *inverse = a.inverse_deviation;
    const std::int64_t count = group.count;
    double sums[lane_count] = {}, products[lane_count] = {};
    if (a.doffset != nullptr)
      add_terms<T>(sums, 0, rows, 1.0, [=](std::int64_t r) { return load_lanes(dy + r * columns, count); });
    if (a.dscale != nullptr)
      add_terms<T>(products, 0, rows, 1.0, [=](std::int64_t r) {
        const Lanes<T> centered = load_lanes(x + r * columns, count) - splat_lanes(mean[r]);
        return load_lanes(dy + r * columns, count) * centered * splat_lanes(inverse[r]);
      });
    store_channels(a.doffset, lanes_of<T>(sums, 1.0), group);
    store_channels(a.dscale, lanes_of<T>(products, 1.0), group);
  });
}

template <class T>
constexpr NormRoutinesOf<T> norm = {
    .batch_norm = batch_norm<T>,
    .batch_norm_gradient = batch_norm_gradient<T>,
    .layer_norm = layer_norm<T>,
    .layer_norm_gradient_rows = layer_norm_gradient_rows<T>,
    .layer_norm_gradient_columns = layer_norm_gradient_columns<T>,
};

}  // namespace

void fill(NormRoutines& table) { table = {.float32 = norm<float>, .float64 = norm<double>}; }

}  // namespace pando::cpu::inline PANDO_INSTRUCTION_SET
