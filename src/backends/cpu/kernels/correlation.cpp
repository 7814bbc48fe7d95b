// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/correlation.h"

#include <algorithm>

#include "backends/cpu/kernels/mixed_cost.h"

namespace pando::cpu {

template <class T, class S>
Correlation<T, S>::Correlation(const CorrelationSizes& sizes, std::int64_t most_steps, std::int64_t most_images,
                               const Routines& routines, ScratchLayout& layout)
    : sizes_(sizes),
      matrix_(product_routines<T, S>(routines)),
      image_(padded_source(sizes)),
      reach_(sizes.rows.reach()),
      by_channel_(sizes.groups > 1 && sizes.source_channels == sizes.groups && sizes.result_channels == sizes.groups),
      groups_(by_channel_ ? 1 : sizes.groups),
      depth_(by_channel_ ? 1 : sizes.source_channels / sizes.groups),
      columns_(sizes.result_channels / groups_),
      most_images_(most_images),
      images_at_once_(images_at_once(sizes)) {
  if constexpr (std::is_same_v<T, S>) {
    if (PlaneCorrelation<T>::suits(sizes, routines)) {
      planes_.emplace(sizes, most_steps, routines, layout);
      return;
    }
  }
  for (std::int64_t row = 0; row < static_cast<std::int64_t>(sizes_.rows.taps.size()); ++row) {
    for (std::int64_t column = 0; column < static_cast<std::int64_t>(sizes_.columns.taps.size()); ++column) {
      add_phase(row, column, most_steps);
    }
  }
  const std::int64_t width = panel(columns());
  group_step_ = panel_step(by_channel_ || columns_ == 0 ? width : divide_up(columns_, width) * width);
  filter_scratch_ = layout.add_elements<S>(groups_ * group_step_);
  const std::int64_t rows = most_images_ > 1 ? most_images_ * image_.padded_height : source_rows(0, most_steps);
  image_scratch_ = copies() ? layout.add_elements<S>(rows * image_.row_elements()) : 0;
}

template <class T, class S>
std::int64_t Correlation<T, S>::panel(Range columns) const {
  return by_channel_ ? columns_ : panel_width(matrix_, columns.end - columns.begin);
}

template <class T, class S>
void Correlation<T, S>::add_phase(std::int64_t row, std::int64_t column, std::int64_t most_steps) {
  const auto& column_taps = sizes_.columns.taps[static_cast<std::size_t>(column)];
  Phase phase = {.row = row,
                 .column = column,
                 .columns = sizes_.columns.steps(column),
                 .pitch = pitch_of(sizes_.columns.steps(column)),
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
  const std::int64_t source_image = image_.padded_height * image_.row_elements();
  const std::int64_t result_image = sizes_.rows.result * sizes_.columns.result * sizes_.result_channels;
  for (std::int64_t step = 0; step < most_steps; ++step) {
    for (std::int64_t image = 0; image < most_images_; ++image) {
      for (std::int64_t i = 0; i < phase.pitch; ++i) {
        phase.source_pixels.push_back(image * source_image +
                                      (step * sizes_.rows.step * image_.padded_width + i * sizes_.columns.step) *
                                          image_.channels);
        const std::int64_t pixel = step * sizes_.rows.phases * sizes_.columns.result + i * sizes_.columns.phases;
        phase.result_pixels.push_back(i < phase.columns ? image * result_image + pixel * sizes_.result_channels : -1);
      }
    }
  }
  phases_.push_back(std::move(phase));
}

// Blocks of rows are whole without the pixels in between if they divide a row.
template <class T, class S>
std::int64_t Correlation<T, S>::pitch_of(std::int64_t columns) const {
  if constexpr (!std::is_same_v<T, S>) {
    const bool follow = sizes_.rows.step == 1 && sizes_.columns.step == 1 && most_images_ == 1;
    if (matrix_.prefers_equal_distances && follow && columns % matrix_.lanes != 0) return image_.padded_width;
  }
  return columns;
}

template <class T, class S>
std::int64_t Correlation<T, S>::source_rows(std::int64_t first, std::int64_t last) const {
  return std::min((last - first - 1) * sizes_.rows.step + reach_, image_.padded_height - first * sizes_.rows.step);
}

template <class T, class S>
void Correlation<T, S>::begin(const T* filter, Range columns, std::byte* scratch) const {
  if (planes_) return planes_->begin(filter, scratch);
  const bool across = sizes_.transposed && !by_channel_;
  const std::int64_t filters = sizes_.transposed ? sizes_.source_channels : sizes_.result_channels;
  const std::int64_t channels = by_channel_ ? 1 : sizes_.transposed ? columns_ : depth_;
  const std::int64_t group_filters = across ? depth_ : columns_;
  const std::int64_t width = panel(columns), first = columns.begin * (across ? filters : 1);
  for (std::int64_t group = 0; group < groups_; ++group) {
    S* to = at<S>(scratch, filter_scratch_) + group * group_step_;
    for (const std::int64_t tap : taps_) {
      (across ? matrix_.pack_transposed
              : matrix_.pack)({.from = filter + tap * channels * filters + group * group_filters + first,
                               .step = filters,
                               .depth = depth_,
                               .columns = columns.end - columns.begin,
                               .panel = width,
                               .to = to,
                               .panel_step = panel_step(width)});
      to += depth_ * width;
    }
  }
}

template <class T, class S>
void Correlation<T, S>::run(const T* image, std::int64_t images, Range steps, Range columns, T* result,
                            std::byte* scratch) const {
  if (planes_) return planes_->run(image, steps.begin, steps.end, result, scratch);
  const std::int64_t first = steps.begin;
  const S* const source = place_rows(image, images, first * sizes_.rows.step, source_rows(first, steps.end), scratch);
  for (const Phase& phase : phases_) {
    const std::int64_t count = std::min(steps.end, sizes_.rows.steps(phase.row)) - first;
    const std::int64_t step_pixels = most_images_ * phase.pitch;
    for (std::int64_t step = 0; step < count;) {
      const auto taps_at = [&](std::int64_t i) {
        return row_taps(sizes_, phase.row, images_at_once_ * phase.columns, matrix_.block_rows, first + i);
      };
      const Range taps = taps_at(step);
      std::int64_t end = step + 1;
      // The pixels of several steps lie side by side only if there are as many images as there may be.
      while (images == most_images_ && end < count && taps_at(end) == taps) ++end;
      const std::int64_t begin = step * step_pixels;
      const std::int64_t length = (end - step) * images * phase.pitch - (phase.pitch - phase.columns);
      run_phase(phase, taps, {begin, begin + length}, columns, source, result, scratch);
      step = end;
    }
  }
}

template <class T, class S>
const S* Correlation<T, S>::place_rows(const T* image, std::int64_t images, std::int64_t first, std::int64_t count,
                                       std::byte* scratch) const {
  if (!copies()) {
    if constexpr (std::is_same_v<T, S>) return image + first * image_.row_elements();
  }
  S* const rows = at<S>(scratch, image_scratch_);
  for (std::int64_t i = 0; i < images; ++i) {
    const T* const from = image + i * image_.height * image_.width * image_.channels;
    S* const to = rows + i * image_.padded_height * image_.row_elements();
    if constexpr (std::is_same_v<T, S>) {
      image_.copy_rows(from, first, count, to);
    } else {
      image_.copy_rows(from, first, count, to, matrix_.round);
    }
  }
  return rows;
}

template <class T, class S>
void Correlation<T, S>::run_phase(const Phase& phase, Range taps, Range pixels, Range columns, const S* source,
                                  T* result, std::byte* scratch) const {
  const std::int64_t last_segment = taps.end * phase.taps.row_segments, at_once = phase.taps.at_once;
  const std::int64_t width = panel(columns);
  T* const c = result + (phase.row * sizes_.columns.result + phase.column) * sizes_.result_channels + columns.begin;
  for (std::int64_t group = 0; group < groups_; ++group) {
    const S* const b = at<S>(scratch, filter_scratch_) + group * group_step_ + phase.filter_row * width;
    std::int64_t segment = taps.begin * phase.taps.row_segments;
    bool accumulate = false;
    do {  // once even without taps: the result is zero then
      const Product<T, S> product = {.a = source + group * depth_,
                                     .a_rows = phase.source_pixels.data() + pixels.begin,
                                     .segments = phase.segments.data() + segment,
                                     .segment_count = std::min(at_once, last_segment - segment),
                                     .depth = phase.taps.depth,
                                     .a_step = 1,
                                     .b = b + segment * phase.taps.depth * width,
                                     .b_step = width,
                                     .b_panel = panel_step(width),
                                     .panel = width,
                                     .c = c + group * columns_,
                                     .c_rows = phase.result_pixels.data() + pixels.begin,
                                     .rows = pixels.end - pixels.begin,
                                     .columns = columns.end - columns.begin,
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
  if (mixed == nullptr || dtype != DType::float32 || sizes.groups != 1 || sizes.source_channels < 8 ||
      sizes.source_channels % mixed->depth_step != 0 || sizes.result_channels < 16) {
    return false;
  }
  // Of an image, all phases together: each result meets as many taps as the phases have on average.
  double products = 0, mixed_products = 0, segments = 0;
  const std::int64_t filters = round_up(sizes.result_channels, routines.matmul.float32.lanes);
  const std::int64_t mixed_filters = round_up(sizes.result_channels, 2 * mixed->lanes);
  for (std::size_t row = 0; row < sizes.rows.taps.size(); ++row) {
    for (std::size_t column = 0; column < sizes.columns.taps.size(); ++column) {
      const TapSegments taps = tap_segments<BFloat16>(sizes, static_cast<std::int64_t>(column));
      const auto pixels = static_cast<double>(sizes.rows.steps(static_cast<std::int64_t>(row)) *
                                              sizes.columns.steps(static_cast<std::int64_t>(column)));
      const std::int64_t count = static_cast<std::int64_t>(sizes.rows.taps[row].size()) * taps.row_segments;
      products += pixels * static_cast<double>(count * taps.depth * filters);
      mixed_products += pixels * static_cast<double>(count * round_up(taps.depth, 2 * mixed->lanes) * mixed_filters);
      segments += pixels * static_cast<double>(std::max<std::int64_t>(divide_up(count, taps.at_once), 1));
    }
  }
  return pays(*mixed, {.products = products,
                       .mixed_products = mixed_products,
                       .rounded = static_cast<double>(sizes.rows.source * sizes.columns.source * sizes.source_channels),
                       .rows = segments,
                       .results = segments * static_cast<double>(sizes.result_channels)});
}

}  // namespace pando::cpu
