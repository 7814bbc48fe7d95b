#include "backends/cpu/routines/normalise.h"

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

// Calls f(i, n) for the 16 or fewer elements [i, i + n).
template <class F>
inline void for_lanes(std::int64_t columns, F f) {
  for (std::int64_t i = 0; i < columns; i += lane_count) f(i, columns - i < lane_count ? columns - i : lane_count);
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
    for_lanes(columns, [=](std::int64_t i, std::int64_t n) {
      store_lanes(row + i, load_lanes(row + i, n) * factor, n);
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
    const T mass = static_cast<T>(
        sum_of<T>(columns, [=](std::int64_t i, std::int64_t n) { return load_lanes(target + i, n); }));
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
void sparse_cross_entropy(T* loss, T* delta, const T* logits, const std::int32_t* labels, std::int64_t columns,
                          std::int64_t first, std::int64_t last) {
  for (std::int64_t r = first; r < last; ++r) {
    const T* x = logits + r * columns;
    T* row = delta != nullptr ? delta + r * columns : nullptr;
    const bool valid = labels[r] >= 0 && labels[r] < columns;
    const T largest = largest_logit(x, columns);
    const T chosen = valid ? x[labels[r]] - largest : T(__builtin_nan(""));
    const T sum = sum_of_exp(row, x, columns, largest);
    if (loss != nullptr) loss[r] = math::log(sum) - chosen;
    if (row == nullptr) continue;
    const Lanes<T> factor = splat_lanes(valid ? T(1) / sum : T(__builtin_nan("")));
    for_lanes(columns, [=](std::int64_t i, std::int64_t n) {
      store_lanes(row + i, load_lanes(row + i, n) * factor, n);
    });
    if (valid) row[labels[r]] -= T(1);
  }
}

// One group of up to 16 channels of a ChannelBlock.
struct Group {
  std::int64_t samples, places, channels, first, count;

  std::int64_t rows() const { return samples * places; }
};

// Calls f(group) for each group of a block.
template <class F>
inline void for_groups(const ChannelBlock& block, F f) {
  for (std::int64_t c = block.first; c < block.last; c += lane_count) {
    const std::int64_t rest = block.last - c;
    f(Group{block.samples, block.places, block.channels, c, rest < lane_count ? rest : lane_count});
  }
}

// Adds term(row), weighted by sample, over all rows; term(row) is that of the group's channels.
template <class T, class Term>
inline void add_weighted(double* totals, const Group& group, const T* weights, Term term) {
  if (weights == nullptr) return add_terms<T>(totals, 0, group.rows(), 1.0, term);
  for (std::int64_t s = 0; s < group.samples; ++s)
    add_terms<T>(totals, s * group.places, (s + 1) * group.places, static_cast<double>(weights[s]), term);
}

// 1 / the sum of the weights of all rows, or 0 if there is none: then the statistics are 0 rather than NaN.
template <class T>
inline double inverse_weight(const Group& group, const T* weights) {
  double sum = weights == nullptr ? static_cast<double>(group.samples) : 0.0;
  for (std::int64_t s = 0; weights != nullptr && s < group.samples; ++s) sum += static_cast<double>(weights[s]);
  sum *= static_cast<double>(group.places);
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
  for_groups(block, [&a](const Group& group) {
    const T* x = a.x + group.first;
    const std::int64_t stride = group.channels, count = group.count;
    const double share = inverse_weight(group, a.weights);
    double sums[lane_count] = {}, squares[lane_count] = {};
    add_weighted(sums, group, a.weights, [=](std::int64_t r) { return load_lanes(x + r * stride, count); });
    const Lanes<T> mean = lanes_of<T>(sums, share);
    add_weighted(squares, group, a.weights, [=](std::int64_t r) {
      const Lanes<T> centered = load_lanes(x + r * stride, count) - mean;
      return centered * centered;
    });
    const Lanes<T> variance = lanes_of<T>(squares, share), inverse = inverse_root(variance, a.epsilon);
    store_channels(a.mean, mean, group);
    store_channels(a.variance, variance, group);
    store_channels(a.inverse_deviation, inverse, group);
    if (a.y == nullptr) return;
    const Lanes<T> factor = inverse * load_lanes(a.scale + group.first, count);
    const Lanes<T> offset = load_lanes(a.offset + group.first, count);
    T* y = a.y + group.first;
    for (std::int64_t r = 0; r < group.rows(); ++r)
      store_lanes(y + r * stride, (load_lanes(x + r * stride, count) - mean) * factor + offset, count);
  });
}

template <class T>
void batch_norm_gradient(const BatchNormGradientArguments<T>& a, const ChannelBlock& block) {
  for_groups(block, [&a](const Group& group) {
    const T *x = a.x + group.first, *dy = a.dy + group.first;
    const std::int64_t stride = group.channels, count = group.count, rows = group.rows();
    const Lanes<T> mean = load_lanes(a.mean + group.first, count);
    const Lanes<T> inverse = load_lanes(a.inverse_deviation + group.first, count);
    double sums[lane_count] = {}, products[lane_count] = {};
    add_terms<T>(sums, 0, rows, 1.0, [=](std::int64_t r) { return load_lanes(dy + r * stride, count); });
    add_terms<T>(products, 0, rows, 1.0, [=](std::int64_t r) {
      return load_lanes(dy + r * stride, count) * (load_lanes(x + r * stride, count) - mean);
    });
    store_channels(a.doffset, lanes_of<T>(sums, 1.0), group);
    store_channels(a.dscale, lanes_of<T>(products, 1.0) * inverse, group);
    if (a.dx == nullptr) return;
    const double share = inverse_weight(group, a.weights);
    const Lanes<T> factor = inverse * load_lanes(a.scale + group.first, count);
    const Lanes<T> mean_dy = lanes_of<T>(sums, share);
    const Lanes<T> slope = lanes_of<T>(products, share) * inverse * inverse;
    T* dx = a.dx + group.first;
    for (std::int64_t s = 0; s < group.samples; ++s) {
      const Lanes<T> weight = splat_lanes(a.weights != nullptr ? a.weights[s] : T(1));
      const Lanes<T> shift = weight * mean_dy, tilt = weight * slope;
      for (std::int64_t r = s * group.places; r < (s + 1) * group.places; ++r) {
        const Lanes<T> centered = load_lanes(x + r * stride, count) - mean;
        store_lanes(dx + r * stride, ((load_lanes(dy + r * stride, count) - shift) - centered * tilt) * factor, count);
      }
    }
  });
}

template <class T>
void layer_norm(const LayerNormArguments<T>& a, std::int64_t columns, std::int64_t first, std::int64_t last) {
  // Rows of no elements have the statistics 0.
  const double share = columns > 0 ? 1 / static_cast<double>(columns) : 0.0;
  for (std::int64_t r = first; r < last; ++r) {
    const T* x = a.x + r * columns;
    const T mean =
        static_cast<T>(sum_of<T>(columns, [=](std::int64_t i, std::int64_t n) { return load_lanes(x + i, n); }) * share);
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
    // The gradient of the normalised row; zeros behind its end.
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
  for_groups({rows, 1, columns, first, last}, [&a](const Group& group) {
    const T *x = a.x + group.first, *dy = a.dy + group.first, *mean = a.mean, *inverse = a.inverse_deviation;
    const std::int64_t stride = group.channels, count = group.count;
    double sums[lane_count] = {}, products[lane_count] = {};
    if (a.doffset != nullptr)
      add_terms<T>(sums, 0, group.samples, 1.0, [=](std::int64_t r) { return load_lanes(dy + r * stride, count); });
    if (a.dscale != nullptr)
      add_terms<T>(products, 0, group.samples, 1.0, [=](std::int64_t r) {
        const Lanes<T> normalised = (load_lanes(x + r * stride, count) - splat_lanes(mean[r])) * splat_lanes(inverse[r]);
        return load_lanes(dy + r * stride, count) * normalised;
      });
    store_channels(a.doffset, lanes_of<T>(sums, 1.0), group);
    store_channels(a.dscale, lanes_of<T>(products, 1.0), group);
  });
}

template <class T>
constexpr NormaliseRoutinesOf<T> normalise = {
    .softmax = softmax<T>,
    .log_softmax = log_softmax<T>,
    .cross_entropy = cross_entropy<T>,
    .sparse_cross_entropy = sparse_cross_entropy<T>,
    .batch_norm = batch_norm<T>,
    .batch_norm_gradient = batch_norm_gradient<T>,
    .layer_norm = layer_norm<T>,
    .layer_norm_gradient_rows = layer_norm_gradient_rows<T>,
    .layer_norm_gradient_columns = layer_norm_gradient_columns<T>,
};

}  // namespace

void fill(NormaliseRoutines& table) { table = {.float32 = normalise<float>, .float64 = normalise<double>}; }

}  // namespace pando::cpu::inline PANDO_INSTRUCTION_SET
