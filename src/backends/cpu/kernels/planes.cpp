// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/planes.h"

#include <algorithm>

namespace pando::cpu {

namespace {

template <class T>
const PlaneRoutinesOf<T>& plane_routines(const Routines& routines) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return routines.planes.float32;
  } else {
    return routines.planes.float64;
  }
}

// Channels that are split at once; the rest becomes as many planes as the next power of two.
constexpr std::int64_t channels_at_once = 8;
std::int64_t plane_count(std::int64_t channels) {
  std::int64_t rest = 1;
  while (rest < channels % channels_at_once) rest *= 2;
  return channels / channels_at_once * channels_at_once + (channels % channels_at_once == 0 ? 0 : rest);
}

std::int64_t tap_count(const CorrelationAxis& axis) { return static_cast<std::int64_t>(axis.taps[0].size()); }

}  // namespace

template <class T>
bool PlaneCorrelation<T>::suits(const CorrelationSizes& sizes, const Routines& routines) {
  const PlaneRoutinesOf<T>& planes = plane_routines<T>(routines);
  if (sizes.groups != 1 || sizes.result_channels > planes.most_filters || sizes.result_channels == 0) return false;
  for (const CorrelationAxis* axis : {&sizes.rows, &sizes.columns}) {
    if (axis->phases != 1 || axis->step != 1 || axis->taps.empty() || axis->taps[0].empty()) return false;
  }
  const std::int64_t products = tap_count(sizes.rows) * tap_count(sizes.columns) * sizes.source_channels;
  // Multiplications of vectors for a row of the result: planes also compute the padding between rows. Splitting and
  // joining a vector of pixels takes about four instructions for each plane.
  const std::int64_t as_channels = sizes.columns.result * products * divide_up(sizes.result_channels, planes.lanes);
  const std::int64_t moves = 4 * (plane_count(sizes.source_channels) + plane_count(sizes.result_channels));
  const std::int64_t as_planes = sizes.columns.padded() * (products * sizes.result_channels + moves) / planes.lanes;
  return as_planes < as_channels;
}

template <class T>
PlaneCorrelation<T>::PlaneCorrelation(const CorrelationSizes& sizes, std::int64_t most_steps, const Routines& routines,
                                      ScratchLayout& layout)
    : sizes_(sizes),
      planes_(plane_routines<T>(routines)),
      image_(padded_source(sizes)),
      block_rows_(matrix_routines<T>(routines).block_rows),
      reach_(sizes.rows.reach()),
      taps_(tap_segments<T>(sizes, 0)),
      source_step_(source_rows(0, most_steps) * image_.padded_width + image_.lead_columns + planes_.lanes),
      result_step_(most_steps * image_.padded_width + planes_.lanes) {
  for (const auto& row : sizes_.rows.taps[0]) {
    for (const auto& column : sizes_.columns.taps[0]) {
      for (std::int64_t channel = 0; channel < sizes_.source_channels; ++channel) {
        offsets_.push_back(channel * source_step_ + (row.offset + image_.lead_rows) * image_.padded_width +
                           column.offset + image_.lead_columns);
      }
    }
  }
  filter_scratch_ = layout.add_elements<T>(static_cast<std::int64_t>(offsets_.size()) * sizes_.result_channels);
  source_scratch_ = layout.add_elements<T>(plane_count(sizes_.source_channels) * source_step_);
  // The last sums of a plane may reach one vector further than its pixels.
  result_scratch_ = layout.add_elements<T>(sizes_.result_channels * result_step_ + planes_.lanes);
  room_scratch_ = layout.add_elements<T>((image_.width + planes_.lanes) * channels_at_once);
}

template <class T>
std::int64_t PlaneCorrelation<T>::source_rows(std::int64_t first, std::int64_t last) const {
  return std::min(last - first - 1 + reach_, image_.padded_height - first);
}

template <class T>
void PlaneCorrelation<T>::begin(const T* filter, std::byte* scratch) const {
  const std::int64_t channels = sizes_.source_channels, filters = sizes_.result_channels;
  T* to = at<T>(scratch, filter_scratch_);
  for (const auto& row : sizes_.rows.taps[0]) {
    for (const auto& column : sizes_.columns.taps[0]) {
      const T* const tap = filter + (row.index * sizes_.kernel_width + column.index) * channels * filters;
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        for (std::int64_t f = 0; f < filters; ++f) {
          *to++ = sizes_.transposed ? tap[f * channels + channel] : tap[channel * filters + f];
        }
      }
    }
  }
}

