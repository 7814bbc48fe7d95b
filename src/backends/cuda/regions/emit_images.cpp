// SPDX-License-Identifier: Apache-2.0
// Phases of convolutions, poolings and their gradients.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/regions/emitter.h"
#include "ops/op_list.h"

namespace pando::cuda {

namespace {

// Numbers of an image that a thread keeps in registers.
constexpr std::int64_t most_patch_numbers = 72;
// Weights of which a block has a copy.
constexpr std::int64_t most_turned_weights = 12 * 1024;

std::int64_t width_of(std::int64_t row) { return row % 4 == 0 ? 4 : row % 2 == 0 ? 2 : 1; }

// What FilterCopy takes in the memory of a block.
std::size_t floats_of_copy(const ConvolutionSizes& own, int ranks) {
  return static_cast<std::size_t>((own.filters + ranks - 1) / ranks * (own.taps() * own.channels + 1));
}

std::string pooling_text(const Window& pool, std::int64_t out_height, std::int64_t out_width) {
  return fmt::format("Pooling<{}, {}, {}, {}, {}, {}, {}, {}>", pool.kernel[0], pool.kernel[1], pool.strides[0],
                     pool.strides[1], pool.before(0), pool.before(1), out_height, out_width);
}

}  // namespace

ConvolutionSizes::ConvolutionSizes(const Attributes& attributes, const Shape& image, const Shape& filter)
    : window(conv_window(attributes, filter)),
      height(image[1]),
      width(image[2]),
      channels(image[3]),
      out_height(window.output_size(0, image[1])),
      out_width(window.output_size(1, image[2])),
      filters(filter[3]) {}

ConvolutionSizes ConvolutionSizes::turned() const {
  ConvolutionSizes back = *this;
  std::swap(back.height, back.out_height);
  std::swap(back.width, back.out_width);
  std::swap(back.channels, back.filters);
  for (std::size_t axis = 0; axis < 2; ++axis)
    back.window.padding[2 * axis] = window.kernel[axis] - 1 - window.before(axis);
  return back;
}

std::string ConvolutionSizes::text() const {
  return fmt::format("Convolution<{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}>", height, width, channels,
                     window.kernel[0], window.kernel[1], window.strides[0], window.strides[1], window.dilations[0],
                     window.dilations[1], window.before(0), window.before(1), out_height, out_width, filters);
}

// The tiles of a convolution, whose results a pooling takes unless it is null.
Emitter::ConvolutionTiles Emitter::choose_tiles(const ConvolutionSizes& own, const Window* pool, std::int64_t rows,
                                                std::int64_t columns) const {
  Window tile;
  if (pool != nullptr) {
    tile = *pool;
  } else {
    tile.kernel = tile.strides = {1, std::min<std::int64_t>(own.out_width, 4)};
    rows = own.out_height;
    columns = (own.out_width + tile.kernel[1] - 1) / tile.kernel[1];
  }
  const auto patch = [&](std::size_t axis) {
    return (tile.kernel[axis] - 1) * own.window.strides[axis] + own.window.reach(axis);
  };
  std::int64_t channels = width_of(own.channels);
  while (channels > 1 && patch(0) * patch(1) * channels > most_patch_numbers) channels /= 2;
  const std::int64_t filters = width_of(own.filters), groups = own.filters / filters;
  const bool by_filters = ranks_ > 1 && groups % ranks_ == 0 && own.channels > 1;
  const std::int64_t items =
      by_filters ? groups / ranks_ * rows * columns : groups * ((rows * columns + ranks_ - 1) / ranks_);
  const std::int64_t floats = tile.kernel[0] * tile.kernel[1] * items * filters;
  // The channels of a part are as many as those of any other. A multiprocessor runs four warps at a time, and needs
  // about three times as many to work while some of them wait for memory.
  const std::int64_t most_parts = own.channels / channels;
  std::int64_t parts = 1, least = -1;
  for (std::int64_t count = 1; count <= most_parts; ++count) {
    if (most_parts % count != 0 || (count > 1 && count * floats > 16 * 1024)) continue;
    const std::int64_t warps = (items * count + 31) / 32, turns = std::max<std::int64_t>((warps + 3) / 4, 3);
    const std::int64_t cost = turns * (most_parts / count) * 16 + (count > 1 ? 16 + count : 0);
    if (least < 0 || cost < least) parts = count, least = cost;
  }
  return {fmt::format("Tiles<{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}>", own.text(), tile.kernel[0],
                      tile.kernel[1], tile.strides[0], tile.strides[1], tile.before(0), tile.before(1), rows, columns,
                      filters, channels, parts, by_filters),
          parts, floats};
}

void Emitter::emit_tiles(const ConvolutionTiles& tiles, bool is_pooled, const std::string& x, const std::string& w,
                         const std::string& body) {
  const std::string use = fmt::format("[&](int i, float sum{}) {{ {}}}", is_pooled ? ", int position" : "", body);
  if (tiles.parts == 1) {
    phase(false, fmt::format("{}<{}>(t, {}, {}, {})", is_pooled ? "convolve_and_pool" : "convolve_at_once", tiles.type,
                             x, w, use));
  } else {
    const std::string sums = scratch(tiles.floats * tiles.parts);
    phase(false, fmt::format("convolve<{}>(t, {}, {}, {})", tiles.type, x, w, sums));
    phase(false, fmt::format("{}<{}>(t, {}, {})", is_pooled ? "finish_pooled_convolution" : "finish_convolution",
                             tiles.type, sums, use));
  }
  if (ranks_ == 1) return;
  const Member& last = members_[static_cast<std::size_t>(end_of_chain(now_)) - 1];
  std::string exchanges;
  for (std::size_t i = 0; i < last.outputs.size(); ++i)
    if (const auto stored = storage_of_.find(last.outputs[i]); stored != storage_of_.end())
      exchanges += fmt::format("exchange_results<{}, {}, {}>(t, @{}@); ", tiles.type, is_pooled,
                               type_name(last.call.outputs[i].type.dtype), stored->second);
  if (!exchanges.empty()) phase(true, exchanges);
}

void Emitter::emit_convolution(const Member& member) {
  const Attributes& attributes = member.call.attributes;
  const ConvolutionSizes own(attributes, member.call.inputs[0].type.shape, member.call.inputs[1].type.shape);
  const bool is_pooled = member.call.op->id == Op::conv2d_max_pool;
  std::string body = finish_text(member, "sum", "put_here");
  if (!is_pooled)
    return emit_tiles(choose_tiles(own, nullptr, 0, 0), false, pointer(member, 0), pointer(member, 1), body);
  const Window pool = pool_window(attributes, "pool_");
  const Shape& pooled = member.call.outputs.back().type.shape;
  if (const std::string positions = out(member, member.call.outputs.size() - 1); !positions.empty())
    body += fmt::format("{}.put_here(t, i, position); ", positions);
  emit_tiles(choose_tiles(own, &pool, pooled[1], pooled[2]), true, pointer(member, 0), pointer(member, 1), body);
}

void Emitter::emit_input_gradient(const Member& member) {
  const ConvolutionSizes own(member.call.attributes, member.call.outputs[0].type.shape,
                             member.call.inputs[1].type.shape);
  const std::int64_t weights = own.taps() * own.channels * own.filters;
  const std::array<std::int64_t, 2> ones = {1, 1};
  // With strides of 1 it is a convolution with the turned filter.
  if (own.window.strides == ones && own.window.dilations == ones && weights <= most_turned_weights) {
    const std::string copy = scratch(weights);
    phase(false, fmt::format("turn_filter<{}>(t, {}, {})", own.text(), pointer(member, 1), copy));
    const ConvolutionTiles tiles = choose_tiles(own.turned(), nullptr, 0, 0);
    return emit_tiles(tiles, false, pointer(member, 0), fmt::format("shared<const float>(t, {})", copy),
                      put_text(member, 0, "sum", "put_here"));
  }
  const std::int64_t filters = width_of(own.filters);
  std::int64_t width = 1, channels = 1, least = -1;
  for (const auto& [w, c] : {std::pair<std::int64_t, std::int64_t>{4, 4}, {4, 2}, {4, 1}, {2, 2}, {2, 1}, {1, 1}}) {
    if (own.channels % c != 0) continue;
    const std::int64_t items = own.height * ((own.width + w - 1) / w) * (own.channels / c);
    const std::int64_t rounds = (items + threads_ * ranks_ - 1) / (threads_ * ranks_);
    const std::int64_t cost = rounds * (w * c * filters + 4 * (w + c));
    if (least < 0 || cost < least) width = w, channels = c, least = cost;
  }
  phase(true,
        fmt::format("convolve_back<{}, {}, {}, {}>(t, {}, {}, [&](int i, float sum) {{ {}}})", own.text(), width,
                    channels, filters, pointer(member, 0), pointer(member, 1), put_text(member, 0, "sum", "put")));
}

void Emitter::copy_filters() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    if (member.call.op->id != Op::conv2d_max_pool_input_gradient) continue;
    const int producer = values_.values[static_cast<std::size_t>(member.inputs[1])].producer;
    if (storage_of_.contains(member.inputs[1]) || (producer >= 0 && found_.contains(producer))) continue;
    const ConvolutionSizes own(member.call.attributes, member.call.outputs[0].type.shape,
                               member.call.inputs[1].type.shape);
    const std::string copy = storage(floats_of_copy(own, ranks_) * sizeof(float), 0, static_cast<int>(i) + 1);
    phase(false, fmt::format("copy_filter<{}, true>(t, {}, {})", own.text(), pointer(member, 1), copy));
    filter_copies_[member.number] = copy;
  }
}

