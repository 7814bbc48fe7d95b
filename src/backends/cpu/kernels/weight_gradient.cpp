// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/weight_gradient.h"

#include <algorithm>

namespace pando::cpu {

namespace {

// Pixels of dy that are summed in registers before the sum is added to the result.
constexpr std::int64_t most_pixels_of_a_run = 512;

}  // namespace

PixelRuns::PixelRuns(const Window& window, const Shape& x, const Shape& dy) : window_(window), dy_(dy) {
  const auto rows = CorrelationAxis::of_convolution(window, 0, x[1], dy[1]);
  const auto columns = CorrelationAxis::of_convolution(window, 1, x[2], dy[2]);
  image_ = {.height = x[1],
            .width = x[2],
            .channels = x[3],
            .lead_rows = rows.lead(),
            .lead_columns = columns.lead(),
            .padded_height = rows.padded(),
            .padded_width = columns.padded()};
  const std::int64_t pixels = std::max<std::int64_t>(dy[1] * dy[2], 1);
  images_ = std::clamp<std::int64_t>(most_pixels_of_a_run / 2 / pixels, 1, std::max<std::int64_t>(dy[0], 1));
  rows_ = std::max<std::int64_t>(dy[1], 1);
  if (pixels > most_pixels_of_a_run) {
    const std::int64_t runs = divide_up(pixels, most_pixels_of_a_run);
    rows_ = divide_up(dy[1], std::min(runs, dy[1]));
  }
}

ChannelBlocks::ChannelBlocks(const Window& window, const Shape& result, std::int64_t block, const CopyStrides& copy)
    : block_(block), channels_(result[2]), filters_(result[3]), taps_(window.kernel[0] * window.kernel[1]) {
  full_ = lay_out(window, block, copy);
  last_ = lay_out(window, channels_ - (divide_up(channels_, block) - 1) * block, copy);
}

ChannelBlocks::Table ChannelBlocks::lay_out(const Window& window, std::int64_t width, const CopyStrides& copy) const {
  Table table = {.width = width};
  for (std::int64_t tap = 0; tap < taps_; ++tap) {
    const std::int64_t row = tap / window.kernel[1] * window.dilations[0];
    const std::int64_t column = tap % window.kernel[1] * window.dilations[1];
    for (std::int64_t channel = 0; channel < width; ++channel) {
      table.x.push_back(row * copy.row + column * copy.pixel + channel * copy.channel);
      table.result.push_back((tap * channels_ + channel) * filters_);
    }
  }
  return table;
}

Work ChannelBlocks::work(std::int64_t groups, std::int64_t panels, std::int64_t panel) const {
  const auto height = static_cast<double>(block_), width = static_cast<double>(panel);
  return {.batches = groups,
          .blocks = divide_up(channels_, block_) * taps_,
          .panels = panels,
          .block_cost = height * width / 4,
          .load_rows = height,
          .load_panel = width};
}

}  // namespace pando::cpu