template <class T>
void PlaneCorrelation<T>::split_rows(const T* image, std::int64_t first, std::int64_t count, std::byte* scratch) const {
  const std::int64_t channels = image_.channels, planes = plane_count(channels), pitch = image_.padded_width;
  T* const source = at<T>(scratch, source_scratch_);
  // The padding between two rows: to the right of one and to the left of the next. split() leaves zeros up to a whole
  // vector, which usually reach that far.
  const std::int64_t end = image_.lead_columns + image_.width, between = pitch - image_.width;
  const std::int64_t filled = divide_up(image_.width, planes_.lanes) * planes_.lanes - image_.width;
  const auto clear = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      std::fill(source + plane * source_step_ + from, source + plane * source_step_ + to, T(0));
    }
  };
  clear(0, image_.lead_columns);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = first - image_.lead_rows + i;
    if (row < 0 || row >= image_.height) {
      clear(i * pitch, (i + 1) * pitch + image_.lead_columns);
      continue;
    }
    const T* const pixels = image + row * image_.width * channels;
    for (std::int64_t c = 0; c < channels; c += channels_at_once) {
      planes_.split(pixels + c, channels, std::min(channels - c, channels_at_once), image_.width,
                    source + c * source_step_ + i * pitch + image_.lead_columns, source_step_,
                    at<T>(scratch, room_scratch_));
    }
    if (filled < between) clear(i * pitch + end, i * pitch + end + between);
  }
  clear(count * pitch, count * pitch + planes_.lanes);
}

template <class T>
void PlaneCorrelation<T>::run(const T* image, std::int64_t first, std::int64_t last, T* result,
                              std::byte* scratch) const {
  split_rows(image, first, source_rows(first, last), scratch);
  const std::int64_t steps = last - first;
  for (std::int64_t step = 0; step < steps;) {
    const auto taps_at = [&](std::int64_t i) {
      return row_taps(sizes_, 0, sizes_.columns.result, block_rows_, first + i);
    };
    const Range taps = taps_at(step);
    std::int64_t end = step + 1;
    while (end < steps && taps_at(end) == taps) ++end;
    sum_steps(taps, {step, end}, scratch);
    step = end;
  }
  for (std::int64_t step = 0; step < steps; ++step) {
    planes_.join(at<T>(scratch, result_scratch_) + step * image_.padded_width, result_step_, sizes_.result_channels,
                 sizes_.columns.result, result + step * sizes_.columns.result * sizes_.result_channels);
  }
}

// The pixels of these steps follow each other, with the columns in between that are padding.
template <class T>
void PlaneCorrelation<T>::sum_steps(Range taps, Range steps, std::byte* scratch) const {
  const std::int64_t first = steps.begin * image_.padded_width;
  const std::int64_t pixels = (steps.end - steps.begin - 1) * image_.padded_width + sizes_.columns.result;
  const std::int64_t last_segment = taps.end * taps_.row_segments;
  std::int64_t segment = taps.begin * taps_.row_segments;
  bool accumulate = false;
  do {  // once even without taps: the result is zero then
    const std::int64_t end = std::min(segment + taps_.at_once, last_segment);
    planes_.sum({.x = at<T>(scratch, source_scratch_) + first,
                 .offsets = offsets_.data() + segment * taps_.depth,
                 .filter = at<T>(scratch, filter_scratch_) + segment * taps_.depth * sizes_.result_channels,
                 .products = (end - segment) * taps_.depth,
                 .filters = sizes_.result_channels,
                 .vectors = divide_up(pixels, planes_.lanes),
                 .sums = at<T>(scratch, result_scratch_) + first,
                 .sums_step = result_step_,
                 .accumulate = accumulate});
    segment = end;
    accumulate = true;
  } while (segment < last_segment);
}

template class PlaneCorrelation<float>;
template class PlaneCorrelation<double>;

}  // namespace pando::cpu