void Emitter::emit_pooled_input_gradient(const Member& member) {
  const ConvolutionSizes own(member.call.attributes, member.call.outputs[0].type.shape,
                             member.call.inputs[1].type.shape);
  const Window pool = pool_window(member.call.attributes, "pool_");
  const Shape& pooled = member.call.inputs[0].type.shape;
  const std::int64_t windows = pooled[1] * pooled[2], own_filters = (own.filters + ranks_ - 1) / ranks_;
  const std::int64_t patch = (pool.kernel[0] - 1 + own.window.kernel[0]) * (pool.kernel[1] - 1 + own.window.kernel[1]);
  const std::int64_t floats = windows * patch * own.channels;
  const std::int64_t parts = choose_parts(windows * own.channels, own_filters, floats);
  const std::string types = own.text() + ", " + pooling_text(pool, pooled[1], pooled[2]);
  const std::string sums = scratch(floats * parts);
  std::string& copy = filter_copies_[member.number];
  if (copy.empty()) {
    copy = scratch(static_cast<std::int64_t>(floats_of_copy(own, ranks_)));
    phase(false, fmt::format("copy_filter<{}, false>(t, {}, {})", own.text(), pointer(member, 1), copy));
  }
  phase(false, fmt::format("spread_windows<{}, {}>(t, {}, {}, {}, {})", types, parts, pointer(member, 0),
                           pointer(member, 2), copy, sums));
  phase(true, fmt::format("gather_windows<{}, {}>(t, {}, [&](int i, float sum) {{ {}}})", types, parts, sums,
                          put_text(member, 0, "sum", "put")));
}

