// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/correlation_sizes.h"

#include <algorithm>

namespace pando::cpu {

namespace {

// Rows of the filter that are used together: a panel of them stays in the first-level cache.
template <class S>
constexpr std::int64_t most_filter_rows = sizeof(S) < sizeof(float) ? 1024 : 512;

// A filter of this many elements fills the second-level cache. Images are taken together until they have this many
// pixels, unless there are few filters, which vectors of pixels suit better.
constexpr std::int64_t large_filter = 1 << 18, most_pixels = 64, fewest_filters = 32;

}  // namespace

CorrelationAxis CorrelationAxis::of_convolution(const Window& window, std::size_t axis, std::int64_t input,
                                                std::int64_t output) {
  CorrelationAxis result = {.source = input, .result = output, .step = window.strides[axis], .taps = {{}}};
  for (std::int64_t k = 0; k < window.kernel[axis]; ++k) {
    result.taps[0].push_back({k, k * window.dilations[axis] - window.before(axis)});
  }
  return result;
}

CorrelationAxis CorrelationAxis::of_input_gradient(const Window& window, std::size_t axis, std::int64_t input,
                                                   std::int64_t output) {
  CorrelationAxis result = {.source = output, .result = input, .phases = window.strides[axis], .taps = {}};
  for (std::int64_t phase = 0; phase < std::min(result.phases, input); ++phase) {
    std::vector<Tap>& taps = result.taps.emplace_back();
    for (std::int64_t k = window.kernel[axis] - 1; k >= 0; --k) {
      const std::int64_t place = phase + window.before(axis) - k * window.dilations[axis];
      if (place % window.strides[axis] == 0) taps.push_back({k, place / window.strides[axis]});
    }
  }
  return result;
}

std::int64_t CorrelationAxis::lead() const {
  std::int64_t lead = 0;
  for (const auto& phase : taps) {
    for (const Tap& tap : phase) lead = std::max(lead, -tap.offset);
  }
  return lead;
}

std::int64_t CorrelationAxis::reach() const {
  std::int64_t last = 0;
  for (const auto& phase : taps) {
    for (const Tap& tap : phase) last = std::max(last, tap.offset);
  }
  return lead() + last + 1;
}

std::int64_t CorrelationAxis::padded() const {
  std::int64_t last = source - 1;
  for (std::size_t phase = 0; phase < taps.size(); ++phase) {
    for (const Tap& tap : taps[phase]) {
      last = std::max(last, (steps(static_cast<std::int64_t>(phase)) - 1) * step + tap.offset);
    }
  }
  return lead() + last + 1;
}

template <class T, class S>
void PaddedImage::copy_rows(const T* image, std::int64_t first, std::int64_t count, S* to, const auto& copy) const {
  const std::int64_t before = lead_columns * channels, inside = width * channels;
  const std::int64_t after = row_elements() - before - inside;
  for (std::int64_t row = first - lead_rows; row < first - lead_rows + count; ++row, to += row_elements()) {
    if (row < 0 || row >= height) {
      std::fill_n(to, row_elements(), S{});
    } else {
      std::fill_n(to, before, S{});
      copy(image + row * inside, inside, to + before);
      std::fill_n(to + before + inside, after, S{});
    }
  }
}

template <class T>
void PaddedImage::copy_rows(const T* image, std::int64_t first, std::int64_t count, T* to) const {
  copy_rows(image, first, count, to, [](const T* from, std::int64_t n, T* copy) { std::copy_n(from, n, copy); });
}

template void PaddedImage::copy_rows(const float*, std::int64_t, std::int64_t, float*) const;
template void PaddedImage::copy_rows(const double*, std::int64_t, std::int64_t, double*) const;
template void PaddedImage::copy_rows(const float*, std::int64_t, std::int64_t, BFloat16*,
                                     void (*const&)(const float*, std::int64_t, BFloat16*)) const;

PaddedImage padded_source(const CorrelationSizes& sizes) {
  return {.height = sizes.rows.source,
          .width = sizes.columns.source,
          .channels = sizes.source_channels,
          .lead_rows = sizes.rows.lead(),
          .lead_columns = sizes.columns.lead(),
          .padded_height = sizes.rows.padded(),
          .padded_width = sizes.columns.padded()};
}

Shape convolved_shape(const KernelCall& call, const Window& window) {
  const Shape &x = call.inputs[0].type.shape, &filter = call.inputs[1].type.shape;
  return {x[0], window.output_size(0, x[1]), window.output_size(1, x[2]), filter[3]};
}

CorrelationSizes convolution_sizes(const KernelCall& call, const Window& window) {
  const Shape x = call.inputs[0].type.shape, y = convolved_shape(call, window);
  return {.rows = CorrelationAxis::of_convolution(window, 0, x[1], y[1]),
          .columns = CorrelationAxis::of_convolution(window, 1, x[2], y[2]),
          .source_channels = x[3],
          .result_channels = y[3],
          .groups = call.attributes.integer("groups"),
          .kernel_width = window.kernel[1],
          .transposed = false};
}

CorrelationSizes input_gradient_sizes(const Shape& dy, const Shape& dx, const Window& window, std::int64_t groups) {
  return {.rows = CorrelationAxis::of_input_gradient(window, 0, dx[1], dy[1]),
          .columns = CorrelationAxis::of_input_gradient(window, 1, dx[2], dy[2]),
          .source_channels = dy[3],
          .result_channels = dx[3],
          .groups = groups,
          .kernel_width = window.kernel[1],
          .transposed = true};
}

template <class S>
TapSegments tap_segments(const CorrelationSizes& sizes, std::int64_t column_phase) {
  const auto& taps = sizes.columns.taps[static_cast<std::size_t>(column_phase)];
  const auto count = static_cast<std::int64_t>(taps.size());
  const std::int64_t depth = sizes.source_channels / sizes.groups;
  const bool adjacent = count > 0 && taps.back().offset - taps.front().offset == count - 1;
  const bool joins = adjacent && sizes.groups == 1 && count * depth <= most_filter_rows<S>;
  TapSegments result = {
      .joins = joins, .depth = joins ? count * depth : depth, .row_segments = joins ? 1 : count, .at_once = 1};
  result.at_once = std::max<std::int64_t>(most_filter_rows<S> / std::max<std::int64_t>(result.depth, 1), 1);
  return result;
}

template TapSegments tap_segments<float>(const CorrelationSizes&, std::int64_t);
template TapSegments tap_segments<BFloat16>(const CorrelationSizes&, std::int64_t);
template TapSegments tap_segments<double>(const CorrelationSizes&, std::int64_t);

std::int64_t CorrelationSizes::filter_taps() const {
  std::int64_t count = 0;
  for (const auto& row : rows.taps) {
    for (const auto& column : columns.taps) count += static_cast<std::int64_t>(row.size() * column.size());
  }
  return count;
}

std::int64_t images_at_once(const CorrelationSizes& sizes) {
  const std::int64_t steps = sizes.rows.steps(0) * sizes.columns.steps(0);
  const bool is_large = sizes.filter_taps() * sizes.source_channels * sizes.result_channels >= large_filter;
  if (!is_large || sizes.groups > 1 || sizes.result_channels < fewest_filters || steps == 0) return 1;
  return divide_up(most_pixels, steps);
}

std::int64_t images_at_once(const CorrelationSizes& sizes, std::int64_t images) {
  return std::clamp<std::int64_t>(images, 1, images_at_once(sizes));
}

Range row_taps(const CorrelationSizes& sizes, std::int64_t row_phase, std::int64_t pixels, std::int64_t block_rows,
               std::int64_t step) {
  const auto& taps = sizes.rows.taps[static_cast<std::size_t>(row_phase)];
  Range range = {0, static_cast<std::int64_t>(taps.size())};
  // A row by itself must fill its block of registers better than the zeros would.
  if (4 * pixels < 3 * block_rows) return range;
  const auto source = [&](std::int64_t tap) {
    return step * sizes.rows.step + taps[static_cast<std::size_t>(tap)].offset;
  };
  while (range.begin < range.end && source(range.begin) < 0) ++range.begin;
  while (range.begin < range.end && source(range.end - 1) >= sizes.rows.source) --range.end;
  return range;
}

}  // namespace pando::cpu
