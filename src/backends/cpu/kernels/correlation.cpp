// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/correlation.h"

#include <algorithm>
#include <cstring>

namespace pando::cpu {

namespace {

// Rows of the filter that are used together: a panel of them stays in the first-level cache.
template <class S>
constexpr std::int64_t most_filter_rows = sizeof(S) < sizeof(float) ? 1024 : 512;

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
template TapSegments tap_segments<double>(const CorrelationSizes&, std::int64_t);

Range row_taps(const CorrelationSizes& sizes, std::int64_t row_phase, std::int64_t columns, std::int64_t block_rows,
               std::int64_t step) {
  const auto& taps = sizes.rows.taps[static_cast<std::size_t>(row_phase)];
  Range range = {0, static_cast<std::int64_t>(taps.size())};
  // A row by itself must fill its block of registers better than the zeros would.
  if (4 * columns < 3 * block_rows) return range;
  const auto source = [&](std::int64_t tap) {
    return step * sizes.rows.step + taps[static_cast<std::size_t>(tap)].offset;
  };
  while (range.begin < range.end && source(range.begin) < 0) ++range.begin;
  while (range.begin < range.end && source(range.end - 1) >= sizes.rows.source) --range.end;
  return range;
}

template <class T, class S>
Correlation<T, S>::Correlation(const CorrelationSizes& sizes, std::int64_t most_steps, const Routines& routines,
                               ScratchLayout& layout)
    : sizes_(sizes),
      matrix_(product_routines<T, S>(routines)),
      image_{.height = sizes.rows.source,
             .width = sizes.columns.source,
             .channels = sizes.source_channels,
             .lead_rows = sizes.rows.lead(),
             .lead_columns = sizes.columns.lead(),
             .padded_height = sizes.rows.padded(),
             .padded_width = sizes.columns.padded()},
      reach_(sizes.rows.reach()),
      by_channel_(sizes.groups > 1 && sizes.source_channels == sizes.groups && sizes.result_channels == sizes.groups),
      groups_(by_channel_ ? 1 : sizes.groups),
      depth_(by_channel_ ? 1 : sizes.source_channels / sizes.groups),
      columns_(sizes.result_channels / groups_),
      panel_(by_channel_ ? columns_ : panel_width(matrix_, columns_)) {
  for (std::int64_t row = 0; row < static_cast<std::int64_t>(sizes_.rows.taps.size()); ++row) {
    for (std::int64_t column = 0; column < static_cast<std::int64_t>(sizes_.columns.taps.size()); ++column) {
      add_phase(row, column, most_steps);
    }
  }
  panel_step_ = static_cast<std::int64_t>(taps_.size()) * depth_ * panel_;
  group_step_ = by_channel_ || columns_ == 0 ? panel_step_ : divide_up(columns_, panel_) * panel_step_;
  filter_scratch_ = layout.add_elements<S>(groups_ * group_step_);
  image_scratch_ = copies() ? layout.add_elements<S>(source_rows(0, most_steps) * image_.row_elements()) : 0;
}

template <class T, class S>
void Correlation<T, S>::add_phase(std::int64_t row, std::int64_t column, std::int64_t most_steps) {
  const auto& column_taps = sizes_.columns.taps[static_cast<std::size_t>(column)];
  Phase phase = {.row = row,
                 .column = column,
                 .columns = sizes_.columns.steps(column),
                 .filter_row = static_cast<std::int64_t>(taps_.size()) * depth_,
                 .taps = tap_segments<S>(sizes_, column)};
  for (const auto& row_tap : sizes_.rows.taps[static_cast<std::size_t>(row)]) {
    for (const auto& column_tap : column_taps) {
      taps_.push_back(row_tap.index * sizes_.kernel_width + column_tap.index);
      if (phase.taps.joins && &column_tap != &column_taps.front()) continue;
      phase.segments.push_back(
          ((row_tap.offset + image_.lead_rows) * image_.padded_width + column_tap.offset + image_.lead_columns) *
          image_.channels);
    }
  }
  for (std::int64_t step = 0; step < most_steps; ++step) {
    for (std::int64_t i = 0; i < phase.columns; ++i) {
      phase.source_pixels.push_back((step * sizes_.rows.step * image_.padded_width + i * sizes_.columns.step) *
                                    image_.channels);
      phase.result_pixels.push_back((step * sizes_.rows.phases * sizes_.columns.result + i * sizes_.columns.phases) *
                                    sizes_.result_channels);
    }
  }
  phases_.push_back(std::move(phase));
}

template <class T, class S>
std::int64_t Correlation<T, S>::source_rows(std::int64_t first, std::int64_t last) const {
  return std::min((last - first - 1) * sizes_.rows.step + reach_, image_.padded_height - first * sizes_.rows.step);
}

template <class T, class S>
void Correlation<T, S>::begin(const T* filter, std::byte* scratch) const {
  const std::int64_t filters = sizes_.transposed ? sizes_.source_channels : sizes_.result_channels;
  const std::int64_t channels = by_channel_ ? 1 : sizes_.transposed ? columns_ : depth_;
  const std::int64_t group_filters = sizes_.transposed && !by_channel_ ? depth_ : columns_;
  const auto pack = sizes_.transposed && !by_channel_ ? matrix_.pack_transposed : matrix_.pack;
  for (std::int64_t group = 0; group < groups_; ++group) {
    S* to = at<S>(scratch, filter_scratch_) + group * group_step_;
    for (const std::int64_t tap : taps_) {
      pack({.from = filter + tap * channels * filters + group * group_filters,
            .step = filters,
            .depth = depth_,
            .columns = columns_,
            .panel = panel_,
            .to = to,
            .panel_step = panel_step_});
      to += depth_ * panel_;
    }
  }
}

template <class T, class S>
void Correlation<T, S>::run(const T* image, std::int64_t first, std::int64_t last, T* result,
                            std::byte* scratch) const {
  const S* const source = place_rows(image, first * sizes_.rows.step, source_rows(first, last), scratch);
  for (const Phase& phase : phases_) {
    const std::int64_t steps = std::min(last, sizes_.rows.steps(phase.row)) - first;
    for (std::int64_t step = 0; step < steps;) {
      const auto taps_at = [&](std::int64_t i) {
        return row_taps(sizes_, phase.row, phase.columns, matrix_.block_rows, first + i);
      };
      const Range taps = taps_at(step);
      std::int64_t end = step + 1;
      while (end < steps && taps_at(end) == taps) ++end;
      run_phase(phase, taps, {step, end}, source, result, scratch);
      step = end;
    }
  }
}

template <class T, class S>
const S* Correlation<T, S>::place_rows(const T* image, std::int64_t first, std::int64_t count,
                                       std::byte* scratch) const {
  S* const rows = at<S>(scratch, image_scratch_);
  if constexpr (!std::is_same_v<T, S>) {
    image_.copy_rows(image, first, count, rows, matrix_.round);
  } else {
    if (!image_.is_padded()) return image + first * image_.row_elements();
    image_.copy_rows(image, first, count, rows);
  }
  return rows;
}

template <class T, class S>
void Correlation<T, S>::run_phase(const Phase& phase, Range taps, Range steps, const S* source, T* result,
                                  std::byte* scratch) const {
  const std::int64_t last_segment = taps.end * phase.taps.row_segments, at_once = phase.taps.at_once;
  T* const c = result + (phase.row * sizes_.columns.result + phase.column) * sizes_.result_channels;
  for (std::int64_t group = 0; group < groups_; ++group) {
    const S* const b = at<S>(scratch, filter_scratch_) + group * group_step_ + phase.filter_row * panel_;
    std::int64_t segment = taps.begin * phase.taps.row_segments;
    bool accumulate = false;
    do {  // once even without taps: the result is zero then
      const Product<T, S> product = {.a = source + group * depth_,
                                     .a_rows = phase.source_pixels.data() + steps.begin * phase.columns,
                                     .segments = phase.segments.data() + segment,
                                     .segment_count = std::min(at_once, last_segment - segment),
                                     .depth = phase.taps.depth,
                                     .a_step = 1,
                                     .b = b + segment * phase.taps.depth * panel_,
                                     .b_step = panel_,
                                     .b_panel = panel_step_,
                                     .panel = panel_,
                                     .c = c + group * columns_,
                                     .c_rows = phase.result_pixels.data() + steps.begin * phase.columns,
                                     .rows = (steps.end - steps.begin) * phase.columns,
                                     .columns = columns_,
                                     .accumulate = accumulate};
      if constexpr (std::is_same_v<T, S>) {
        (by_channel_ ? matrix_.multiply_columns : matrix_.multiply)(product);
      } else {
        matrix_.multiply(product);
      }
      segment += at_once;
      accumulate = true;
    } while (segment < last_segment);
  }
}

template class Correlation<float>;
template class Correlation<float, BFloat16>;
template class Correlation<double>;

bool suits_mixed(const CorrelationSizes& sizes, DType dtype, const Routines& routines) {
  const MixedMatmulRoutines* const mixed = routines.matmul.mixed;
  // Few channels would be copied in tiny pieces, and few filters would not pay for rounding the image.
  return mixed != nullptr && dtype == DType::float32 && sizes.groups == 1 && sizes.source_channels >= 8 &&
         sizes.source_channels % mixed->depth_step == 0 && sizes.result_channels >= 16;
}

}  // namespace pando::cpu