void Emitter::emit_weight_gradient(const Member& member) {
  const Shape& filter = member.call.outputs[0].type.shape;
  const ConvolutionSizes own(member.call.attributes, member.call.inputs[0].type.shape, filter);
  const std::int64_t filters = width_of(own.filters);
  const std::int64_t items = share(own.window.kernel[0] * own.channels * (own.filters / filters));
  const std::int64_t floats = items * own.window.kernel[1] * filters;
  const std::int64_t parts = choose_parts(items, own.out_height, floats);
  const std::string sums = scratch(floats * parts), to = sum_text(member, filter.elements());
  phase(false, fmt::format("sum_filter<{}, {}, {}>(t, {}, {}, {})", own.text(), filters, parts, pointer(member, 0),
                           pointer(member, 1), sums));
  phase(false, fmt::format("finish_filter<{}, {}, {}>(t, {}, {})", own.text(), filters, parts, sums, to));
}

void Emitter::emit_pooled_weight_gradient(const Member& member) {
  const Shape& filter = member.call.outputs[0].type.shape;
  const ConvolutionSizes own(member.call.attributes, member.call.inputs[0].type.shape, filter);
  const Window pool = pool_window(member.call.attributes, "pool_");
  const Shape& pooled = member.call.inputs[1].type.shape;
  const std::int64_t items = share(own.channels * own.filters);
  const std::int64_t parts = choose_parts(items, pooled[1] * pooled[2], items * own.taps());
  const std::string sums = parts == 1 ? "0" : scratch(items * own.taps() * parts);
  const std::string to = sum_text(member, filter.elements());
  if (own.channels >= 8) {
    PartialSum& sum = sums_[member.outputs[0]];
    sum.taps = own.taps(), sum.channels = own.channels, sum.filters = own.filters;
  }
  phase(false, fmt::format("sum_pooled_filter<{}, {}, {}>(t, {}, {}, {}, {}, {})", own.text(),
                           pooling_text(pool, pooled[1], pooled[2]), parts, pointer(member, 0), pointer(member, 1),
                           pointer(member, 2), sums, to));
  if (parts > 1) phase(false, fmt::format("finish_pooled_filter<{}, {}>(t, {}, {})", own.text(), parts, sums, to));
}

void Emitter::emit_pooling(const Member& member) {
  const bool is_gradient = member.call.op->id == Op::max_pool_gradient;
  const Shape& image = is_gradient ? member.call.outputs[0].type.shape : member.call.inputs[0].type.shape;
  const Shape& pooled = is_gradient ? member.call.inputs[0].type.shape : member.call.outputs.back().type.shape;
  const std::string types =
      fmt::format("{}, {}, {}, {}", pooling_text(pool_window(member.call.attributes), pooled[1], pooled[2]), image[1],
                  image[2], image[3]);
  const std::string x = pointer(member, 0);
  if (is_gradient) {
    phase(true, fmt::format("pool_largest_back<{}>(t, {}, {}, [&](int i, float sum) {{ {}}})", types, x,
                            pointer(member, 1), put_text(member, 0, "sum", "put")));
    return;
  }
  const std::string values = out(member, 0), positions = out(member, 1);
  phase(true, fmt::format("pool_largest<{}>(t, {}, [&](int i, float value, int position) {{ {}{}}})", types, x,
                          values.empty() ? "" : values + ".put(t, i, value); ",
                          positions.empty() ? "" : positions + ".put(t, i, position); "));
}

}  // namespace pando::cuda
